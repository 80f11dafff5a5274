"""Scores: against a real KataGo and against sums worked out by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from common.go import scoring
from common.go.passalive import AREA_SCRATCH
from common.go.points import BLACK, NUM_POINTS, SECOND_CLEANUP, WHITE, point_at
from common.go.rules import Rules
from tests.common.fixtures import fixture_records
from tests.common.pictures import picture_of, result_score, state_of
from tests.oracles import records

SCRATCH = np.zeros(1, AREA_SCRATCH)[0]
AREA = np.zeros(NUM_POINTS, np.int8)

# White lives above and below Black, each with two eyes: 20 points against 15, two regions against one.
THREE_GROUPS = "O.O.O/OOOOO/XXXXX/X.X.X/XXXXX/OOOOO/O.O.O"


def rules_of(scoring_name: str, tax: str, suicide: bool = False, **more: Any) -> Rules:
    return Rules.from_json({"ko": "SIMPLE", "scoring": scoring_name, "tax": tax, "suicide": suicide, **more})


def check(recorded: Iterable[dict[str, Any]]) -> int:
    """Compares area and score of every position under every rule; returns how many."""
    compared = 0
    for record in recorded:
        for result in record["results"]:
            rules = rules_of(result["scoring"], result["tax"], result["suicide"], komi=record["komi"])
            state = state_of(record["board"], rules)
            state["white_bonus"] = result["whiteBonus"]
            assert scoring.score(state, AREA, SCRATCH) == result_score(result["result"]), (record["id"], result)
            assert picture_of(state, AREA) == result["area"], (record["id"], result)
            compared += 1
    return compared


def test_our_own_choice_of_positions() -> None:
    assert check(fixture_records("scoring")) == 10 * 12


def test_every_scored_position_of_the_oracle() -> None:
    assert check(records("scoring")) == 60 * 12


@pytest.mark.parametrize(
    ("scoring_name", "tax", "expected"),
    [("AREA", "NONE", 5), ("AREA", "SEKI", 5), ("AREA", "ALL", 3), ("TERRITORY", "NONE", 5), ("TERRITORY", "ALL", 3)],
)
def test_group_tax_counts_regions(scoring_name: str, tax: str, expected: int) -> None:
    state = state_of(THREE_GROUPS, rules_of(scoring_name, tax))
    assert scoring.area_now(state, AREA, SCRATCH) == expected
    assert picture_of(state, AREA) == "OOOOO/OOOOO/XXXXX/XXXXX/XXXXX/OOOOO/OOOOO"


def test_bonuses_and_button_are_added_and_the_state_stays() -> None:
    state = state_of(THREE_GROUPS, Rules.from_json({"hasButton": True, "ko": "SIMPLE", "komi": 7}))
    state["white_bonus"], state["handicap_bonus"], state["button_left"] = 1.0, 2.0, 1
    before = state.copy()
    for to_move, button in ((BLACK, -0.5), (WHITE, 0.5)):
        before["to_move"] = state["to_move"] = to_move
        assert scoring.score(state, AREA, SCRATCH) == 5 + 7 + 1 + 2 + button
        assert all(np.array_equal(state[name], before[name]) for name in state.dtype.names)


def test_stones_added_in_the_second_cleanup_do_not_count() -> None:
    state = state_of(".X.../XX.../...OO/...O.", rules_of("TERRITORY", "SEKI"))
    state["phase"] = SECOND_CLEANUP
    state["second_cleanup_start"] = state["colour"]
    state["second_cleanup_start"][point_at(1, 0)] = 0
    assert scoring.area_now(state, AREA, SCRATCH) == 3 - 2
    assert picture_of(state, AREA) == "...../XX.../...OO/...O."


def test_a_board_that_is_all_pass_alive_ends_early() -> None:
    assert scoring.all_pass_alive(state_of(".O.O/OOOO/.O.O"), AREA, SCRATCH)
    assert not scoring.all_pass_alive(state_of(".O.O/OOO./.O.."), AREA, SCRATCH)
    assert not scoring.all_pass_alive(state_of("..../...."), AREA, SCRATCH)


def test_scoring_values_spread_the_group_tax() -> None:
    values = np.full(NUM_POINTS, 9, np.float32)
    board = ".O..O/OOOOO/....."  # White owns 15 points, 8 of them empty
    for tax, share in (("SEKI", 1.0), ("ALL", 6 / 8)):
        state = state_of(board, rules_of("AREA", tax))
        scoring.area_now(state, AREA, SCRATCH)
        scoring.scoring_values(state, AREA, values, SCRATCH)
        assert values[point_at(1, 0)] == 1.0
        assert values[point_at(0, 0)] == values[point_at(2, 2)] == np.float32(share)
        assert values.sum() == pytest.approx(7 + 8 * share)


def test_two_surrounded_points_are_worth_nothing_under_group_tax() -> None:
    values = np.zeros(NUM_POINTS, np.float32)
    state = state_of(".X.X/XXXX/OOOO/.O.O", rules_of("AREA", "ALL"))
    scoring.area_now(state, AREA, SCRATCH)
    scoring.scoring_values(state, AREA, values, SCRATCH)
    assert values[point_at(0, 0)] == values[point_at(2, 3)] == 0
    assert values.sum() == 0
    assert np.abs(values).sum() == 12


@pytest.mark.parametrize(
    ("komi", "has_button", "draw_white_wins", "adjustment"),
    [
        (7.0, False, 0.75, 0.25),
        (7.5, False, 0.75, 0.0),
        (7.5, True, 0.0, -0.5),
        (7.0, True, 0.0, 0.0),
        (-6.0, False, 0.5, 0.0),
    ],
)
def test_own_komi(komi: float, has_button: bool, draw_white_wins: float, adjustment: float) -> None:
    state = state_of("../..", Rules(komi=komi, has_button=has_button))
    state["white_bonus"], state["handicap_bonus"], state["draw_white_wins"] = -3.0, 2.0, draw_white_wins
    assert scoring.own_komi(state) == -(komi - 1 + adjustment)
    state["to_move"] = WHITE
    assert scoring.own_komi(state) == komi - 1 + adjustment
