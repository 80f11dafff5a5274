"""Games of self-play, move by move: which search comes next, which move follows from it.

Knows the order of a game (opening from the raw policy, then searched turns) and its random choices; the searches are
somebody else's. What is noted of each turn becomes rows in `client.games.recorder`.
Specification: selfplay.md 5, 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from client.games import draws
from client.games.chance import Draw, coin, generator, search_seed, symmetry_salt
from client.games.decided import reduced_search
from client.games.finish import finish_selfplay
from client.games.game import (
    Game,
    Notes,
    all_pass_alive,
    game_dtype,
    guidance_for,
    hit_move_limit,
    is_over,
    new_alive_scratch,
    play_move,
    recent_win_losses,
)
from client.games.orders import FinishedGame, GameOrder
from client.games.playing import Found, Purpose, SearchOrder
from client.games.recorder import TurnRecord
from client.games.setup import begin_drawn_game
from client.search.parameters import SEARCH_PARAMETERS, to_record, without_exploration
from client.search.pool import SearchResult
from common.go.points import point_of
from common.parameters import SelfplayConfig

EARLY_END_PROB: Final = 0.98
"""Share of games that stop as soon as everything is pass-alive."""
WARM_UP_VISITS: Final = 10
"""Visits of the search that fixes the score centre before one whose visits were altered."""

SELFPLAY_GAME: Final = game_dtype(
    ("opening_moves", np.int32),  # to be drawn from the raw policy
    ("stops_early", np.bool_),  # as soon as everything is pass-alive
    ("full_search", SEARCH_PARAMETERS),
    ("cheap_search", SEARCH_PARAMETERS),
    # -- the search that was ordered last --
    ("purpose", np.int8),
    ("visits", np.int32),  # of its turn; a warm-up has fewer
    ("weight", np.float64),
    ("is_cheap", np.bool_),  # no exploration, and the tree is kept
)


class SelfplayGames:
    """Games of self-play with one network; see `client.games.playing.Games`.

    Args:
        config: how to set up and play.
        capacity: most games at once.
        length: edge of the tensors.
        pass_alive_suicide: what the net takes for pass-alive (rules.md 9.4).
    """

    def __init__(self, config: SelfplayConfig, capacity: int, length: int, *, pass_alive_suicide: bool = False) -> None:
        self.records = np.zeros(capacity, SELFPLAY_GAME)
        self.notes: dict[int, Notes[TurnRecord]] = {}
        self._config = config
        self._length = length
        self._pass_alive_suicide = pass_alive_suicide
        self._scratch = new_alive_scratch()

    def begin(self, slot: int, order: GameOrder) -> None:
        """Set a game up from its seed."""
        config, game = self._config, self.records[slot]
        setup, view, random = begin_drawn_game(
            game,
            config.init,
            config.search,
            config.selfplay,
            seed=order.seed,
            max_searched_moves=config.selfplay.max_moves_per_game,
            pass_alive_suicide=self._pass_alive_suicide,
        )
        search = replace(
            config.search,
            no_result_utility_for_white=setup.no_result_utility,
            draw_equivalent_wins_for_white=setup.draw_white_wins,
        )
        game["opening_moves"] = setup.opening_moves
        game["stops_early"] = draws.coin(random, EARLY_END_PROB)
        game["full_search"] = to_record(search)
        game["cheap_search"] = to_record(without_exploration(search))
        game["purpose"] = Purpose.OPENING
        self.notes[slot] = Notes(setup.start, view)

    def next_searches(self, due: Sequence[int]) -> list[SearchOrder | None]:
        """The searches of the moves to come; None: the game is over."""
        return [self._next_search(self.records[slot]) for slot in due]

    def take(self, due: Sequence[int], found: Sequence[Found]) -> list[int | None]:
        """Play the moves that follow from what was found, where one does."""
        return [self._take(slot, each) for slot, each in zip(due, found, strict=True)]

    def finish(self, slot: int, order: GameOrder) -> FinishedGame:
        """SGF, rows and facts of a game."""
        random = generator(order.seed, 0, Draw.ROWS)
        return finish_selfplay(order, self.records[slot], self.notes.pop(slot), self._config.selfplay, random)

    def _next_search(self, game: Game) -> SearchOrder | None:
        purpose = Purpose(game["purpose"])
        if purpose is Purpose.WARM_UP:
            return _search(game, Purpose.TURN, keep_tree=True)
        if game["turn"] < game["opening_moves"] and not is_over(game):
            _set_limits(game, visits=1, weight=0.0, is_cheap=True)
            return _search(game, Purpose.OPENING, keep_tree=False)
        if purpose is Purpose.OPENING:
            game["first_searched_turn"] = game["turn"]
        if is_over(game) or hit_move_limit(game) or (game["stops_early"] and all_pass_alive(game, self._scratch)):
            return None
        is_altered = self._choose_limits(game)
        needs_warm_up = is_altered and game["visits"] > WARM_UP_VISITS
        return _search(game, Purpose.WARM_UP if needs_warm_up else Purpose.TURN, keep_tree=bool(game["is_cheap"]))

    def _take(self, slot: int, found: Found) -> int | None:
        game = self.records[slot]
        purpose = Purpose(game["purpose"])
        if purpose is Purpose.WARM_UP:
            return None
        assert found.result is not None
        if purpose is Purpose.OPENING:
            point = self._opening_move(game, found.result)
        else:
            assert found.point is not None
            assert found.policy_target is not None
            point = found.point
            game["win_losses"][game["turn"]] = found.result.mean.win_loss
            self.notes[slot].turns.append(_turn_record(found.result, found.policy_target, float(game["weight"])))
        play_move(game, point)
        return point

    def _choose_limits(self, game: Game) -> bool:
        """Playout cap randomisation and decided games (selfplay.md 7, step 2).

        Returns whether the turn has other visits than a full search, and a fresh tree.
        """
        options, search = self._config.selfplay, self._config.search
        base = min(search.max_visits, search.max_playouts)  # which are the same from a fresh tree
        if coin(game["seed"], game["turn"], Draw.LIMITS, options.cheap_search_prob):
            visits, weight = min(base, options.cheap_search_visits), options.cheap_search_target_weight
            _set_limits(game, visits, weight, is_cheap=weight == 0)
            return weight > 0
        if options.reduce_visits:
            lookback = options.reduce_visits_threshold_lookback
            reduced = reduced_search(
                recent_win_losses(game, lookback),
                base=base,
                least=options.reduced_visits_min,
                threshold=options.reduce_visits_threshold,
                lookback=lookback,
                least_weight=options.reduced_visits_weight,
            )
            if reduced is not None:
                _set_limits(game, *reduced, is_cheap=False)
                return True
        _set_limits(game, base, 1.0, is_cheap=False)
        return False

    def _opening_move(self, game: Game, result: SearchResult) -> int:
        temperature = self._config.selfplay.policy_init_area_temperature
        random = generator(int(game["seed"]), int(game["turn"]), Draw.OPENING_MOVE)
        position = draws.opening_position(result.raw_policy, temperature, random)
        return int(point_of(position, self._length))


def _set_limits(game: Game, visits: int, weight: float, *, is_cheap: bool) -> None:
    """How the turn is searched."""
    game["visits"], game["weight"], game["is_cheap"] = visits, weight, is_cheap


def _search(game: Game, purpose: Purpose, *, keep_tree: bool) -> SearchOrder:
    """A search of the present position, noted in the game."""
    game["purpose"] = purpose
    parameters = game["cheap_search" if game["is_cheap"] else "full_search"]
    return SearchOrder(
        purpose=purpose,
        seat=0,
        state=game["state"],
        history=game["history"],
        parameters=parameters,
        visits=WARM_UP_VISITS if purpose is Purpose.WARM_UP else int(game["visits"]),
        seed=search_seed(game["seed"], game["turn"], purpose),
        keep_tree=keep_tree,
        symmetry_salt=symmetry_salt(game["seed"]),
        lcb=False,
        policy_target=purpose is Purpose.TURN,
        guidance=guidance_for(game, parameters),
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
