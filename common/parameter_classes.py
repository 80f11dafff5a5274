"""The parameters of searches, game set-ups, self-play and matches: names, keys, ranges, defaults, one line each.

Each field carries the `Key` by which KataGo's configuration text names it (spec search.md 15, selfplay.md 12). A
default is the value of KataGo's client under a server ("distributed") where its text is silent. Declarations only:
`common.parameters` reads and writes texts, and says what can be played.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any, Final, get_args, get_type_hints

from common.go.basics import MAX_LENGTH, MIN_LENGTH
from common.go.rules import MAX_KOMI, Ko, Scoring, Tax
from common.parameter_kinds import (
    BOOLEAN,
    BOT_PAIR,
    COLOUR,
    SIZE_PAIR,
    TEXT,
    Key,
    half_points,
    integer,
    member,
    number,
    several,
)

UNLIMITED: Final = 2**50
FOREVER: Final = 1e20
_PROBABILITY: Final = number(0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchParameters:
    """How a position is searched (search.md 15); utilities from White's view, visits as counts."""

    # -- limits --
    max_visits: Annotated[int, Key("maxVisits", integer(1, UNLIMITED))]
    num_search_threads: Annotated[int, Key("numSearchThreads", integer(1, 4096), required=True)] = 1
    min_playouts_per_thread: Annotated[float, Key("minPlayoutsPerThread", number(0, 1e20))] = 0.0
    num_virtual_losses_per_thread: Annotated[float, Key("numVirtualLossesPerThread", number(0.01, 1000))] = 1.0
    max_playouts: Annotated[int, Key("maxPlayouts", integer(1, UNLIMITED))] = UNLIMITED
    max_time: Annotated[float, Key("maxTime", number(0, FOREVER))] = FOREVER  # seconds
    futile_visits_threshold: Annotated[float, Key("futileVisitsThreshold", number(0.01, 1), unsaid=0.0)] = 0.0
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
    graph_search_rep_bound: Annotated[int, Key("graphSearchRepBound", integer(3, 50))] = 11
    graph_search_catch_up_leak_prob: Annotated[float, Key("graphSearchCatchUpLeakProb", _PROBABILITY)] = 0.0
    subtree_value_bias_factor: Annotated[float, Key("subtreeValueBiasFactor", _PROBABILITY)] = 0.45
    subtree_value_bias_weight_exponent: Annotated[float, Key("subtreeValueBiasWeightExponent", _PROBABILITY)] = 0.85
    subtree_value_bias_free_prop: Annotated[float, Key("subtreeValueBiasFreeProp", _PROBABILITY)] = 0.8
    # -- the net's policy (5) --
    nn_randomize: Annotated[bool, Key("nnRandomize", BOOLEAN)] = True
    nn_policy_temperature: Annotated[float, Key("nnPolicyTemperature", number(0.01, 5))] = 1.0
    policy_optimism: Annotated[float, Key("policyOptimism", _PROBABILITY)] = 0.0
    root_policy_optimism: Annotated[float, Key("rootPolicyOptimism", _PROBABILITY)] = 0.0
    playout_doubling_advantage: Annotated[float, Key("playoutDoublingAdvantage", number(-3, 3))] = 0.0
    playout_doubling_advantage_pla: Annotated[int | None, Key("playoutDoublingAdvantagePla", COLOUR)] = (
        None  # of the side searched for
    )
    ignore_pre_root_history: Annotated[bool, Key("ignorePreRootHistory", BOOLEAN)] = False
    ignore_all_history: Annotated[bool, Key("ignoreAllHistory", BOOLEAN)] = False
    # -- the root (4.4, 5) --
    root_noise_enabled: Annotated[bool, Key("rootNoiseEnabled", BOOLEAN)] = False
    root_dirichlet_noise_total_concentration: Annotated[
        float, Key("rootDirichletNoiseTotalConcentration", number(0.001, 1e4))
    ] = 10.83
    root_dirichlet_noise_weight: Annotated[float, Key("rootDirichletNoiseWeight", _PROBABILITY)] = 0.25
    # ours alone: KataGo's noise is always shaped
    root_dirichlet_noise_shaped: Annotated[bool, Key("rootDirichletNoiseShaped", BOOLEAN)] = True
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
class ThinkingParameters:
    """How long an engine for people thinks, beside its limits of a search (search.md 8); seconds.

    A base of the settings of such an engine: games of self-play and matches do not read it.
    """

    # -- in the opponent's time --
    max_visits_pondering: Annotated[int, Key("maxVisitsPondering", integer(1, UNLIMITED))] = UNLIMITED
    max_playouts_pondering: Annotated[int, Key("maxPlayoutsPondering", integer(1, UNLIMITED))] = UNLIMITED
    max_time_pondering: Annotated[float, Key("maxTimePondering", number(0, FOREVER))] = FOREVER
    # -- when the game is all but won --
    search_factor_when_winning: Annotated[float, Key("searchFactorWhenWinning", number(0.01, 1))] = 1.0
    search_factor_when_winning_threshold: Annotated[float, Key("searchFactorWhenWinningThreshold", _PROBABILITY)] = (
        1.0  # of winLoss
    )
    # -- by the clock --
    lag_buffer: Annotated[float, Key("lagBuffer", number(0, 3600))] = 0.0
    tree_reuse_carry_over_time_factor: Annotated[float, Key("treeReuseCarryOverTimeFactor", _PROBABILITY)] = 0.0
    overallocate_time_factor: Annotated[float, Key("overallocateTimeFactor", number(0.01, 100))] = 1.0
    midgame_time_factor: Annotated[float, Key("midgameTimeFactor", number(0.01, 100))] = 1.0
    midgame_turn_peak_time: Annotated[float, Key("midgameTurnPeakTime", number(0, 1000))] = 130.0  # turns on 19x19
    endgame_turn_time_decay: Annotated[float, Key("endgameTurnTimeDecay", number(0, 1000))] = 100.0  # turns on 19x19
    obvious_moves_time_factor: Annotated[float, Key("obviousMovesTimeFactor", number(0.01, 1))] = 1.0
    obvious_moves_policy_entropy_tolerance: Annotated[
        float, Key("obviousMovesPolicyEntropyTolerance", number(0.001, 2))
    ] = 0.30  # nats, as the next
    obvious_moves_policy_surprise_tolerance: Annotated[
        float, Key("obviousMovesPolicySurpriseTolerance", number(0.001, 2))
    ] = 0.15


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
class GameRunnerParameters:
    """Settings of the game loop; KataGo's client requires the first two and nothing of ours reads them."""

    log_search_info: Annotated[bool, Key("logSearchInfo", BOOLEAN)]
    log_moves: Annotated[bool, Key("logMoves", BOOLEAN)]
    max_moves_per_game: Annotated[int, Key("maxMovesPerGame", integer(0, 2**30))]  # searched moves
    clear_bot_before_search: Annotated[bool, Key("clearBotBeforeSearch", BOOLEAN)] = False


