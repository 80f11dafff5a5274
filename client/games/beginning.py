"""How a game begins, from its order to its first searched turn: the only place that knows the order of events.

A script (`client.games.playing.Script`) of the steps of selfplay.md 1, each of which has a module of its own. All that
is drawn comes from one generator, so a beginning follows from the game's seed, its text and its nets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from client.games import draws, komi
from client.games.asymmetry import draw_doublings
from client.games.chance import Draw, generator
from client.games.draft import Draft
from client.games.handicap import draw_extra_stones, place_stones
from client.games.inquiries import Inquirer
from client.games.komi import KomiDraws
from client.games.opening import play_opening
from client.games.origins import HINT_POSITION, NORMAL, SGF_POSITION, origin_of
from client.games.playing import Script
from client.games.starts import GivenStart, Provenance
from common.go.points import BLACK, MAIN_PHASE, WHITE
from common.go.rules import Scoring
from common.go.start import GameStart, PlayerView, Stone
from common.parameters import GameInitParameters, MatchParameters, SearchParameters, SelfplayParameters

EARLY_END_PROB: Final = 0.98
"""Share of games of self-play that stop as soon as everything is pass-alive; matches always do."""
HANDICAP: Final = "handicap"
ASYMMETRIC: Final = "asym"
CLEANUP_TRAINING: Final = "cleanuptraining"
_CLEANUP_PROB: Final = 0.04  # of a game scored by territory, to begin after the main phase
_CLEANUP_AREA_PROP: Final = 0.25  # moves before that, per point of the board
_CLEANUP_TEMPERATURE: Final = 2.0 / 3.0
_CLEANUP_SHAPE: Final = 0.8  # how much of the text's gamma shape is 1 there


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What decides how games begin, the same for all of one text."""

    init: GameInitParameters
    searches: tuple[SearchParameters, ...]  # by seat; one seat plays both colours
    runner: SelfplayParameters | MatchParameters
    length: int  # edge of the tensors
    pass_alive_suicide: bool = False  # what the nets take for pass-alive (rules.md 9.4)
    knows_nothing: bool = False  # no seat has a net

    @property
    def selfplay(self) -> SelfplayParameters | None:
        """What only self-play has."""
        return self.runner if isinstance(self.runner, SelfplayParameters) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunGame:
    """A game at its first searched turn."""

    start: GameStart  # without moves of its own
    view: PlayerView
    moves: tuple[Stone, ...]  # before the first search
    state: np.void  # STATE after them, and its HISTORY
    history: np.void
    hash_words: tuple[int, int]  # two 64-bit words that name the game
    no_result_utility: float  # for White
    stops_early: bool  # as soon as everything is pass-alive
    provenance: Provenance


def begin(plan: Plan, seed: int, given: GivenStart | None) -> Script[BegunGame]:
    """Begin the game of ``seed``, at ``given`` or on the empty board.

    Raises:
        ValueError: a fork that cannot be played.
    """
    return _Beginning(plan, seed, given).script()


