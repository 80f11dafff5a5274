"""A kind of games that the product does not know, played and sent through the tables."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pytest

from client.contribute import task_kinds
from client.contribute.job_orders import JobOrder, orders_of
from client.contribute.newest_nets import NewestNets
from client.contribute.task_kinds import TaskKind
from client.contribute.uploads import upload_parts
from client.games.finish import finish_match
from client.games.game import Notes, begin_game, game_dtype, hit_move_limit, is_over, play_move
from client.games.kinds import KINDS, MATCH
from client.games.orders import FinishedGame, GameOrder
from client.games.played import new_turn_notes, played_game
from client.games.playing import Games, Script, SearchOrder
from client.search.parameters import to_record
from client.search.turns import Slots, new_turns
from common.audit import audit_rating_game
from common.go.points import EMPTY, WHITE, point_of
from common.go.rules import Rules
from common.go.start import PLAIN_VIEW, GameStart, start_position
from common.parameters import MatchConfig
from common.sgf import read
from nets.evaluation.batch import Evaluator
from tests.client.contribute.jobs import rating_job
from tests.client.games.games import LENGTH, NET, OTHER, match_text, orders, play

MOVES: Final = 6


class PolicyGames:
    """Games of a few moves, each the likeliest by the raw policy of who is to move; all in their beginning."""

    def __init__(self, config: MatchConfig, capacity: int) -> None:
        self.records = np.zeros(capacity, game_dtype())
        self.turns = new_turns(self.records["state"], self.records["history"], LENGTH)
        self.turn_notes = new_turn_notes(capacity, LENGTH, policies=False)
        self.notes: dict[int, Notes] = {}
        self._parameters = to_record(config.bots[0])

    def begin(self, slot: int, order: GameOrder) -> Script[None]:
        start, words = GameStart(LENGTH, LENGTH, Rules(komi=2.5)), (order.seed, 0)
        game = self.records[slot]
        begin_game(game, *start_position(start), seed=order.seed, hash_words=words, max_searched_moves=MOVES)
        self.notes[slot] = Notes(start, PLAIN_VIEW)
        while not (is_over(game) or hit_move_limit(game)):
            state, seat = game["state"], int(game["state"]["to_move"] == WHITE)
            result = yield SearchOrder(seat, state, game["history"], self._parameters, 1, seed=0, symmetry_salt=0)
            found = self.turn_notes.found[slot, game["turn"]]
            found["mean"], found["visits"] = result.mean, result.visits
            play_move(game, int(point_of(int(np.argmax(result.raw_policy)), LENGTH)))

    def go_on(self, slots: Slots) -> list[int]:
        over: list[int] = slots.tolist()
        return over

    def end(self, slot: int, order: GameOrder) -> Script[FinishedGame]:
        game = self.records[slot]
        played = played_game(game, self.notes.pop(slot), self.turn_notes, slot)
        yield from ()
        return finish_match(order, game["state"], played, EMPTY)


def policy_games(config: MatchConfig, evaluators: Sequence[Evaluator], capacity: int) -> Games:
    assert len(evaluators) == 2
    return PolicyGames(config, capacity)


POLICY_GAMES: Final = replace(MATCH, name="policy", make_games=policy_games)


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
        assert isinstance(game.order, JobOrder)
        fields, _ = upload_parts(game, game.order, NewestNets().url)
        assert fields["game_length"] == str(MOVES)
        assert fields["winner"] == "0"


@pytest.mark.parametrize("kind", [*KINDS, POLICY_GAMES], ids=lambda kind: str(kind.name))
def test_kinds_go_between_processes(kind: Any) -> None:
    assert pickle.loads(pickle.dumps(kind)) == kind
