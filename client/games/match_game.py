"""One match game between two networks, move by move: each side keeps its own tree, and may resign.

The counterpart of `client.games.selfplay_game`, which is one game of self-play. Specification: selfplay.md 7, 9.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from client.games.decided import first_resignation_turn, should_resign
from client.games.game import GameInProgress
from client.games.selfplay_game import Seats, draw_hash
from client.games.setup import new_game
from client.search.parameters import to_record
from client.search.pool import SearchResult
from common.go.points import WHITE
from common.parameters import MatchConfig


@dataclass(frozen=True, slots=True)
class MatchTurn:
    """What the search at one turn said; White's view."""

    win_loss: float
    no_result: float
    score_mean: float
    visits: int


class MatchGame:
    """A game between two networks.

    Args:
        seed: everything random follows from it.
        config: how to set up and play.
        bots: which bot of the configuration is Black, which White.
    """

    def __init__(self, seed: int, config: MatchConfig, bots: tuple[int, int]) -> None:
        self._match = config.match
        self._bots = [config.bots[bot] for bot in bots]
        self._records = [to_record(bot) for bot in self._bots]
        self.random = np.random.default_rng(seed)
        self.hash_words = draw_hash(self.random)
        setup = new_game(config.init, self._bots[0], None, self.random)
        self.game = GameInProgress(setup.start, config.match.max_moves_per_game)
        self.turns: list[MatchTurn] = []
        self.resigned_by: int | None = None  # colour
        self._win_losses: list[float] = []
        self._has_tree = [False, False]  # Black's and White's pool hold a tree of the current position

    def begin(self, seats: Seats, slot: int) -> bool:
        """Start the first search; True if the game is over without one."""
        return self._next(seats, slot)

    def on_searched(self, seats: Seats, slot: int) -> bool:
        """Take what the search in ``slot`` of the player's pool found, play, start the next; True if it is over."""
        seat = self._seat()
        result = seats[seat].result(slot)
        self._note(result)
        point = seats[seat].choose_move(slot)
        self._has_tree[seat] = True
        for side, pool in enumerate(seats):
            self._has_tree[side] = self._has_tree[side] and pool.advance(slot, point)
        white_moved = self.game.white_to_move
        mover = int(self.game.state["to_move"])
        self.game.play(point)
        if self._resigns(white_moved):
            self.resigned_by = mover
            return True
        return self._next(seats, slot)

    def _seat(self) -> int:
        return int(self.game.state["to_move"] == WHITE)

    def _note(self, result: SearchResult) -> None:
        self._win_losses.append(result.win_loss)
        self.turns.append(MatchTurn(result.win_loss, result.no_result, result.score_mean, result.visits))

    def _resigns(self, white_moved: bool) -> bool:
        match = self._match
        if not match.allow_resignation or self.game.turn <= first_resignation_turn(self.game.start.area):
            return False
        return should_resign(
            self._win_losses, white_moved=white_moved, threshold=match.resign_threshold, turns=match.resign_consec_turns
        )

    def _next(self, seats: Seats, slot: int) -> bool:
        game = self.game
        if game.is_over or game.hit_move_limit or game.all_pass_alive():
            return True
        seat = self._seat()
        seats[seat].start(
            slot,
            game.state,
            game.history,
            parameters=self._records[seat],
            visits=self._bots[seat].max_visits,
            seed=int(self.random.integers(1 << 63)),
            keep_tree=self._has_tree[seat],
        )
        return False
