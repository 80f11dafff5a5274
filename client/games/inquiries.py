"""The searches of a game beside its turns: what the net alone says, the fair komi, the lead.

All are scripts (`client.games.playing.Script`): so a game waits without a thread while others share the evaluations of
its network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np

from client.games import draws
from client.games.chance import search_seed, symmetry_salt
from client.games.draft import Draft
from client.games.fair_komi import Asking, Worth, fair_komi, lead
from client.games.playing import Purpose, Script, SearchOrder
from client.search.parameters import to_record, without_exploration
from client.search.pool import SearchResult
from common.go.points import WHITE
from common.go.rules import Rules
from common.parameters import SearchParameters

_AFTER: Final = 1 << 32
"""More searches than come before a game."""


class Inquirer:
    """Asks for the searches of one game that are not of its turns.

    Args:
        seed: of the game.
        searches: how each seat searches; one seat plays both colours.
        komi_visits: of a search for the fair komi or the lead.
        white_doublings: playout doublings of White, which the nets are told when komi is made fair.
        is_after: asked after the game's turns, not before.
    """

    def __init__(
        self,
        seed: int,
        searches: Sequence[SearchParameters],
        komi_visits: int,
        white_doublings: float = 0.0,
        *,
        is_after: bool = False,
    ) -> None:
        self._seed = seed
        self._searches = searches
        self._komi_visits = komi_visits
        self._white_doublings = white_doublings
        self._asked = _AFTER if is_after else 0  # searches so far: each has a seed of its own

    @cached_property
    def _raw(self) -> list[np.void]:
        """By seat, how the net alone is asked."""
        return [to_record(_raw(search)) for search in self._searches]

    @cached_property
    def _even(self) -> list[np.void]:
        """By seat, how the fair komi is searched for."""
        return [to_record(_even(search, self._white_doublings)) for search in self._searches]

    def raw(self, state: np.void, history: np.void, *, seat: int | None = None) -> Script[SearchResult]:
        """What the net alone says of a position; of the player to move unless ``seat`` names another."""
        if seat is None:
            seat = int(state["to_move"] == WHITE and len(self._searches) > 1)
        return (yield from self._ask(state, history, seat, self._raw[seat], visits=1))

    def fair_komi(self, draft: Draft, random: np.random.Generator) -> Script[float]:
        """A komi beside the one under which both sides win as often from a draft's position (`adjustKomiToEven`)."""
        fair = yield from self._answered(fair_komi(draft.komi, draft.start.area), draft.state, draft.history)
        return draws.clip_komi(draws.round_to_half(fair, random), draft.start.area)

    def lead(self, state: np.void, history: np.void, rules: Rules, area: int) -> Script[float]:
        """By how many points White is ahead in a position of a game under ``rules`` on a board of ``area`` points."""
        return (yield from self._answered(lead(rules, area), state, history))

    def _answered(self, asking: Asking, state: np.void, history: np.void) -> Script[float]:
        """What follows where questions for the worth of a position under other komis are answered by searches."""
        komi = next(asking)
        while True:
            worth = yield from self._worth(state, history, komi)
            try:
                komi = asking.send(worth)
            except StopIteration as end:
                return float(end.value)

    def _worth(self, state: np.void, history: np.void, komi: float) -> Script[Worth]:
        """A position under another komi, by the searches of all seats; they are averaged."""
        found = []
        for seat, parameters in enumerate(self._even):
            kept, state["komi"] = float(state["komi"]), komi
            result = yield from self._ask(state, history, seat, parameters, visits=self._komi_visits)
            state["komi"] = kept
            found.append(result.mean)
        return Worth(sum(mean.lead for mean in found) / len(found), sum(mean.win_loss for mean in found) / len(found))

    def _ask(
        self, state: np.void, history: np.void, seat: int, parameters: np.void, visits: int
    ) -> Script[SearchResult]:
        self._asked += 1
        return (
            yield SearchOrder(
                seat=seat,
                state=state,
                history=history,
                parameters=parameters,
                visits=visits,
                seed=search_seed(self._seed, self._asked, Purpose.BESIDE_TURNS),
                symmetry_salt=symmetry_salt(self._seed),
            )
        )


def _raw(search: SearchParameters) -> SearchParameters:
    """For the net's own word: no exploration, no optimism, no temperature."""
    return replace(without_exploration(search), root_policy_optimism=0.0, nn_policy_temperature=1.0)


def _even(search: SearchParameters, white_doublings: float) -> SearchParameters:
    """For the fair komi; the net is told who has more playouts, though here nobody has (selfplay.md 4)."""
    return replace(
        without_exploration(search),
        search_factor_after_one_pass=1.0,
        search_factor_after_two_pass=1.0,
        playout_doubling_advantage=white_doublings,
        playout_doubling_advantage_pla=WHITE,
    )
