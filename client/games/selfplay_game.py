"""One game of self-play, move by move: which search comes next, which move follows from it.

Knows the order of a game (opening from the raw policy, then searched turns) and its random choices; the search runs in
a slot of a pool that somebody else steps. What is noted of each turn becomes rows in `client.games.recorder`.
Specification: selfplay.md 5, 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from client.games import draws
from client.games.decided import reduced_search
from client.games.game import GameInProgress
from client.games.recorder import PlayedGame, TurnRecord
from client.games.setup import new_game
from client.search.parameters import to_record, without_exploration
from client.search.pool import SearchPool, SearchResult
from common.go.points import point_of
from common.parameters import SelfplayConfig

EARLY_END_PROB: Final = 0.98
"""Share of games that stop as soon as everything is pass-alive."""
WARM_UP_VISITS: Final = 10
"""Visits of the search that fixes the score centre before one whose visits were altered."""
RAW_VISITS: Final = 1


Seats = Sequence[SearchPool]
"""The pools in which a game's searches run: one of self-play, Black's and White's of a match."""


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """How one turn is searched."""

    visits: int
    weight: float
    is_cheap: bool  # no exploration, and the tree is kept
    is_altered: bool  # other visits than a full search, in a fresh tree


class SelfplayGame:
    """A game of self-play with one network.

    Args:
        seed: everything random follows from it.
        config: how to set up and play.
        length: edge of the tensors.
        pass_alive_with_suicide: what the net takes for pass-alive (rules.md 9.4).
    """

    def __init__(
        self, seed: int, config: SelfplayConfig, length: int, *, pass_alive_with_suicide: bool = False
    ) -> None:
        self._config = config
        self._length = length
        self.random = np.random.default_rng(seed)
        self.hash_words = draw_hash(self.random)
        setup = new_game(config.init, config.search, config.selfplay, self.random)
        self._stops_early = draws.coin(self.random, EARLY_END_PROB)
        search = replace(
            config.search,
            no_result_utility_for_white=setup.no_result_utility,
            draw_equivalent_wins_for_white=setup.start.draw_white_wins,
        )
        self._full_record = to_record(search)
        self._plain_record = to_record(without_exploration(search))
        start = replace(setup.start, pass_alive_with_suicide=pass_alive_with_suicide)
        self.game = GameInProgress(start, config.selfplay.max_moves_per_game)
        self._opening_left = setup.opening_moves
        self._turns: list[TurnRecord] = []
        self._win_losses: list[float] = []
        self._limits: TurnLimits | None = None
        self._warming_up = False
        self._tree_is_here = False

    # -- the search that runs --

    def begin(self, seats: Seats, slot: int) -> bool:
        """Start the first search; True if the game is over without one."""
        return self._next(seats[0], slot)

    def on_searched(self, seats: Seats, slot: int) -> bool:
        """Take what the search in ``slot`` found, play, and start the next one; True if the game is over."""
        pool = seats[0]
        if self._warming_up:
            self._warming_up = False
            self._start(pool, slot, keep_tree=True)
            return False
        result = pool.result(slot)
        if self._limits is None:
            self._play_opening_move(result)
        else:
            self._play_searched_move(pool, slot, result)
        return self._next(pool, slot)

    def _next(self, pool: SearchPool, slot: int) -> bool:
        """Start the search of the next move unless the game is over, which is told."""
        game = self.game
        if self._opening_left > 0 and not game.is_over:
            self._opening_left -= 1
            self._limits = None
            self._start(pool, slot, keep_tree=False)
            return False
        if self._limits is None:
            game.start_searching()
        if game.is_over or game.hit_move_limit or (self._stops_early and game.all_pass_alive()):
            return True
        self._limits = self._choose_limits()
        self._warming_up = self._limits.is_altered and self._limits.visits > WARM_UP_VISITS
        self._start(pool, slot, keep_tree=self._limits.is_cheap and self._tree_is_here)
        return False

    def _start(self, pool: SearchPool, slot: int, *, keep_tree: bool) -> None:
        limits = self._limits
        visits = RAW_VISITS if limits is None else WARM_UP_VISITS if self._warming_up else limits.visits
        plain = limits is None or limits.is_cheap
        pool.start(
            slot,
            self.game.state,
            self.game.history,
            parameters=self._plain_record if plain else self._full_record,
            visits=visits,
            seed=int(self.random.integers(1 << 63)),
            keep_tree=keep_tree,
        )

    # -- choices --

    def _choose_limits(self) -> TurnLimits:
        """Playout cap randomisation and decided games (selfplay.md 7, step 2)."""
        options, base = self._config.selfplay, self._config.search.max_visits
        if draws.coin(self.random, options.cheap_search_prob):
            visits, weight = min(base, options.cheap_search_visits), options.cheap_search_target_weight
            return TurnLimits(visits, weight, is_cheap=weight == 0, is_altered=weight > 0)
        if options.reduce_visits:
            reduced = reduced_search(
                self._win_losses,
                base=base,
                least=options.reduced_visits_min,
                threshold=options.reduce_visits_threshold,
                lookback=options.reduce_visits_threshold_lookback,
                least_weight=options.reduced_visits_weight,
            )
            if reduced is not None:
                return TurnLimits(*reduced, is_cheap=False, is_altered=True)
        return TurnLimits(base, 1.0, is_cheap=False, is_altered=False)

    def _play_opening_move(self, result: SearchResult) -> None:
        temperature = self._config.selfplay.policy_init_area_temperature
        position = draws.opening_position(result.raw_policy, temperature, self.random)
        self.game.play(point_of(position, self._length))

    def _play_searched_move(self, pool: SearchPool, slot: int, result: SearchResult) -> None:
        limits = self._limits
        assert limits is not None
        self._win_losses.append(result.win_loss)
        self._turns.append(_turn_record(result, pool.policy_target(slot), limits.weight))
        point = pool.choose_move(slot, lcb=False)
        self._tree_is_here = pool.advance(slot, point)
        self.game.play(point)

    def played(self) -> PlayedGame:
        """The game that is over, to be recorded."""
        game = self.game
        return PlayedGame(
            start=game.start,
            colours=game.colours,
            points=game.points,
            first_turn=game.first_searched_turn,
            turns=self._turns,
            hash_words=self.hash_words,
            hit_move_limit=game.hit_move_limit,
        )


def draw_hash(random: np.random.Generator) -> tuple[int, int]:
    """Two 64-bit words that name a game."""
    low, high = random.integers(1 << 64, size=2, dtype=np.uint64)
    return int(low), int(high)


def _turn_record(
    result: SearchResult, policy: np.ndarray[tuple[int], np.dtype[np.float64]], weight: float
) -> TurnRecord:
    children = result.children
    visited = children.visits > 0
    return TurnRecord(
        win_loss=result.win_loss,
        no_result=result.no_result,
        score_mean=result.score_mean,
        raw_win_loss=result.raw_win_loss,
        raw_no_result=result.raw_no_result,
        raw_score_mean=result.raw_score_mean,
        raw_policy_entropy=result.raw_policy_entropy,
        policy_surprise=result.policy_surprise,
        policy_entropy=result.policy_entropy,
        search_entropy=result.search_entropy,
        visits=result.visits,
        weight=weight,
        policy=policy,
        child_points=children.points[visited],
        child_visits=children.visits[visited],
        child_win_losses=children.win_losses[visited],
        child_score_means=children.score_means[visited],
    )
