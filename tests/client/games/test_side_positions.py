"""Positions beside a game and leads, asked of a net that is a formula."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from client.games.inquiries import Inquirer
from client.games.playing import SearchOrder
from client.games.side_positions import ON_PROB, SearchedLine, SideSearch, search_side_positions
from client.search.parameters import to_record
from client.search.turns import Turns, new_turns
from common.branches import Branches
from common.go.points import BLACK, PASS, WHITE, point_at
from common.go.rules import Rules, Scoring
from common.go.start import PLAIN_VIEW, GameStart
from common.go.state import HISTORY, STATE
from common.parameters import parse_selfplay
from tests.client.games.games import selfplay_text
from tests.client.games.scripts import EVEN, LENGTH, answer, run

SEARCH = parse_selfplay(selfplay_text(), data_board_len=LENGTH).search
START = GameStart(5, 5, Rules(komi=9.5))
POINTS = [point_at(2, 2), point_at(2, 1), point_at(1, 1), PASS, point_at(3, 3), point_at(0, 0)]


def inquirer(visits: int = 7, white_doublings: float = 0.0) -> Inquirer:
    return Inquirer(5, [SEARCH], visits, white_doublings, is_after=True)


def searched(seed: int, turns: list[int]) -> tuple[list[SearchedLine], list[SearchOrder]]:
    """The positions beside a game of six moves, and all searches."""
    table: Turns = new_turns(np.zeros(1, STATE), np.zeros(1, HISTORY), LENGTH)
    asked: list[SearchOrder] = []

    def answered(order: SearchOrder) -> Any:
        found = answer(order)
        if order.tells:
            table.found[0]["point"] = PASS
            table.found[0]["visits"] = order.visits
            table.targets[0] = 0.0
            table.targets[0, 0] = 20.0
        return found

    search = SideSearch(
        seed=seed,
        branches=Branches(START, PLAIN_VIEW, POINTS, range(len(POINTS)), LENGTH),
        inquirer=inquirer(),
        turns=table,
        slot=0,
        parameters=to_record(SEARCH),
        visits=33,
        first_turn=4,
        length=LENGTH,
    )
    lines = run(search_side_positions(search, {turn: POINTS[turn] for turn in turns}), answered, asked)
    return lines, asked


def test_lines_leave_the_game_by_another_move_and_go_on_by_two() -> None:
    depths, first_moves, branches = Counter[int](), Counter[int](), 0
    for seed in range(60):
        lines, asked = searched(seed, [0, 2, 4])
        searches = [order for order in asked if order.tells]
        assert len(searches) == len(lines)
        for number, (line, order) in enumerate(zip(lines, searches, strict=True)):
            depth = len(line.line.moves)
            depths[depth] += 1
            assert depth % 2 == 1
            assert line.line.moves[0] != POINTS[line.line.branch]
            assert (order.visits, order.first_turn, order.keep_tree) == (33, 4, False)
            assert order.parameters == to_record(SEARCH)
            assert int(order.state["turns"]) == line.line.turn == line.line.branch + depth
            assert line.to_move == order.state["to_move"] == (WHITE if line.line.turn % 2 else BLACK)
            assert line.search.policy[0] == 20
            assert line.search.found["visits"] == 33
            if depth == 1:
                first_moves[line.line.moves[0]] += 1
                branches += 1
            else:
                before = [other.line for other in lines[:number] if other.line.moves == line.line.moves[:-2]]
                assert before
                assert line.line.moves[-2] == PASS, "the best reply"
        assert [len(line.line.moves) for line in lines] == sorted(len(line.line.moves) for line in lines)
        assert len({order.seed for order in asked}) == len(asked)
    assert 160 < branches < 180, "some pass after the pass at turn 3"
    assert depths[3] / depths[1] == pytest.approx(ON_PROB, abs=0.1)
    assert len(first_moves) > 15


def test_lines_follow_from_their_turn_alone() -> None:
    (one, _), (three, _) = searched(9, [2]), searched(9, [0, 2, 4])
    assert [line.line for line in one] == [line.line for line in three if line.line.branch == 2]


def test_a_pass_that_ends_the_game_is_no_position() -> None:
    """After the pass at turn 3 a forking pass at turn 4 ends it."""
    for seed in range(60):
        lines, _ = searched(seed, [4])
        assert all(line.line.moves[0] != PASS for line in lines)


@pytest.mark.parametrize(
    ("scoring", "komi", "white_doublings"), [(Scoring.AREA, 9.5, 0.0), (Scoring.TERRITORY, -3.0, 1.5)]
)
def test_the_lead_is_what_komi_would_make_even(scoring: Scoring, komi: float, white_doublings: float) -> None:
    rules = Rules(scoring=scoring, komi=komi)
    branches = Branches(GameStart(5, 5, rules), PLAIN_VIEW, POINTS, [4], LENGTH)
    branches.follow(4, ())
    asked: list[SearchOrder] = []
    told = inquirer(visits=7, white_doublings=white_doublings)
    found = run(told.lead(branches.state, branches.history, rules, 25), asked=asked)
    assert found == pytest.approx(komi - EVEN - 1, abs=0.02), "a black stone more than white ones"
    assert branches.state["komi"] == komi
    assert {order.visits for order in asked} == {7}
    assert {float(order.parameters["playout_doubling_advantage"]) for order in asked} == {white_doublings}
    assert len({float(order.state["komi"]) for order in asked}) == len(asked) > 3