_CHOICES: Final = integer(1, 100)
_VISITS: Final = integer(1, 10**7)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfplayParameters(GameRunnerParameters):
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
    # -- cheap turns searched again; None only where that is off --
    use_reanalyze: Annotated[bool, Key("useReanalyze", BOOLEAN)] = False
    reanalyze_prop: Annotated[float | None, Key("reanalyzeProp", _PROBABILITY)] = None
    reanalyze_policy_surprise_weight: Annotated[float | None, Key("reanalyzePolicySurpriseWeight", number(0, 100))] = (
        None
    )
    reanalyze_value_surprise_weight: Annotated[float | None, Key("reanalyzeValueSurpriseWeight", number(0, 100))] = None
    reanalyze_surprise_exponent: Annotated[float | None, Key("reanalyzeSurpriseExponent", number(0, 10))] = None
    reanalyze_use_outcome_targets: Annotated[bool | None, Key("reanalyzeUseOutcomeTargets", BOOLEAN)] = None
    # -- nets --
    switch_nets_mid_game: Annotated[bool, Key("switchNetsMidGame", BOOLEAN)] = False
    # -- ours alone: rows of positions inside the trees of turns; None only where the weight is 0 --
    record_tree_threshold: Annotated[int | None, Key("recordTreeThreshold", integer(1, 10**7))] = None  # visits
    record_tree_target_weight: Annotated[float, Key("recordTreeTargetWeight", _PROBABILITY)] = 0.0
    # ours alone: how many moves of each search its record tells
    sgf_top_moves: Annotated[int, Key("sgfTopMoves", integer(0, 50))] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFileParameters:
    """Files of rows in a folder (training-data.md 6); what is played for a server is sent game by game instead."""

    max_rows_per_train_file: Annotated[int, Key("maxRowsPerTrainFile", integer(1, 10**8))] = 20_000
    # smallest share of that which the first file may hold, so that programs begun together do not end files together
    first_file_rand_min_prop: Annotated[float, Key("firstFileRandMinProp", _PROBABILITY)] = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchParameters(GameRunnerParameters):
    """How a game between two networks is played (selfplay.md 9, 12)."""

    allow_resignation: Annotated[bool, Key("allowResignation", BOOLEAN)]
    resign_threshold: Annotated[float, Key("resignThreshold", number(-1, 0))]  # of winLoss
    resign_consec_turns: Annotated[int, Key("resignConsecTurns", integer(1, 100))]
    compensate_komi_visits: Annotated[int, Key("compensateKomiVisits", integer(1, 10000))] = 100
    # -- opening; without it the rest of these has no meaning --
    init_games_with_policy: Annotated[bool, Key("initGamesWithPolicy", BOOLEAN)] = False
    policy_init_area_prop: Annotated[float, Key("policyInitAreaProp", _PROBABILITY)] = 0.0
    policy_init_gamma_shape: Annotated[float, Key("policyInitGammaShape", number(0.5, 100))] = 1.0
    policy_init_area_temperature: Annotated[float, Key("policyInitAreaTemperature", number(0.1, 5))] = 1.0
    start_poses_policy_init_area_prop: Annotated[float, Key("startPosesPolicyInitAreaProp", _PROBABILITY)] = 0.0
    compensate_after_policy_init_prob: Annotated[float, Key("compensateAfterPolicyInitProb", _PROBABILITY)] = 1.0
    # -- komi that only the searcher sees, in its favour (9) --
    dynamic_self_komi_bonus_min: Annotated[float, Key("dynamicSelfKomiBonusMin", number(-100, 100))] = 0.0
    dynamic_self_komi_bonus_max: Annotated[float, Key("dynamicSelfKomiBonusMax", number(-100, 100))] = 0.0
    dynamic_self_komi_win_loss_min: Annotated[float, Key("dynamicSelfKomiWinLossMin", number(-1, 1))] = -1.0
    dynamic_self_komi_win_loss_max: Annotated[float, Key("dynamicSelfKomiWinLossMax", number(-1, 1))] = 1.0

    @property
    def has_dynamic_self_komi(self) -> bool:
        """Whether players search under another komi than the game's."""
        return self.dynamic_self_komi_bonus_min != 0.0 or self.dynamic_self_komi_bonus_max != 0.0


