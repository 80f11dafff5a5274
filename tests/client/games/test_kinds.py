"""A kind of games that the product does not know, played and sent through the tables."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pytest

from client.contribute import task_kinds
from client.contribute.job_orders import orders_of
from client.contribute.task_kinds import TaskKind
from client.contribute.uploads import upload_parts
from client.games.finish import MatchTurn, finish_match
from client.games.game import GameInProgress
from client.games.kinds import KINDS, MATCH
from client.games.orders import FinishedGame, GameOrder
from client.games.playing import Found, Playing, Purpose, SearchOrder
from client.search.parameters import to_record
from common.audit import audit_rating_game
from common.go.points import point_of
from common.go.rules import Rules
from common.go.start import GameStart
from common.parameters import MatchConfig
from common.sgf import read
from nets.evaluation.batch import Evaluator
from tests.client.contribute.jobs import rating_job
from tests.client.games.games import LENGTH, NET, OTHER, match_text, orders, play

MOVES: Final = 6


class PolicyGame:
    """A game of a few moves, each the likeliest by the raw policy of who is to move."""

    def __init__(self, order: GameOrder, config: MatchConfig, evaluators: Sequence[Evaluator]) -> None:
        start = GameStart(LENGTH, LENGTH, Rules(komi=2.5))
        self._game = GameInProgress(start, MOVES)
        self._parameters = to_record(config.bots[0])
        self._turns: list[MatchTurn] = []
        assert len(evaluators) == 2

    def next_search(self) -> SearchOrder | None:
        game = self._game
        if game.is_over or game.hit_move_limit:
            return None
        seat = int(game.white_to_move)
        return SearchOrder(Purpose.OPENING, seat, game.state, game.history, self._parameters, 1, 0, keep_tree=False)

    def take(self, found: Found) -> int | None:
        result = found.result
        point = int(point_of(int(np.argmax(result.raw_policy)), LENGTH))
        self._turns.append(
            MatchTurn(result.mean.win_loss, result.mean.no_result, result.mean.score_mean, result.visits)
        )
        self._game.play(point)
        return point

    def finish(self, order: GameOrder) -> FinishedGame:
        return finish_match(order, self._game, self._turns, None, (order.seed, 0))


def policy_game(order: GameOrder, config: MatchConfig, evaluators: Sequence[Evaluator]) -> Playing:
    return PolicyGame(order, config, evaluators)


POLICY_GAMES: Final = replace(MATCH, name="policy", make_game=policy_game)


def check(games: list[FinishedGame]) -> None:
    for game in games:
        record = read(game.sgf)
        assert len(record.moves) == MOVES
        assert [move.values.visits for move in record.moves if move.values is not None] == [1] * MOVES
        assert str(audit_rating_game(game.sgf, game.facts)) == ""
    assert len({game.facts.uid for game in games}) == len(games)


def test_another_kind_is_played_beside_the_others() -> None:
    matches = orders(2, match_text(), NET, OTHER)
    others = [replace(order, kind=POLICY_GAMES) for order in orders(3, match_text(), NET, OTHER, first_seed=2)]
    games = play([*others, *matches], games=5)
    check(games[2:])
    assert all(len(read(game.sgf).moves) != MOVES for game in games[:2])


def test_another_kind_is_a_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = TaskKind(POLICY_GAMES, task_kinds.TASK_KINDS["rating"].networks)
    monkeypatch.setitem(task_kinds.TASK_KINDS, "rating", kind)
    job = rating_job(match_text(), 2)
    games = play(orders_of(job))
    check(games)
    for game in games:
        fields, _ = upload_parts(game, job)
        assert fields["game_length"] == str(MOVES)
        assert fields["winner"] == "0"


@pytest.mark.parametrize("kind", [*KINDS, POLICY_GAMES], ids=lambda kind: str(kind.name))
def test_kinds_go_between_processes(kind: Any) -> None:
    assert pickle.loads(pickle.dumps(kind)) == kind