class _Beginning:
    """The state of one beginning; see `begin`."""

    def __init__(self, plan: Plan, seed: int, given: GivenStart | None) -> None:
        self._plan, self._seed = plan, seed
        self._random = random = generator(seed, 0, Draw.SETUP)
        low, high = random.integers(1 << 64, size=2, dtype=np.uint64)
        self._hash_words = int(low), int(high)
        selfplay, search = plan.selfplay, plan.searches[0]
        self._stops_early = selfplay is None or draws.coin(random, EARLY_END_PROB)
        draw_wins = search.draw_equivalent_wins_for_white
        self._no_result = search.no_result_utility_for_white
        if selfplay is not None:
            self._no_result = draws.no_result_utility(self._no_result, plan.init.no_result_stdev, random)
            draw_wins = draws.draw_white_wins(draw_wins, plan.init.draw_rand_radius, random)
        view = PlayerView(draw_wins, plan.pass_alive_suicide)
        self._origin = origin_of(given, plan.init, view, random)
        self._draft = self._origin.draft
        self._extra_black = 0
        if self._origin.game_type == NORMAL:
            start = self._draft.start
            self._extra_black = draw_extra_stones(plan.init, start.x_size, start.y_size, random)
        self._doublings = 0.0
        if selfplay is not None and not self._origin.is_pool:
            self._doublings = draw_doublings(selfplay, self._extra_black, random)
        self._komi = self._draw_komi()
        self._draft.set_komi(self._komi.draw(random))
        searches = plan.searches
        if self._no_result != search.no_result_utility_for_white:
            searches = tuple(replace(each, no_result_utility_for_white=self._no_result) for each in searches)
        self._inquirer = Inquirer(seed, searches, plan.runner.compensate_komi_visits, self._doublings)

    def script(self) -> Script[BegunGame]:
        """The steps from the fair komi on."""
        draft, random, inquirer, selfplay = self._draft, self._random, self._inquirer, self._plan.selfplay
        if self._komi.is_fair_on_empty_board:
            yield from komi.make_fair_on_empty_board(draft, self._komi, selfplay, inquirer, random)
        if self._extra_black:
            temperature = 1.0 if selfplay is None else selfplay.handicap_temperature
            self._extra_black = yield from place_stones(
                draft, self._extra_black, temperature, self._plan.length, inquirer, random
            )
        yield from self._fit_komi()
        is_decided = yield from self._open()
        phase = MAIN_PHASE
        if not is_decided and not draft.is_over and self._may_begin_in_cleanup():
            phase = yield from self._go_to_cleanup()
        return self._begun(CLEANUP_TRAINING if phase else self._game_type())

    def _draw_komi(self) -> KomiDraws:
        """The spread of the komi, and whether a search makes it fair."""
        init, origin, random = self._plan.init, self._origin, self._random
        base = origin.draft.komi if origin.is_pool else komi.base_komi(init)
        drawn = komi.komi_draws(init, base, origin.draft.start.area, random)
        if origin.is_pool:
            drawn.is_fair = draws.coin(random, init.fork_compensate_komi_prob)
            return drawn
        fair_prob = 0.0
        if origin.is_position:
            fair_prob = init.sgf_compensate_komi_prob
            drawn.pulled_to_zero = draws.coin(random, init.sgf_komi_interp_zero_prob)
        elif self._extra_black:
            fair_prob = init.handicap_compensate_komi_prob
            drawn.pulled_to_zero = draws.coin(random, init.handicap_komi_interp_zero_prob)
        if self._doublings and self._plan.selfplay is not None:
            fair_prob = max(fair_prob, self._plan.selfplay.min_asymmetric_compensate_komi_prob)
        drawn.is_fair = draws.coin(random, fair_prob)
        drawn.is_fair_on_empty_board = init.komi_auto and not drawn.is_fair
        return drawn

    def _fit_komi(self) -> Script[None]:
        """Fair komi of the position, or another variation of it (step 6)."""
        draft, random, selfplay = self._draft, self._random, self._plan.selfplay
        is_varied = selfplay is not None and selfplay.fancy_komi_varying
        if draft.is_over:
            return
        if self._komi.is_fair:
            yield from komi.make_fair_from_base(draft, self._komi, self._inquirer, random)
        elif is_varied and (self._extra_black or self._origin.is_pool):
            yield from komi.vary(draft, self._komi, self._inquirer, random, extra_black=self._extra_black)
        if is_varied and self._plan.knows_nothing:
            komi.vary_widely(draft, self._komi, random)

    def _open(self) -> Script[bool]:
        """Moves by the raw policy, and the komi that they make fair (step 7); whether the game is over by then."""
        runner, draft, random, origin = self._plan.runner, self._draft, self._random, self._origin
        if not runner.init_games_with_policy or origin.is_pool or origin.game_type == HINT_POSITION or draft.is_over:
            return False
        is_position = origin.game_type == SGF_POSITION
        share = runner.start_poses_policy_init_area_prop if is_position else runner.policy_init_area_prop
        if share == 0.0:
            return False
        kept = draft.komi
        draft.set_komi(self._komi.draw(random))
        is_over = yield from self._play_policy(
            share, runner.policy_init_gamma_shape, runner.policy_init_area_temperature
        )
        draft.set_komi(kept)
        compensates = draws.coin(random, runner.compensate_after_policy_init_prob)
        if self._game_type() != NORMAL:
            compensates = self._komi.is_fair
        if compensates and not is_over:
            yield from komi.make_fair(draft, self._komi, self._inquirer, random)
        return is_over

    def _play_policy(self, share: float, gamma_shape: float, temperature: float) -> Script[bool]:
        """Play moves, on average ``share`` of the board's area."""
        count = draws.opening_length(self._random, mean=share * self._draft.start.area, gamma_shape=gamma_shape)
        return (
            yield from play_opening(
                self._draft,
                count,
                temperature,
                self._plan.length,
                self._inquirer,
                self._random,
                stops_early=self._stops_early,
            )
        )

    def _may_begin_in_cleanup(self) -> bool:
        """Whether this game is one of the few that begin after their main phase (step 8)."""
        draft = self._draft
        return (
            self._plan.selfplay is not None
            and self._origin.game_type != HINT_POSITION
            and draft.start.rules.scoring == Scoring.TERRITORY
            and int(draft.state["phase"]) == MAIN_PHASE
            and draws.coin(self._random, _CLEANUP_PROB)
        )

    def _go_to_cleanup(self) -> Script[int]:
        """Play far into the game, make it fair and begin it in a clean-up phase; 0 if it ended on the way."""
        draft, random = self._draft, self._random
        shape = _CLEANUP_SHAPE + (1.0 - _CLEANUP_SHAPE) * self._plan.runner.policy_init_gamma_shape
        is_over = yield from self._play_policy(_CLEANUP_AREA_PROP, shape, _CLEANUP_TEMPERATURE)
        if is_over:
            return MAIN_PHASE
        yield from komi.make_fair(draft, self._komi, self._inquirer, random)
        phase = 1 + int(random.integers(2))
        draft.restart(_in_phase(draft, phase))
        return phase

    def _game_type(self) -> str:
        """What the game is called, but for its phase."""
        if self._origin.game_type != NORMAL:
            return self._origin.game_type
        if self._doublings:
            return ASYMMETRIC
        return HANDICAP if self._extra_black else NORMAL

    def _begun(self, game_type: str) -> BegunGame:
        draft, origin = self._draft, self._origin
        return BegunGame(
            start=draft.start,
            view=draft.view,
            moves=tuple(draft.moves),
            state=draft.state,
            history=draft.history,
            hash_words=self._hash_words,
            no_result_utility=self._no_result,
            stops_early=self._stops_early,
            provenance=Provenance(
                game_type=game_type,
                extra_black=self._extra_black,
                white_doublings=self._doublings,
                hint=origin.hint,
                used_initial_position=origin.is_pool,
                is_seki_fork=origin.is_seki_fork,
                training_weight=origin.training_weight,
            ),
        )


def _in_phase(draft: Draft, phase: int) -> GameStart:
    """The game that begins in ``phase`` with a draft's stones, and with the points that captures have brought."""
    state, start = draft.state, draft.start
    captured = state["captured"].tolist()
    return GameStart(
        start.x_size,
        start.y_size,
        start.rules,
        draft.stones(),
        to_move=draft.to_move,
        phase=phase,
        bonus_before=start.bonus_before + captured[BLACK] - captured[WHITE],
    )