MAX_BOTS: Final = 1024
_BOTS: Final = several(integer(0, MAX_BOTS - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingParameters:
    """Who of the bots of a match plays whom (selfplay.md 9)."""

    num_bots: Annotated[int, Key("numBots", integer(1, MAX_BOTS))] = 1
    include_bots: Annotated[tuple[int, ...], Key("includeBots", _BOTS)] = ()  # none: all
    secondary_bots: Annotated[tuple[int, ...], Key("secondaryBots", _BOTS)] = ()  # do not play each other
    extra_pairs: Annotated[tuple[tuple[int, int], ...], Key("extraPairs", several(BOT_PAIR))] = ()
    extra_pairs_are_one_sided: Annotated[bool, Key("extraPairsAreOneSidedBW", BOOLEAN)] = False  # Black is named first


@dataclass(frozen=True, slots=True, kw_only=True)
class BotParameters:
    """Who one bot of a match is."""

    name: Annotated[str | None, Key("botName", TEXT)] = None
    model: Annotated[str | None, Key("nnModelFile", TEXT)] = None  # file of its net


def keys_of(parameters: type[Any]) -> dict[str, Key]:
    """The `Key` of each field of a parameter class, in the order of the fields."""
    if parameters not in _KEYS:
        hints = get_type_hints(parameters, include_extras=True)
        _KEYS[parameters] = {field.name: get_args(hints[field.name])[1] for field in dataclasses.fields(parameters)}
    return _KEYS[parameters]


_KEYS: Final[dict[type[Any], dict[str, Key]]] = {}
