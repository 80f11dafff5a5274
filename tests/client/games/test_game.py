"""Running games as records: one that is copied by its bytes goes on as if nothing had happened."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from client.games.game import begin_game, game_dtype, hit_move_limit, play_move
from client.games.match_game import MatchGames
from client.games.orders import FinishedGame, GameOrder
from client.games.selfplay_game import SelfplayGames
from client.search.pool import SearchPool
from common.go.points import BLACK, PASS, WHITE, point_at
from common.go.start import GameStart, start_position
from common.parameters import parse_match, parse_selfplay
from common.rows import to_npz
from tests.client.games.evaluators import OpinionatedEvaluator
from tests.client.games.games import NET, OTHER, ended, match_text, orders, play_beginning, play_on, selfplay_text

SLOTS = 3
VISITS = 20
ALL_PURPOSES = selfplay_text(
    maxVisits=VISITS,
    cheapSearchProb=0.3,
    initGamesWithPolicy=True,
    policyInitAreaProp=0.2,
    reduceVisits=True,
    reduceVisitsThreshold=0.0,
    reduceVisitsThresholdLookback=1,
    reducedVisitsMin=12,
)
MATCH_TEXT = match_text(maxVisits=VISITS, allowResignation=True, resignThreshold=-0.2, resignConsecTurns=2)

AnyGames = SelfplayGames | MatchGames


def selfplay_games() -> SelfplayGames:
    return SelfplayGames(parse_selfplay(ALL_PURPOSES, data_board_len=7), SLOTS, 7)


def match_games() -> MatchGames:
    return MatchGames(parse_match(MATCH_TEXT, data_board_len=7), SLOTS, 7)


class Place:
    """Room for games, and the pools of their searches."""

    def __init__(self, games: AnyGames, seats: int) -> None:
        self.games = games
        self.pools = [SearchPool(OpinionatedEvaluator(7), slots=SLOTS, max_visits=VISITS) for _ in range(seats)]

    def arrays(self) -> list[Any]:
        """All that a game is, by slot; the positions of its turns are in its record."""
        games = self.games
        turns = [getattr(games.turns, name) for name in games.turns._fields if name not in ("states", "histories")]
        notes = [part for part in games.turn_notes if part is not games.turn_notes.is_full]
        return [games.records, *turns, *notes, *(part for pool in self.pools for part in pool.forest)]

    def send(self, slot: int) -> tuple[bytes, list[bytes]]:
        """A running game as bytes."""
        return pickle.dumps(self.games.notes.pop(slot)), [part[slot].tobytes() for part in self.arrays()]

    def receive(self, slot: int, sent: tuple[bytes, list[bytes]]) -> None:
        notes, parts = sent
        self.games.notes[slot] = pickle.loads(notes)
        for part, data in zip(self.arrays(), parts, strict=True):
            part[slot] = np.frombuffer(data, part.dtype).reshape(part[slot].shape)


def played(make: Callable[[], AnyGames], order: GameOrder, *, moving: bool) -> tuple[FinishedGame, set[bool]]:
    """The game of ``order``, and whether there were searches upon which a move followed, and others.

    ``moving``: to another place after each search.
    """
    places = [Place(make(), order.kind.seats) for _ in range(2)]
    here, slot, moves = places[0], 0, set[bool]()
    play_beginning(here.games, here.pools, slot, order)
    while (step := play_on(here.games, here.pools, slot)) is not None:
        moves.add(step.point is not None)
        if moving:
            there, other = places[1 - places.index(here)], (slot + 1) % SLOTS
            there.receive(other, here.send(slot))
            here, slot = there, other
    return ended(here.games, slot, order), moves


def test_games_of_self_play_that_move_go_on_as_they_would_have() -> None:
    seen = set[bool]()
    for order in orders(3, ALL_PURPOSES, first_seed=1):
        (stayed, moves), (moved, _) = (played(selfplay_games, order, moving=moving) for moving in (False, True))
        seen |= moves
        assert (moved.sgf, moved.facts) == (stayed.sgf, stayed.facts)
        assert moved.rows is not None
        assert stayed.rows is not None
        assert to_npz(moved.rows) == to_npz(stayed.rows)
    assert seen == {False, True}


def test_match_games_that_move_go_on_as_they_would_have() -> None:
    for order in orders(3, MATCH_TEXT, NET, OTHER):
        stayed, moved = (played(match_games, order, moving=moving)[0] for moving in (False, True))
        assert (moved.sgf, moved.facts) == (stayed.sgf, stayed.facts)


@pytest.mark.parametrize("make", [selfplay_games, match_games])
def test_records_hold_no_objects(make: Callable[[], AnyGames]) -> None:
    assert not make().records.dtype.hasobject


def test_what_all_games_have() -> None:
    game = np.zeros(1, game_dtype())[0]
    for _ in range(2):  # whatever the record held before
        begin_game(game, *start_position(GameStart(5, 5)), seed=2**64 - 1, hash_words=(1, 2**63), max_searched_moves=2)
        play_move(game, point_at(1, 1))
        game["first_searched_turn"] = game["turn"]
        for value, point in ((0.25, PASS), (-0.5, point_at(2, 2))):
            assert not hit_move_limit(game)
            game["win_losses"][game["turn"]] = value
            play_move(game, point)
        assert hit_move_limit(game)
        assert game["win_losses"][1 : game["turn"]].tolist() == [0.25, -0.5]
        assert game["colours"][:3].tolist() == [BLACK, WHITE, BLACK]
        assert game["points"][:3].tolist() == [point_at(1, 1), PASS, point_at(2, 2)]
        assert game["state"]["colour"][point_at(2, 2)] == BLACK
