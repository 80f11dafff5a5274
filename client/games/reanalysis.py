"""Turns of a finished game that had a cheap search, searched again in full: which, how, and what that replaces.

The game itself stays as it was played. Specification: training-data.md 5.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from client.games import draws
from client.games.asymmetry import visits_of
from client.games.chance import search_seed
from client.games.game import Game
from client.games.played import PlayedTurns, scale_policy
from client.games.playing import Purpose, Script, SearchOrder
from client.games.selfplay_turns import WARM_UP_VISITS, TurnOptions, full_limits
from client.search.turns import Turns
from common.branches import Branches
from common.parameters import SelfplayParameters

Floats = npt.NDArray[np.float64]

_TINY: Final = 1e-30


@dataclass(frozen=True, slots=True)
class FoundTurn:
    """What a search has found, as a turn's is kept (`client.games.played.PlayedTurns`); P positions, C children."""

    found: np.void  # FOUND
    policy: npt.NDArray[np.int16]  # [P] as rows hold it
    children: npt.NDArray[np.void]  # [C] CHILD


def found_turn(turns: Turns, slot: int) -> FoundTurn:
    """A copy of what the last search of a script in ``slot`` has found, which was one that tells."""
    found = turns.found[slot].copy()
    policy = np.zeros(turns.targets.shape[1], np.int16)
    scale_policy(turns.targets[slot], policy)
    return FoundTurn(found, policy, turns.children[slot, : int(found["num_children"])].copy())


class Reanalysis(NamedTuple):
    """What a text says of reanalysis."""

    share: float  # of the cheap turns
    policy_weight: float  # of the surprises, as which turns are drawn
    value_weight: float
    exponent: float
    uses_outcome: bool  # rows have targets that follow from the rest of the game


def reanalysis_of(options: SelfplayParameters) -> Reanalysis | None:
    """Of a configuration; None: there is none."""
    if not options.use_reanalyze:
        return None
    assert options.reanalyze_prop is not None
    assert options.reanalyze_policy_surprise_weight is not None
    assert options.reanalyze_value_surprise_weight is not None
    assert options.reanalyze_surprise_exponent is not None
    assert options.reanalyze_use_outcome_targets is not None
    return Reanalysis(
        share=options.reanalyze_prop,
        policy_weight=options.reanalyze_policy_surprise_weight,
        value_weight=options.reanalyze_value_surprise_weight,
        exponent=options.reanalyze_surprise_exponent,
        uses_outcome=options.reanalyze_use_outcome_targets,
    )


def draw_turns(
    is_cheap: npt.NDArray[np.bool_],
    policy_surprises: Floats,
    value_surprises: Floats,
    options: Reanalysis,
    random: np.random.Generator,
) -> list[int]:
    """Which of T searched turns are searched again, in order.

    Args:
        is_cheap: ``[T]`` turns that may be drawn.
        policy_surprises: ``[T]`` nats.
        value_surprises: ``[T]`` nats.
        options: how many, and in proportion to what.
        random: for this alone.
    """
    turns = np.flatnonzero(is_cheap).tolist()
    count = int(random.binomial(len(turns), options.share))
    surprises = options.policy_weight * policy_surprises + options.value_weight * value_surprises
    chances = np.maximum(surprises[turns], 0.0) ** options.exponent
    drawn = []
    for _ in range(count):
        weights = chances if chances.sum() > _TINY else np.ones(len(turns))
        index = draws.draw_index(weights, random)
        drawn.append(turns.pop(index))
        chances = np.delete(chances, index)
    return sorted(drawn)


def search_again(
    game: Game, turn: int, branches: Branches, options: TurnOptions, turns: Turns, slot: int
) -> Script[tuple[FoundTurn, float]]:
    """Search a turn of the record as if it had not been a cheap one: what is found, and the weight of its row.

    Args:
        game: its SELFPLAY_GAME.
        turn: of the record.
        branches: the game, which can be followed to that turn.
        options: of its turns.
        turns: where a search of ``slot`` tells what it has found.
        slot: of the game.
    """
    branches.follow(turn, ())
    visits, weight, is_altered = full_limits(game, turn, options)
    doublings = float(game["white_doublings"])
    if doublings:
        visits, is_altered = visits_of(branches.to_move, visits, doublings), True
    seed = int(game["seed"])
    order = SearchOrder(
        seat=0,
        state=branches.state,
        history=branches.history,
        parameters=game["full_search"],
        visits=int(visits),
        seed=search_seed(seed, turn, Purpose.TURN_AGAIN),
        symmetry_salt=int(game["symmetry_salt"]),
        first_turn=int(game["first_turn"]),
        tells=True,
    )
    if is_altered and visits > WARM_UP_VISITS:
        warm_up_seed = search_seed(seed, turn, Purpose.WARM_UP_AGAIN)
        yield replace(order, visits=WARM_UP_VISITS, seed=warm_up_seed, tells=False)
        order = replace(order, keep_tree=True)
    yield order
    return found_turn(turns, slot), weight


def with_replaced(
    turns: PlayedTurns, again: Mapping[int, tuple[FoundTurn, float]], value_surprises: Floats
) -> PlayedTurns:
    """The turns of a game with what `search_again` has found at some of them.

    Args:
        turns: T turns as they were searched in the game.
        again: by searched turn, what was found later, and its weight.
        value_surprises: ``[T]`` of the first searches.
    """
    found, weights, policies = turns.found.copy(), turns.weights.copy(), turns.policies.copy()
    replaced = turns.replaced.copy()
    children = turns.children_by_turn()
    for number, (later, weight) in again.items():
        cheap = turns.found[number]
        replaced[number] = True, cheap["policy_surprise"], value_surprises[number], cheap["visits"]
        found[number], weights[number], policies[number] = later.found, weight, later.policy
        children[number] = later.children
    first = np.cumsum([0, *(len(part) for part in children)]).astype(np.int32)
    return PlayedTurns(found, weights, policies, first, np.concatenate(children), replaced)
