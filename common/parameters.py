"""The settings of a run's games: typed parameters, read from KataGo's configuration text and written back to it.

One text serves KataGo's client and ours, so the keys, ranges and defaults are KataGo's: spec search.md 15, selfplay.md
12. Where a text is silent the value is the one of KataGo's client under a server ("distributed"). A value that cannot
be played yet is refused by its key's name: `PLAYABLE` is the one table of these, and shrinks as features land.
Knows nothing of how anything is played.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar, get_args, get_type_hints

from common import config_text
from common.config_text import ConfigError, Entry
from common.go.basics import MAX_LENGTH, MIN_LENGTH
from common.go.rules import MAX_KOMI, Ko, Scoring, Tax
from common.parameter_kinds import BOOLEAN, SIZE_PAIR, Key, half_points, integer, member, number, number_text, several

_UNLIMITED: Final = 2**50
_FOREVER: Final = 1e20
_PROBABILITY: Final = number(0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchParameters:
    """How a position is searched (search.md 15); utilities from White's view, visits as counts."""

    # -- limits --
    max_visits: Annotated[int, Key("maxVisits", integer(1, _UNLIMITED))]
    num_search_threads: Annotated[int, Key("numSearchThreads", integer(1, 4096), required=True)] = 1
    max_playouts: Annotated[int, Key("maxPlayouts", integer(1, _UNLIMITED))] = _UNLIMITED
    max_time: Annotated[float, Key("maxTime", number(0, _FOREVER))] = _FOREVER  # seconds
    futile_visits_threshold: Annotated[float, Key("futileVisitsThreshold", number(0, 1))] = 0.0
    search_factor_after_one_pass: Annotated[float, Key("searchFactorAfterOnePass", _PROBABILITY)] = 1.0
    search_factor_after_two_pass: Annotated[float, Key("searchFactorAfterTwoPass", _PROBABILITY)] = 1.0
    # -- utility (2.3, 2.5) --
    win_loss_utility_factor: Annotated[float, Key("winLossUtilityFactor", _PROBABILITY)] = 1.0
    static_score_utility_factor: Annotated[float, Key("staticScoreUtilityFactor", _PROBABILITY)] = 0.1
    dynamic_score_utility_factor: Annotated[float, Key("dynamicScoreUtilityFactor", _PROBABILITY)] = 0.3
    dynamic_score_center_zero_weight: Annotated[float, Key("dynamicScoreCenterZeroWeight", _PROBABILITY)] = 0.2
    dynamic_score_center_scale: Annotated[float, Key("dynamicScoreCenterScale", number(0.2, 5))] = 0.75
    no_result_utility_for_white: Annotated[float, Key("noResultUtilityForWhite", number(-1, 1))] = 0.0
    draw_equivalent_wins_for_white: Annotated[float, Key("drawEquivalentWinsForWhite", _PROBABILITY)] = 0.5
    # -- choosing a child (4) --
    cpuct_exploration: Annotated[float, Key("cpuctExploration", number(0, 10))] = 1.0
    cpuct_exploration_log: Annotated[float, Key("cpuctExplorationLog", number(0, 10))] = 0.45
    cpuct_exploration_base: Annotated[float, Key("cpuctExplorationBase", number(10, 1e5))] = 500.0
    cpuct_utility_stdev_prior: Annotated[float, Key("cpuctUtilityStdevPrior", number(1e-8, 10))] = 0.4
    cpuct_utility_stdev_prior_weight: Annotated[float, Key("cpuctUtilityStdevPriorWeight", number(0, 100))] = 2.0
    cpuct_utility_stdev_scale: Annotated[float, Key("cpuctUtilityStdevScale", _PROBABILITY)] = 0.0
    fpu_reduction_max: Annotated[float, Key("fpuReductionMax", number(0, 2))] = 0.2
    fpu_loss_prop: Annotated[float, Key("fpuLossProp", _PROBABILITY)] = 0.0
    fpu_parent_weight_by_visited_policy: Annotated[bool, Key("fpuParentWeightByVisitedPolicy", BOOLEAN)] = False
    fpu_parent_weight_by_visited_policy_pow: Annotated[
        float, Key("fpuParentWeightByVisitedPolicyPow", number(0, 5))
    ] = 2.0
    fpu_parent_weight: Annotated[float, Key("fpuParentWeight", _PROBABILITY)] = 0.0
    root_fpu_reduction_max: Annotated[
        float,
        Key("rootFpuReductionMax", number(0, 2), lambda values: 0.0 if values["root_noise_enabled"] else 0.1),
    ] = 0.1
    root_fpu_loss_prop: Annotated[
        float, Key("rootFpuLossProp", _PROBABILITY, lambda values: values["fpu_loss_prop"])
    ] = 0.0
    # -- averaging (2.6, 3) --
    value_weight_exponent: Annotated[float, Key("valueWeightExponent", _PROBABILITY)] = 0.25
    use_noise_pruning: Annotated[bool, Key("useNoisePruning", BOOLEAN)] = False
    noise_prune_utility_scale: Annotated[float, Key("noisePruneUtilityScale", number(0.001, 10))] = 0.15
    noise_pruning_cap: Annotated[float, Key("noisePruningCap", number(0, 1e50))] = 1e50
    use_uncertainty: Annotated[bool, Key("useUncertainty", BOOLEAN)] = False
    uncertainty_coeff: Annotated[float, Key("uncertaintyCoeff", number(0.0001, 1))] = 0.25
    uncertainty_exponent: Annotated[float, Key("uncertaintyExponent", number(0, 2))] = 1.0
    uncertainty_max_weight: Annotated[float, Key("uncertaintyMaxWeight", number(1, 100))] = 8.0
    use_graph_search: Annotated[bool, Key("useGraphSearch", BOOLEAN)] = False
    subtree_value_bias_factor: Annotated[float, Key("subtreeValueBiasFactor", _PROBABILITY)] = 0.45
    subtree_value_bias_weight_exponent: Annotated[float, Key("subtreeValueBiasWeightExponent", _PROBABILITY)] = 0.85
    subtree_value_bias_free_prop: Annotated[float, Key("subtreeValueBiasFreeProp", _PROBABILITY)] = 0.8
    # -- the net's policy (5) --
    nn_randomize: Annotated[bool, Key("nnRandomize", BOOLEAN)] = True
    nn_policy_temperature: Annotated[float, Key("nnPolicyTemperature", number(0.01, 5))] = 1.0
    policy_optimism: Annotated[float, Key("policyOptimism", _PROBABILITY)] = 0.0
    root_policy_optimism: Annotated[float, Key("rootPolicyOptimism", _PROBABILITY)] = 0.0
    playout_doubling_advantage: Annotated[float, Key("playoutDoublingAdvantage", number(-3, 3))] = 0.0
    ignore_pre_root_history: Annotated[bool, Key("ignorePreRootHistory", BOOLEAN)] = False
    ignore_all_history: Annotated[bool, Key("ignoreAllHistory", BOOLEAN)] = False
    # -- the root (4.4, 5) --
    root_noise_enabled: Annotated[bool, Key("rootNoiseEnabled", BOOLEAN)] = False
    root_dirichlet_noise_total_concentration: Annotated[
        float, Key("rootDirichletNoiseTotalConcentration", number(0.001, 1e4))
    ] = 10.83
    root_dirichlet_noise_weight: Annotated[float, Key("rootDirichletNoiseWeight", _PROBABILITY)] = 0.25
    root_policy_temperature: Annotated[float, Key("rootPolicyTemperature", number(0.01, 100))] = 1.0
    root_policy_temperature_early: Annotated[
        float,
        Key("rootPolicyTemperatureEarly", number(0.01, 100), lambda values: values["root_policy_temperature"]),
    ] = 1.0
    root_num_symmetries_to_sample: Annotated[int, Key("rootNumSymmetriesToSample", integer(1, 8))] = 1
    root_symmetry_pruning: Annotated[bool, Key("rootSymmetryPruning", BOOLEAN)] = False
    root_desired_per_child_visits_coeff: Annotated[float, Key("rootDesiredPerChildVisitsCoeff", number(0, 100))] = 0.0
    root_ending_bonus_points: Annotated[float, Key("rootEndingBonusPoints", number(-1, 1))] = 0.5
    root_prune_useless_moves: Annotated[bool, Key("rootPruneUselessMoves", BOOLEAN)] = True
    wide_root_noise: Annotated[float, Key("wideRootNoise", number(0, 5))] = 0.0
    # -- passing (4.6) --
    conservative_pass: Annotated[bool, Key("conservativePass", BOOLEAN)] = False
    fill_dame_before_pass: Annotated[bool, Key("fillDameBeforePass", BOOLEAN)] = False
    enable_passing_hacks: Annotated[bool, Key("enablePassingHacks", BOOLEAN)] = False
    enable_more_passing_hacks: Annotated[bool, Key("enableMorePassingHacks", BOOLEAN)] = False
    anti_mirror: Annotated[bool, Key("antiMirror", BOOLEAN)] = False
    # -- choosing the move (10) --
    chosen_move_temperature_early: Annotated[float, Key("chosenMoveTemperatureEarly", number(0, 5))] = 0.5
    chosen_move_temperature: Annotated[float, Key("chosenMoveTemperature", number(0, 5))] = 0.1
    chosen_move_temperature_halflife: Annotated[float, Key("chosenMoveTemperatureHalflife", number(0.1, 1e5))] = (
        19.0  # turns on 19x19
    )
    chosen_move_temperature_only_below_prob: Annotated[
        float, Key("chosenMoveTemperatureOnlyBelowProb", _PROBABILITY)
    ] = 1.0
    chosen_move_subtract: Annotated[float, Key("chosenMoveSubtract", number(0, 1e10))] = 0.0
    chosen_move_prune: Annotated[float, Key("chosenMovePrune", number(0, 1e10))] = 1.0
    use_lcb_for_selection: Annotated[bool, Key("useLcbForSelection", BOOLEAN)] = True
    lcb_stdevs: Annotated[float, Key("lcbStdevs", number(1, 12))] = 5.0
    min_visit_prop_for_lcb: Annotated[float, Key("minVisitPropForLCB", _PROBABILITY)] = 0.15
    use_non_buggy_lcb: Annotated[bool, Key("useNonBuggyLcb", BOOLEAN)] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GameInitParameters:
    """How a game is set up (selfplay.md 3, 4, 5, 12); lists are drawn from uniformly."""

    ko_rules: Annotated[tuple[Ko, ...], Key("koRules", several(member(Ko)))]
    scoring_rules: Annotated[tuple[Scoring, ...], Key("scoringRules", several(member(Scoring)))]
    tax_rules: Annotated[tuple[Tax, ...], Key("taxRules", several(member(Tax)))]
    multi_stone_suicide_legals: Annotated[tuple[bool, ...], Key("multiStoneSuicideLegals", several(BOOLEAN))]
    has_buttons: Annotated[tuple[bool, ...], Key("hasButtons", several(BOOLEAN))]
    b_sizes: Annotated[tuple[int, ...], Key("bSizes", several(integer(MIN_LENGTH, MAX_LENGTH)))] = ()
    b_sizes_xy: Annotated[tuple[tuple[int, int], ...], Key("bSizesXY", several(SIZE_PAIR))] = ()
    b_size_rel_probs: Annotated[tuple[float, ...], Key("bSizeRelProbs", several(number(0, 1e100)))]
    allow_rectangle_prob: Annotated[float, Key("allowRectangleProb", _PROBABILITY)] = 0.0
    komi_mean: Annotated[float | None, Key("komiMean", half_points(-MAX_KOMI, MAX_KOMI))] = None
    komi_auto: Annotated[bool, Key("komiAuto", BOOLEAN)] = False
    komi_stdev: Annotated[float, Key("komiStdev", number(0, 60))] = 0.0  # points on 19x19, as the next two
    komi_big_stdev_prob: Annotated[float, Key("komiBigStdevProb", _PROBABILITY)] = 0.0
    komi_big_stdev: Annotated[float, Key("komiBigStdev", number(0, 60))] = 10.0
    komi_bigger_stdev_prob: Annotated[float, Key("komiBiggerStdevProb", _PROBABILITY)] = 0.0
    komi_bigger_stdev: Annotated[float, Key("komiBiggerStdev", number(0, 120))] = 30.0
    komi_allow_integer_prob: Annotated[float, Key("komiAllowIntegerProb", _PROBABILITY)] = 1.0
    handicap_prob: Annotated[float, Key("handicapProb", _PROBABILITY)] = 0.0
    num_extra_black_fixed: Annotated[int | None, Key("numExtraBlackFixed", integer(1, 18))] = None
    handicap_compensate_komi_prob: Annotated[float, Key("handicapCompensateKomiProb", _PROBABILITY)] = 0.0
    fork_compensate_komi_prob: Annotated[
        float,
        Key("forkCompensateKomiProb", _PROBABILITY, lambda values: values["handicap_compensate_komi_prob"]),
    ] = 0.0
    sgf_compensate_komi_prob: Annotated[
        float, Key("sgfCompensateKomiProb", _PROBABILITY, lambda values: values["fork_compensate_komi_prob"])
    ] = 0.0
    handicap_komi_interp_zero_prob: Annotated[float, Key("handicapKomiInterpZeroProb", _PROBABILITY)] = 0.0
    sgf_komi_interp_zero_prob: Annotated[float, Key("sgfKomiInterpZeroProb", _PROBABILITY)] = 0.0
    draw_rand_radius: Annotated[float, Key("drawRandRadius", _PROBABILITY)] = 0.0
    no_result_stdev: Annotated[float, Key("noResultStdev", _PROBABILITY)] = 0.0

    @property
    def longest_side(self) -> int:
        """The largest width or height that can be drawn."""
        return max((*self.b_sizes, *(side for size in self.b_sizes_xy for side in size)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _GameRunner:
    """Settings of the game loop; KataGo's client requires the first two and nothing of ours reads them."""

    log_search_info: Annotated[bool, Key("logSearchInfo", BOOLEAN)]
    log_moves: Annotated[bool, Key("logMoves", BOOLEAN)]
    max_moves_per_game: Annotated[int, Key("maxMovesPerGame", integer(0, 2**30))]  # searched moves
    clear_bot_before_search: Annotated[bool, Key("clearBotBeforeSearch", BOOLEAN)] = False


_CHOICES: Final = integer(1, 100)
_VISITS: Final = integer(1, 10**7)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfplayParameters(_GameRunner):
    """How a self-play game is opened, played and recorded (selfplay.md 5, 7, 8, 12)."""

    # -- opening --
    init_games_with_policy: Annotated[bool, Key("initGamesWithPolicy", BOOLEAN)]
    policy_init_area_prop: Annotated[float, Key("policyInitAreaProp", _PROBABILITY)] = 0.04
    policy_init_gamma_shape: Annotated[float, Key("policyInitGammaShape", number(0.5, 10))] = 1.0
    policy_init_area_temperature: Annotated[float, Key("policyInitAreaTemperature", number(0.1, 5))] = 1.0
    start_poses_policy_init_area_prop: Annotated[float, Key("startPosesPolicyInitAreaProp", _PROBABILITY)] = 0.0
    handicap_temperature: Annotated[float, Key("handicapTemperature", number(0.1, 5))] = 1.0
    # -- fair komi, lead --
    compensate_after_policy_init_prob: Annotated[float, Key("compensateAfterPolicyInitProb", _PROBABILITY)]
    compensate_komi_visits: Annotated[int, Key("compensateKomiVisits", integer(1, 10000))] = 20
    flip_komi_prob_when_no_compensate: Annotated[float, Key("flipKomiProbWhenNoCompensate", _PROBABILITY)] = 0.25
    fancy_komi_varying: Annotated[bool, Key("fancyKomiVarying", BOOLEAN)] = False
    estimate_lead_visits: Annotated[int, Key("estimateLeadVisits", integer(1, 10000))] = 6
    estimate_lead_prob: Annotated[float, Key("estimateLeadProb", _PROBABILITY)] = 0.0
    # -- forks and side positions --
    side_position_prob: Annotated[float, Key("sidePositionProb", _PROBABILITY, old_name="forkSidePositionProb")]
    early_fork_game_prob: Annotated[float, Key("earlyForkGameProb", number(0, 0.5))]
    early_fork_game_expected_move_prop: Annotated[float, Key("earlyForkGameExpectedMoveProp", _PROBABILITY)]
    fork_game_prob: Annotated[float, Key("forkGameProb", number(0, 0.5))]
    fork_game_min_choices: Annotated[int, Key("forkGameMinChoices", _CHOICES)]
    early_fork_game_max_choices: Annotated[int, Key("earlyForkGameMaxChoices", _CHOICES)]
    fork_game_max_choices: Annotated[int, Key("forkGameMaxChoices", _CHOICES)]
    seki_fork_hack_prob: Annotated[float, Key("sekiForkHackProb", _PROBABILITY)] = 0.0
    # -- visits of a turn --
    cheap_search_prob: Annotated[float, Key("cheapSearchProb", _PROBABILITY)]
    cheap_search_visits: Annotated[int, Key("cheapSearchVisits", _VISITS)]
    cheap_search_target_weight: Annotated[float, Key("cheapSearchTargetWeight", _PROBABILITY)]
    reduce_visits: Annotated[bool, Key("reduceVisits", BOOLEAN)]
    reduce_visits_threshold: Annotated[float, Key("reduceVisitsThreshold", number(0, 0.999999))]  # of |winLoss|
    reduce_visits_threshold_lookback: Annotated[int, Key("reduceVisitsThresholdLookback", integer(0, 1000))]  # turns
    reduced_visits_min: Annotated[int, Key("reducedVisitsMin", _VISITS)]
    reduced_visits_weight: Annotated[float, Key("reducedVisitsWeight", _PROBABILITY)]
    handicap_asymmetric_playout_prob: Annotated[float, Key("handicapAsymmetricPlayoutProb", _PROBABILITY)]
    normal_asymmetric_playout_prob: Annotated[float, Key("normalAsymmetricPlayoutProb", _PROBABILITY)]
    max_asymmetric_ratio: Annotated[float, Key("maxAsymmetricRatio", number(1, 100))]
    min_asymmetric_compensate_komi_prob: Annotated[float, Key("minAsymmetricCompensateKomiProb", _PROBABILITY)]
    # -- weights of rows --
    policy_surprise_data_weight: Annotated[float, Key("policySurpriseDataWeight", _PROBABILITY)]
    value_surprise_data_weight: Annotated[float, Key("valueSurpriseDataWeight", _PROBABILITY)]
    use_search_value_surprise: Annotated[bool, Key("useSearchValueSurprise", BOOLEAN)] = False
    scale_data_weight: Annotated[float, Key("scaleDataWeight", number(0.01, 10))] = 1.0
    use_reanalyze: Annotated[bool, Key("useReanalyze", BOOLEAN)] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchParameters(_GameRunner):
    """How a game between two networks is played (selfplay.md 9, 12)."""

    allow_resignation: Annotated[bool, Key("allowResignation", BOOLEAN)]
    resign_threshold: Annotated[float, Key("resignThreshold", number(-1, 0))]  # of winLoss
    resign_consec_turns: Annotated[int, Key("resignConsecTurns", integer(1, 100))]
    compensate_komi_visits: Annotated[int, Key("compensateKomiVisits", integer(1, 10000))] = 100
    init_games_with_policy: Annotated[bool, Key("initGamesWithPolicy", BOOLEAN)] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfplayConfig:
    """Everything that a self-play task's text says."""

    search: SearchParameters
    init: GameInitParameters
    selfplay: SelfplayParameters
    warnings: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    """What was ignored, one sentence each."""

    def to_text(self) -> str:
        """The effective text: every key with its value; reads back to an equal configuration."""
        return _text_of(self.search, self.init, self.selfplay)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchConfig:
    """Everything that a rating task's or match's text says."""

    bots: tuple[SearchParameters, ...]
    """How each bot searches; all alike unless keys carry a bot's index."""
    init: GameInitParameters
    match: MatchParameters
    warnings: tuple[str, ...] = dataclasses.field(default=(), compare=False)

    def to_text(self) -> str:
        """The effective text; keys in which the bots differ are written with each bot's index."""
        values = [_values_of(bot) for bot in self.bots]
        searches = {name: text for name, text in values[0].items() if all(other[name] == text for other in values[1:])}
        for index, bot in enumerate(values):
            searches |= {f"{name}{index}": text for name, text in bot.items() if name not in searches}
        return config_text.write(searches) + "\n" + _text_of(self.init, self.match)


# --------------------------------------------------------------------------------------------------------------------
# What can be played so far
# --------------------------------------------------------------------------------------------------------------------

PLAYABLE: Final[Mapping[str, tuple[object, ...]]] = {
    "maxPlayouts": (_UNLIMITED,),
    "maxTime": (_FOREVER,),
    "futileVisitsThreshold": (0.0,),
    "searchFactorAfterOnePass": (1.0,),
    "searchFactorAfterTwoPass": (1.0,),
    "cpuctUtilityStdevScale": (0.0,),
    "valueWeightExponent": (0.0,),
    "useNoisePruning": (False,),
    "useUncertainty": (False,),
    "useGraphSearch": (False,),
    "subtreeValueBiasFactor": (0.0,),
    "nnPolicyTemperature": (1.0,),
    "policyOptimism": (0.0,),
    "rootPolicyOptimism": (0.0,),
    "playoutDoublingAdvantage": (0.0,),
    "ignorePreRootHistory": (False,),
    "ignoreAllHistory": (False,),
    "rootNumSymmetriesToSample": (1,),
    "rootSymmetryPruning": (False,),
    "rootEndingBonusPoints": (0.0,),
    "rootPruneUselessMoves": (False,),
    "wideRootNoise": (0.0,),
    "conservativePass": (False,),
    "fillDameBeforePass": (False,),
    "enablePassingHacks": (False,),
    "enableMorePassingHacks": (False,),
    "antiMirror": (False,),
    "useLcbForSelection": (False,),
    "komiAuto": (False,),
    "handicapProb": (0.0,),
    "numExtraBlackFixed": (),
    "handicapCompensateKomiProb": (0.0,),
    "forkCompensateKomiProb": (0.0,),
    "sgfCompensateKomiProb": (0.0,),
    "handicapKomiInterpZeroProb": (0.0,),
    "sgfKomiInterpZeroProb": (0.0,),
    "startPosesPolicyInitAreaProp": (0.0,),
    "compensateAfterPolicyInitProb": (0.0,),
    "fancyKomiVarying": (False,),
    "estimateLeadProb": (0.0,),
    "sidePositionProb": (0.0,),
    "earlyForkGameProb": (0.0,),
    "forkGameProb": (0.0,),
    "sekiForkHackProb": (0.0,),
    "handicapAsymmetricPlayoutProb": (0.0,),
    "normalAsymmetricPlayoutProb": (0.0,),
    "useSearchValueSurprise": (False,),
    "scaleDataWeight": (1.0,),
    "useReanalyze": (False,),
}
"""Keys of which only some values can be played, and those values; none: the key has to be left out."""

_MATCH_PLAYABLE: Final[Mapping[str, tuple[object, ...]]] = {"initGamesWithPolicy": (False,)}

REFUSED_KEYS: Final = ("startPosesFromSgfDir", "startPosesProb", "hintPosesDir", "hintPosesProb")
"""Keys that name files of the machine that plays; never taken from a text."""

_IGNORED: Final = re.compile(
    r"nn(?:Cache|MutexPool|MaxBatch|RandSeed)\w*|num(?:NNServerThreads|Games|GameThreads)\w*|log\w*"
    r"|(?:cuda|trt|opencl|eigen|metal)\w*|dataBoardLen|inputsVersion|maxDataQueueSize|maxRowsPerTrainFile"
    r"|firstFileRandMinProp|switchNetsMidGame|nodeTableShardsPowerOfTwo|numVirtualLossesPerThread|minPlayoutsPerThread"
)
"""Keys of processes, devices, threads and logs: the volunteer's business, passed over without a warning."""

CONFIGS: Final = Path(__file__).parent / "configs"


# --------------------------------------------------------------------------------------------------------------------
# Reading
# --------------------------------------------------------------------------------------------------------------------


def parse_selfplay(text: str, *, overrides: str = "", data_board_len: int = MAX_LENGTH) -> SelfplayConfig:
    """Read the text of a self-play task.

    Args:
        text: KataGo configuration text.
        overrides: ``key=value,key=value`` put over it.
        data_board_len: edge of the run's tensors; no board may be larger.

    Raises:
        ConfigError: the text is malformed; a required key is missing; a value is of the wrong type, out of range, in
            contradiction to another, or not supported yet. All problems are listed, one a line.
    """
    reader = _Reader(text, overrides)
    search = reader.read(SearchParameters, bot=0)
    init = reader.read(GameInitParameters)
    selfplay = reader.read(SelfplayParameters)
    reader.check_bots(most=1)
    reader.check_playable(PLAYABLE)
    if init is not None:
        reader.problems += _init_problems(init, data_board_len)
    if search is not None and selfplay is not None:
        reader.problems += _selfplay_problems(search, selfplay)
    reader.finish()
    assert search is not None
    assert init is not None
    assert selfplay is not None
    return SelfplayConfig(search=search, init=init, selfplay=selfplay, warnings=reader.warnings())


def parse_match(text: str, *, overrides: str = "", data_board_len: int = MAX_LENGTH, num_bots: int = 2) -> MatchConfig:
    """Read the text of a rating task or of a match between ``num_bots`` bots.

    A key with a bot's index at its end (``maxVisits1``) holds for that bot only. Arguments and errors otherwise as
    for `parse_selfplay`.
    """
    reader = _Reader(text, overrides)
    bots = [reader.read(SearchParameters, bot=bot) for bot in range(num_bots)]
    init = reader.read(GameInitParameters)
    match = reader.read(MatchParameters)
    reader.check_bots(most=num_bots)
    reader.check_playable(PLAYABLE)
    reader.check_playable(_MATCH_PLAYABLE)
    if init is not None:
        reader.problems += _init_problems(init, data_board_len)
        for name, value in (("drawRandRadius", init.draw_rand_radius), ("noResultStdev", init.no_result_stdev)):
            if value != 0.0:
                reader.problems.append(f"{name} = {number_text(value)} is for self-play only; KataGo aborts on it here")
    reader.finish()
    assert init is not None
    assert match is not None
    played = tuple(bot for bot in bots if bot is not None)
    return MatchConfig(bots=played, init=init, match=match, warnings=reader.warnings())


def default_text(kind: Literal["selfplay", "gating"], boards: Literal["7x7", "9-19"]) -> str:
    """A configuration text that comes with the project: the numbers of the paper, for one choice of board sizes."""
    base = (CONFIGS / f"{kind}.cfg").read_text(encoding="utf-8")
    return config_text.overlay(base, (CONFIGS / f"{kind}_{boards}.cfg").read_text(encoding="utf-8"))


_Parameters = TypeVar("_Parameters", SearchParameters, GameInitParameters, SelfplayParameters, MatchParameters)


def _declared_keys(parameters: type[Any]) -> dict[str, Key]:
    hints = get_type_hints(parameters, include_extras=True)
    return {field.name: get_args(hints[field.name])[1] for field in dataclasses.fields(parameters)}


_KEYS: Final = {
    group: _declared_keys(group)
    for group in (SearchParameters, GameInitParameters, SelfplayParameters, MatchParameters)
}


def keys_of(parameters: type[Any]) -> dict[str, Key]:
    """The `Key` of each field of a parameter class, in the order of the fields."""
    return _KEYS[parameters]


class _Reader:
    """Fills parameter classes from the entries of one text, and collects what is wrong with it."""

    def __init__(self, text: str, overrides: str) -> None:
        self.entries = config_text.parse(text) | config_text.parse_overrides(overrides)
        self.problems: list[str] = []
        self._used: set[str] = set()
        self._values: list[tuple[Key, Any, Entry | None]] = []

    def read(self, kind: type[_Parameters], *, bot: int | None = None) -> _Parameters | None:
        """An instance of ``kind``; None after a problem."""
        values: dict[str, Any] = {}
        derived: list[tuple[str, Key]] = []
        keys = keys_of(kind)
        problems_before = len(self.problems)
        for field in dataclasses.fields(kind):
            key = keys[field.name]
            entry = self._entry(key, bot)
            if entry is not None:
                self._keep(values, field.name, key, self._read_value(key, entry), entry)
            elif key.derived is not None:
                derived.append((field.name, key))
            elif key.required or field.default is dataclasses.MISSING:
                self.problems.append(f"{key.name} is missing, it must be given")
            else:
                self._keep(values, field.name, key, field.default)
        if len(self.problems) > problems_before:
            return None
        for name, key in derived:
            assert key.derived is not None
            self._keep(values, name, key, key.derived(values))
        return kind(**values)

    def _keep(self, values: dict[str, Any], name: str, key: Key, value: Any, entry: Entry | None = None) -> None:
        values[name] = value
        if value is not None:
            self._values.append((key, value, entry))

    def _entry(self, key: Key, bot: int | None) -> Entry | None:
        names = [] if bot is None else [f"{key.name}{bot}"]
        names += [key.name, *((key.old_name,) if key.old_name else ())]
        given = [name for name in names if name in self.entries]
        self._used.update(given)
        return self.entries[given[0]] if given else None

    def _read_value(self, key: Key, entry: Entry) -> Any:
        try:
            return key.kind.read(entry.value)
        except ValueError as problem:
            self.problems.append(f"{entry.place}: {key.name}: {problem}")
            return None

    def check_bots(self, most: int) -> None:
        """More bots than ``most`` cannot be played."""
        entry = self.entries.get("numBots")
        self._used.add("numBots")
        if entry is not None:
            value = self._read_value(Key("numBots", integer(1, 1024)), entry)
            if value is not None and value > most:
                self.problems.append(f"{entry.place}: numBots = {value}: at most {most} can play here")

    def check_playable(self, playable: Mapping[str, tuple[object, ...]]) -> None:
        """Note each value that cannot be played yet."""
        for key, value, entry in self._values:
            allowed = playable.get(key.name)
            if allowed is None or value in allowed:
                continue
            text = key.kind.write(value)
            remedies = " or ".join(f"write {key.name} = {key.kind.write(other)}" for other in allowed)
            remedies = remedies or f"leave {key.name} out"
            if entry is not None:
                self.problems.append(f"{entry.place}: {key.name} = {text} is not supported yet; {remedies}")
            else:
                self.problems.append(
                    f"{key.name} is not given, and its default {text} is not supported yet; {remedies}"
                )
        for name in REFUSED_KEYS:
            if name in self.entries:
                self.problems.append(f"{self.entries[name].place}: {name} names files of one machine; leave it out")

    def finish(self) -> None:
        """Raise `ConfigError` if there was any problem."""
        if self.problems:
            raise ConfigError("\n".join(dict.fromkeys(self.problems)))

    def warnings(self) -> tuple[str, ...]:
        """A sentence for each key that nobody asked for."""
        unknown = [key for key in self.entries if key not in self._used and not _IGNORED.fullmatch(key)]
        return tuple(f"{self.entries[key].place}: unknown key {key} is ignored" for key in unknown)


def _init_problems(init: GameInitParameters, data_board_len: int) -> list[str]:
    problems = []
    sizes: tuple[object, ...] = init.b_sizes_xy or init.b_sizes
    if bool(init.b_sizes) == bool(init.b_sizes_xy):
        problems.append("exactly one of bSizes and bSizesXY must be given")
    elif len(sizes) != len(init.b_size_rel_probs):
        problems.append(f"bSizeRelProbs: {len(init.b_size_rel_probs)} weights for {len(sizes)} board sizes")
    elif init.longest_side > data_board_len:
        problems.append(f"bSizes: {init.longest_side} is larger than the run's data_board_len {data_board_len}")
    if sum(init.b_size_rel_probs) <= 0:
        problems.append("bSizeRelProbs: at least one weight must be positive")
    if init.b_sizes_xy:
        if any(not MIN_LENGTH <= side <= MAX_LENGTH for size in init.b_sizes_xy for side in size):
            problems.append(f"bSizesXY: sides must be within {MIN_LENGTH} to {MAX_LENGTH}")
        if init.allow_rectangle_prob:
            problems.append("allowRectangleProb goes with bSizes, not with bSizesXY")
    if (init.komi_mean is None) != init.komi_auto:
        problems.append("exactly one of komiMean and komiAuto = true must be given")
    if any(init.has_buttons) and Scoring.AREA not in init.scoring_rules:
        problems.append("hasButtons: true needs AREA among the scoringRules")
    return problems


def _selfplay_problems(search: SearchParameters, selfplay: SelfplayParameters) -> list[str]:
    problems = []
    for name, visits in (
        ("cheapSearchVisits", selfplay.cheap_search_visits),
        ("reducedVisitsMin", selfplay.reduced_visits_min),
    ):
        if visits > search.max_visits:
            problems.append(f"{name} = {visits} is more than maxVisits = {search.max_visits}")
    if selfplay.policy_surprise_data_weight + selfplay.value_surprise_data_weight > 1:
        problems.append("policySurpriseDataWeight and valueSurpriseDataWeight together are more than 1")
    for name, most in (
        ("earlyForkGameMaxChoices", selfplay.early_fork_game_max_choices),
        ("forkGameMaxChoices", selfplay.fork_game_max_choices),
    ):
        if selfplay.fork_game_min_choices > most:
            problems.append(f"forkGameMinChoices = {selfplay.fork_game_min_choices} is more than {name} = {most}")
    return problems


# --------------------------------------------------------------------------------------------------------------------
# Writing
# --------------------------------------------------------------------------------------------------------------------


def _values_of(parameters: Any) -> dict[str, str]:
    """Text of each value by key; what is None or an empty list is left out."""
    values = {}
    for name, key in keys_of(type(parameters)).items():
        value = getattr(parameters, name)
        if value is not None and value != ():
            values[key.name] = key.kind.write(value)
    return values


def _text_of(*groups: Any) -> str:
    return "\n".join(config_text.write(_values_of(group)) for group in groups)
