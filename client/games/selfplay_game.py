"""One game of self-play, move by move: which search comes next, which move follows from it.

Knows the order of a game (opening from the raw policy, then searched turns) and its random choices; the searches are
somebody else's. What is noted of each turn becomes rows in `client.games.recorder`.
Specification: selfplay.md 5, 7.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from client.games import draws
from client.games.chance import Draw, coin, generator, search_seed
from client.games.decided import reduced_search
from client.games.finish import finish_selfplay
from client.games.game import GameInProgress
from client.games.orders import FinishedGame, GameOrder
from client.games.playing import Found, Purpose, SearchOrder
from client.games.recorder import PlayedGame, TurnRecord
from client.games.setup import draw_hash, new_game
from client.search.parameters import to_record, without_exploration
from client.search.pool import SearchResult
from common.go.points import point_of
from common.go.start import PlayerView
from common.parameters import SelfplayConfig

EARLY_END_PROB: Final = 0.98
"""Share of games that stop as soon as everything is pass-alive."""
WARM_UP_VISITS: Final = 10
"""Visits of the search that fixes the score centre before one whose visits were altered."""


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """How one turn is searched."""

    visits: int
    weight: float
    is_cheap: bool  # no exploration, and the tree is kept
    is_altered: bool  # other visits than a full search, in a fresh tree


RAW_POLICY: Final = TurnLimits(visits=1, weight=0.0, is_cheap=True, is_altered=False)
"""Of a turn of the opening."""


class SelfplayGame:
    """A game of self-play with one network.

    Args:
        seed: everything random follows from it.
        config: how to set up and play.
        length: edge of the tensors.
        pass_alive_suicide: what the net takes for pass-alive (rules.md 9.4).
    """

    def __init__(self, seed: int, config: SelfplayConfig, length: int, *, pass_alive_suicide: bool = False) -> None:
        self._config = config
        self._length = length
        self._seed = seed
        random = generator(seed, 0, Draw.SETUP)
        self.hash_words = draw_hash(random)
        setup = new_game(config.init, config.search, config.selfplay, random)
        self._stops_early = draws.coin(random, EARLY_END_PROB)
        search = replace(
            config.search,
            no_result_utility_for_white=setup.no_result_utility,
            draw_equivalent_wins_for_white=setup.draw_white_wins,
        )
        self._full_record = to_record(search)
        self._plain_record = to_record(without_exploration(search))
        view = PlayerView(setup.draw_white_wins, pass_alive_suicide)
        self.game = GameInProgress(setup.start, config.selfplay.max_moves_per_game, view)
        self._opening_moves = setup.opening_moves
        self._purpose = Purpose.OPENING
        self._limits = RAW_POLICY
        self._turns: list[TurnRecord] = []
        self._win_losses: list[float] = []

    def next_search(self) -> SearchOrder | None:
        """The search of the move to come; None: the game is over."""
        game = self.game
        if self._purpose is Purpose.WARM_UP:
            self._purpose = Purpose.TURN
            return self._search(keep_tree=True)
        if game.turn < self._opening_moves and not game.is_over:
            return self._search(keep_tree=False)
        if self._purpose is Purpose.OPENING:
            game.start_searching()
            self._purpose = Purpose.TURN
        if game.is_over or game.hit_move_limit or (self._stops_early and game.all_pass_alive()):
            return None
        limits = self._limits = self._choose_limits()
        if limits.is_altered and limits.visits > WARM_UP_VISITS:
            self._purpose = Purpose.WARM_UP
        return self._search(keep_tree=limits.is_cheap)

    def take(self, found: Found) -> int | None:
        """Play the move that follows from what was found, if one does."""
        if self._purpose is Purpose.WARM_UP:
            return None
        point = self._opening_move(found) if self._purpose is Purpose.OPENING else self._searched_move(found)
        self.game.play(point)
        return point

    def finish(self, order: GameOrder) -> FinishedGame:
        """SGF, rows and facts of the game."""
        return finish_selfplay(
            order, self._played(), self.game, self._config.selfplay, generator(self._seed, 0, Draw.ROWS)
        )

    def _search(self, *, keep_tree: bool) -> SearchOrder:
        """A search of the present position for the present purpose."""
        limits = self._limits
        return SearchOrder(
            purpose=self._purpose,
            seat=0,
            state=self.game.state,
            history=self.game.history,
            parameters=self._plain_record if limits.is_cheap else self._full_record,
            visits=WARM_UP_VISITS if self._purpose is Purpose.WARM_UP else limits.visits,
            seed=search_seed(self._seed, self.game.turn, self._purpose),
            keep_tree=keep_tree,
            lcb=False,
            policy_target=self._purpose is Purpose.TURN,
        )

    def _choose_limits(self) -> TurnLimits:
        """Playout cap randomisation and decided games (selfplay.md 7, step 2)."""
        options, base = self._config.selfplay, self._config.search.max_visits
        if coin(self._seed, self.game.turn, Draw.LIMITS, options.cheap_search_prob):
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

    def _opening_move(self, found: Found) -> int:
        temperature = self._config.selfplay.policy_init_area_temperature
        random = generator(self._seed, self.game.turn, Draw.OPENING_MOVE)
        position = draws.opening_position(found.result.raw_policy, temperature, random)
        return int(point_of(position, self._length))

    def _searched_move(self, found: Found) -> int:
        assert found.point is not None
        assert found.policy_target is not None
        self._win_losses.append(found.result.mean.win_loss)
        self._turns.append(_turn_record(found.result, found.policy_target, self._limits.weight))
        return found.point

    def _played(self) -> PlayedGame:
        """The game that is over, to be recorded."""
        game = self.game
        return PlayedGame(
            start=game.start,
            view=game.view,
            colours=game.colours,
            points=game.points,
            first_turn=game.first_searched_turn,
            turns=self._turns,
            hash_words=self.hash_words,
            hit_move_limit=game.hit_move_limit,
        )


def _turn_record(
    result: SearchResult, policy: np.ndarray[tuple[int], np.dtype[np.float64]], weight: float
) -> TurnRecord:
    children = result.children
    visited = children.visits > 0
    return TurnRecord(
        win_loss=result.mean.win_loss,
        no_result=result.mean.no_result,
        score_mean=result.mean.score_mean,
        raw_win_loss=result.raw.win_loss,
        raw_no_result=result.raw.no_result,
        raw_score_mean=result.raw.score_mean,
        raw_policy_entropy=result.raw_policy_entropy,
        policy_surprise=result.policy_surprise,
        policy_entropy=result.policy_entropy,
        search_entropy=result.search_entropy,
        visits=result.visits,
        weight=weight,
        policy=policy,
        child_points=children.points[visited],
        child_visits=children.visits[visited],
        child_win_losses=children.means.win_loss[visited],
        child_score_means=children.means.score_mean[visited],
    )
