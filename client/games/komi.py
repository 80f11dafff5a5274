"""The komi of a game that begins: its base, and the noise around it (selfplay.md 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from client.games import draws
from client.games.draft import Draft
from client.games.inquiries import Inquirer
from client.games.playing import Script
from common.go.points import BLACK, WHITE
from common.go.start import GameStart
from common.parameters import GameInitParameters, SelfplayParameters

AUTO_KOMI_BASE: Final = 7.5
"""Where the search for the fair komi begins if the text names no mean."""
_VARIED_HANDICAP: Final = 0.5  # share of handicap games whose komi is varied
_VARIED_FORK: Final = 0.25  # the same of forks
_VARIED_STDEV: Final = 0.75  # of that, in edges of the board
_RANDOM_NET_STDEV: Final = 1.5  # where no net knows anything, in edges of the board
_VARIED_BOUND: Final = 2.5


@dataclass(slots=True)
class KomiDraws:
    """How the komi of one game is drawn; its base changes as the game is made fair."""

    base: float
    stdev: float  # points on this board
    allow_integer: bool
    area: int
    pulled_to_zero: bool = False
    is_fair: bool = False  # for the position where the game begins
    is_fair_on_empty_board: bool = False

    def draw(self, random: np.random.Generator) -> float:
        """A komi with noise."""
        return draws.komi_with_noise(
            self.base,
            self.stdev,
            self.area,
            random,
            allow_integer=self.allow_integer,
            pulled_to_zero=self.pulled_to_zero,
        )

    def without_noise(self) -> float:
        """The komi next to the base."""
        return draws.nearest_komi(self.base, self.area)


def komi_draws(init: GameInitParameters, base: float, area: int, random: np.random.Generator) -> KomiDraws:
    """The spread of one game's komi around ``base``."""
    stdev = draws.komi_stdev(
        random,
        stdev=init.komi_stdev,
        big=(init.komi_big_stdev_prob, init.komi_big_stdev),
        bigger=(init.komi_bigger_stdev_prob, init.komi_bigger_stdev),
        area=area,
    )
    return KomiDraws(base, stdev, draws.coin(random, init.komi_allow_integer_prob), area)


def base_komi(init: GameInitParameters) -> float:
    """What the komi of a new game is drawn around, before a search has found it."""
    return AUTO_KOMI_BASE if init.komi_mean is None else init.komi_mean


def make_fair(draft: Draft, komi: KomiDraws, inquirer: Inquirer, random: np.random.Generator) -> Script[None]:
    """Give a draft its fair komi, with noise; the search begins at the komi that it has."""
    komi.base = yield from inquirer.fair_komi(draft, random)
    draft.set_komi(komi.draw(random))


def make_fair_from_base(draft: Draft, komi: KomiDraws, inquirer: Inquirer, random: np.random.Generator) -> Script[None]:
    """The same, where the noise so far is not to tell where the search begins."""
    draft.set_komi(komi.without_noise())
    yield from make_fair(draft, komi, inquirer, random)


def make_fair_on_empty_board(
    draft: Draft,
    komi: KomiDraws,
    selfplay: SelfplayParameters | None,
    inquirer: Inquirer,
    random: np.random.Generator,
) -> Script[None]:
    """Give a draft the komi that is fair on its empty board, with noise; now and then where White plays first."""
    flip = 0.0 if selfplay is None else selfplay.flip_komi_prob_when_no_compensate
    first = WHITE if draws.coin(random, flip) else BLACK
    rules = draft.start.rules.with_komi(komi.without_noise())
    empty = Draft(GameStart(draft.start.x_size, draft.start.y_size, rules, to_move=first), draft.view)
    komi.base = yield from inquirer.fair_komi(empty, random)
    draft.set_komi(komi.draw(random))


def vary(
    draft: Draft, komi: KomiDraws, inquirer: Inquirer, random: np.random.Generator, *, extra_black: int
) -> Script[None]:
    """Sometimes give a handicap game or a fork a komi somewhere between its own and the fair one (fancyKomiVarying)."""
    if not draws.coin(random, _VARIED_HANDICAP if extra_black else _VARIED_FORK):
        return
    own = draft.komi
    draft.set_komi(komi.without_noise())
    fair = yield from inquirer.fair_komi(draft, random)
    between = min(own, fair) + abs(own - fair) * random.random()
    komi.base = between + _VARIED_STDEV * _edge_noise(komi.area, random)
    draft.set_komi(komi.draw(random))


def vary_widely(draft: Draft, komi: KomiDraws, random: np.random.Generator) -> None:
    """Spread the komi of a game of nets that know nothing, which so learn first what komi does."""
    komi.base = draft.komi + _RANDOM_NET_STDEV * _edge_noise(komi.area, random)
    draft.set_komi(komi.draw(random))


def _edge_noise(area: int, random: np.random.Generator) -> float:
    """A truncated normal value times the edge of a square board of that area."""
    return float(area**0.5 * draws.truncated_normal(random, _VARIED_BOUND))
