"""Typed parameters against the tables of spec search.md 15 and selfplay.md 12."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

import pytest

from common import config_text, parameters
from common.config_text import ConfigError
from common.go.points import WHITE
from common.go.rules import Ko, Scoring, Tax
from common.parameter_kinds import Key, integer
from common.parameters import (
    CONFIGS,
    EngineConfig,
    GameInitParameters,
    MatchParameters,
    SearchParameters,
    SelfplayParameters,
    TextKind,
    ThinkingParameters,
    base_text,
    completed,
    default_text,
    engine_entries,
    keys_of,
    parse_match,
    parse_row_files,
    parse_selfplay,
    read_engine,
)
from tests import ROOT

SELFPLAY = default_text("selfplay", "9-19")
MATCH = default_text("gating", "9-19")


def with_changes(base: str, **changes: str | None) -> str:
    """``base`` with keys replaced, or taken out where the value is None."""
    entries = {key: entry.value for key, entry in config_text.parse(base).items()}
    for key, value in changes.items():
        if value is None:
            del entries[key]
        else:
            entries[key] = value
    return config_text.write(entries)


def test_the_shipped_texts_hold_the_numbers_of_the_paper() -> None:
    config = parse_selfplay(SELFPLAY)
    assert config.warnings == ()
    search = config.search
    assert (search.max_visits, search.cpuct_exploration, search.cpuct_exploration_log) == (600, 1.1, 0.0)
    assert (search.fpu_reduction_max, search.root_fpu_reduction_max) == (0.2, 0.0)
    assert (search.root_dirichlet_noise_weight, search.root_dirichlet_noise_total_concentration) == (0.25, 10.83)
    assert (search.root_policy_temperature, search.root_policy_temperature_early) == (1.03, 1.03)
    assert not search.root_dirichlet_noise_shaped
    assert search.root_desired_per_child_visits_coeff == 2
    assert (search.static_score_utility_factor, search.dynamic_score_utility_factor) == (0, 0.5)
    assert (search.dynamic_score_center_zero_weight, search.dynamic_score_center_scale) == (0, 1)
    assert (search.chosen_move_temperature_early, search.chosen_move_temperature) == (0.8, 0.2)
    assert search.root_noise_enabled
    assert (config.selfplay.cheap_search_prob, config.selfplay.cheap_search_visits) == (0.75, 100)
    assert config.init.ko_rules == (Ko.SIMPLE, Ko.POSITIONAL, Ko.SITUATIONAL)
    assert config.init.multi_stone_suicide_legals == (False, True)
    assert config.init.b_sizes == tuple(range(9, 20))
    assert config.init.b_size_rel_probs[-1] / sum(config.init.b_size_rel_probs) == pytest.approx(0.375)
    match = parse_match(MATCH)
    assert match.warnings == ()
    assert len(match.bots) == 2
    assert not match.bots[0].root_noise_enabled
    assert (match.bots[1].chosen_move_temperature_early, match.bots[1].chosen_move_temperature) == (0.5, 0.2)
    assert (match.match.allow_resignation, match.match.resign_threshold, match.match.resign_consec_turns) == (
        True,
        -0.9,
        5,
    )
    small = parse_selfplay(default_text("selfplay", "7x7"), data_board_len=7)
    assert (small.init.b_sizes, small.init.longest_side, small.search.max_visits) == ((7,), 7, 60)
    assert parse_match(default_text("gating", "7x7"), data_board_len=7).init.komi_mean == 9.0


def test_the_effective_text_reads_back() -> None:
    for boards in ("7x7", "9-19"):
        config = parse_selfplay(default_text("selfplay", boards))
        assert parse_selfplay(config.to_text()) == config
        match = parse_match(default_text("gating", boards))
        assert parse_match(match.to_text()) == match


@pytest.mark.parametrize(
    ("text", "parse", "required"),
    # selfplay.md 12 marks 23 keys of self-play, 3 of matches, 3 of the runner, 5 + bSizeRelProbs of game set-up;
    # search.md 15 maxVisits and numSearchThreads
    [(SELFPLAY, parse_selfplay, 23 + 3 + 6 + 2), (MATCH, parse_match, 3 + 3 + 6 + 2)],
)
def test_each_required_key_is_named_when_missing(text: str, parse: Any, required: int) -> None:
    missing = []
    for key in config_text.parse(text):
        try:
            parse(with_changes(text, **{key: None}))
        except ConfigError as error:
            missing += [key] if str(error) == f"{key} is missing, it must be given" else []
    assert len(missing) == required, missing


OUT_OF_RANGE: list[tuple[str, str]] = [
    ("maxVisits", "0"),
    ("maxVisits", "6e2"),
    ("maxVisits", "many"),
    ("numSearchThreads", "4097"),
    ("cpuctExploration", "10.5"),
    ("cpuctExploration", "nan"),
    ("cpuctExploration", "inf"),
    ("dynamicScoreCenterScale", "0.1"),
    ("rootNoiseEnabled", "yes"),
    ("rootDirichletNoiseWeight", "-0.1"),
    ("rootPolicyTemperature", "0"),
    ("koRules", "SPIGHT"),
    ("koRules", "SIMPLE,"),
    ("scoringRules", "area"),
    ("taxRules", "SOME"),
    ("multiStoneSuicideLegals", "false,maybe"),
    ("bSizes", "9,20"),
    ("bSizes", "1"),
    ("bSizeRelProbs", "1,-1"),
    ("komiMean", "7.25"),
    ("komiMean", "401"),
    ("komiStdev", "61"),
    ("komiAllowIntegerProb", "1.1"),
    ("maxMovesPerGame", "-1"),
    ("earlyForkGameProb", "0.6"),
    ("forkGameMinChoices", "0"),
    ("cheapSearchProb", "2"),
    ("cheapSearchVisits", "0"),
    ("reduceVisits", "1"),
    ("reduceVisitsThreshold", "1"),
    ("reduceVisitsThresholdLookback", "1001"),
    ("maxAsymmetricRatio", "0.5"),
]


@pytest.mark.parametrize(("key", "value"), OUT_OF_RANGE)
def test_values_of_the_wrong_type_or_out_of_range(key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=rf"^line \d+: {key}: "):
        parse_selfplay(with_changes(SELFPLAY, **{key: value}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bSizes": None}, "exactly one of bSizes and bSizesXY"),
        ({"bSizesXY": "9-13"}, "exactly one of bSizes and bSizesXY"),
        ({"bSizes": "9,13"}, "bSizeRelProbs: 11 weights for 2 board sizes"),
        ({"bSizes": "9", "bSizeRelProbs": "0"}, "at least one weight must be positive"),
        ({"bSizes": None, "bSizesXY": "9-1", "bSizeRelProbs": "1"}, "bSizesXY: sides must be within 2 to 19"),
        ({"bSizes": None, "bSizesXY": "9x13", "bSizeRelProbs": "1"}, "'9x13' is not a size such as 9-13"),
        ({"bSizes": None, "bSizesXY": "9-13", "bSizeRelProbs": "1", "allowRectangleProb": "0.1"}, "allowRectangleProb"),
        ({"komiMean": None}, "exactly one of komiMean and komiAuto"),
        ({"scoringRules": "TERRITORY", "hasButtons": "true"}, "hasButtons: true needs AREA"),
        ({"cheapSearchVisits": "601"}, "cheapSearchVisits = 601 is more than maxVisits = 600"),
        ({"reducedVisitsMin": "601"}, "reducedVisitsMin = 601 is more than maxVisits = 600"),
        ({"policySurpriseDataWeight": "0.95"}, "together are more than 1"),
        ({"forkGameMinChoices": "11"}, "forkGameMinChoices = 11 is more than"),
        ({"numBots": "2"}, r"line \d+: numBots = 2: at most 1"),
        ({"hintPosesDir": "/etc"}, "hintPosesDir names files of one machine"),
    ],
)
def test_contradictions(changes: dict[str, str | None], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_selfplay(with_changes(SELFPLAY, **changes))


def test_boards_fit_the_tensors_of_the_run() -> None:
    with pytest.raises(ConfigError, match="19 is larger than the run's data_board_len 13"):
        parse_selfplay(SELFPLAY, data_board_len=13)
    with pytest.raises(ConfigError, match="larger than the run's data_board_len 9"):
        parse_match(MATCH, data_board_len=9)


def test_every_key_is_played() -> None:
    assert not parameters.PLAYABLE


@pytest.mark.parametrize(
    ("key", "allowed", "value"), [("scaleDataWeight", 1.0, "2"), ("sidePositionProb", 0.0, "0.25")]
)
def test_what_cannot_be_played_is_refused_by_its_key(
    key: str, allowed: float, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parse_selfplay(with_changes(SELFPLAY, **{key: value}))
    monkeypatch.setattr(parameters, "PLAYABLE", {key: (allowed,)})
    parse_selfplay(with_changes(SELFPLAY, **{key: f"{allowed:g}"}))
    problem = rf"{key} = {value} is not supported yet; write {key} = {allowed:g}"
    with pytest.raises(ConfigError, match=r"line \d+: " + problem):
        parse_selfplay(with_changes(SELFPLAY, **{key: value}))
    with pytest.raises(ConfigError, match=f"override: {problem}"):
        parse_selfplay(SELFPLAY, overrides=f"{key}={value}")


REANALYSIS = {
    "reanalyzeProp": "0.25",
    "reanalyzePolicySurpriseWeight": "1",
    "reanalyzeValueSurpriseWeight": "2",
    "reanalyzeSurpriseExponent": "0.5",
    "reanalyzeUseOutcomeTargets": "false",
}


def test_reanalysis_needs_its_keys() -> None:
    config = parse_selfplay(with_changes(SELFPLAY, useReanalyze="true", **REANALYSIS))
    assert config.selfplay.reanalyze_prop == 0.25
    assert config.selfplay.reanalyze_use_outcome_targets is False
    assert parse_selfplay(config.to_text()) == config
    for key in REANALYSIS:
        fewer = {other: value for other, value in REANALYSIS.items() if other != key}
        with pytest.raises(ConfigError, match=f"useReanalyze = true needs it: {key} is missing"):
            parse_selfplay(with_changes(SELFPLAY, useReanalyze="true", **fewer))
        parse_selfplay(with_changes(SELFPLAY, **fewer))
    with pytest.raises(ConfigError, match="reanalyzeProp: "):
        parse_selfplay(with_changes(SELFPLAY, **REANALYSIS | {"reanalyzeProp": "1.5"}))


def test_files_of_rows() -> None:
    files = parse_row_files("maxRowsPerTrainFile = 10000\nfirstFileRandMinProp = 0.15\n" + SELFPLAY)
    assert (files.max_rows_per_train_file, files.first_file_rand_min_prop) == (10000, 0.15)
    assert parse_row_files(SELFPLAY).max_rows_per_train_file == 20000
    assert parse_selfplay(SELFPLAY + "maxRowsPerTrainFile = 0\n").warnings == ()
    with pytest.raises(ConfigError, match="line 1: maxRowsPerTrainFile"):
        parse_row_files("maxRowsPerTrainFile = 0\n")


def test_an_asymmetric_game_leaves_both_sides_a_search() -> None:
    uneven = {"normalAsymmetricPlayoutProb": "0.1", "cheapSearchVisits": "20", "reducedVisitsMin": "20"}
    assert (
        parse_selfplay(with_changes(SELFPLAY, **uneven, maxAsymmetricRatio="7.5")).selfplay.max_asymmetric_ratio == 7.5
    )
    too_uneven = with_changes(SELFPLAY, **uneven, maxAsymmetricRatio="8")
    with pytest.raises(ConfigError, match="maxAsymmetricRatio = 8 leaves one side 4 of 20 visits"):
        parse_selfplay(too_uneven)
    parse_selfplay(too_uneven, to_be_played=False)
    parse_selfplay(with_changes(SELFPLAY, **uneven | {"normalAsymmetricPlayoutProb": "0"}, maxAsymmetricRatio="8"))


def test_the_clock_rules_no_game_of_selfplay() -> None:
    by_time = with_changes(SELFPLAY, maxTime="2.5")
    with pytest.raises(ConfigError, match=r"maxTime = 2\.5: games of self-play may not depend on how fast"):
        parse_selfplay(by_time)
    assert parse_selfplay(by_time, to_be_played=False).search.max_time == 2.5
    assert parse_match(with_changes(MATCH, maxTime1="2.5")).bots[1].max_time == 2.5


@dataclass(frozen=True)
class EngineSettings:
    """What some engine adds to the search's parameters."""

    answer: Annotated[int, Key("answer", integer(0, 100))] = 42


def engine(overrides: str) -> EngineConfig[EngineSettings]:
    return read_engine(EngineSettings, engine_entries("gtp"), config_text.parse_overrides(overrides))


def test_optimism_at_the_root_where_a_text_is_silent() -> None:
    assert parse_selfplay(with_changes(SELFPLAY, policyOptimism="1", rootPolicyOptimism=None)).search == (
        parse_selfplay(with_changes(SELFPLAY, policyOptimism="1", rootPolicyOptimism="0")).search
    )
    for overrides, root in (("", 0.2), ("policyOptimism=0", 0.0), ("policyOptimism=0.1", 0.1)):
        assert engine(overrides).search.root_policy_optimism == root
    assert engine("policyOptimism=1,rootPolicyOptimism=0.7").search.root_policy_optimism == 0.7


def test_the_player_of_an_advantage() -> None:
    assert parse_selfplay(SELFPLAY).search.playout_doubling_advantage_pla is None
    config = parse_selfplay(with_changes(SELFPLAY, playoutDoublingAdvantagePla="White"))
    assert config.search.playout_doubling_advantage_pla == WHITE
    assert parse_selfplay(config.to_text()) == config
    with pytest.raises(ConfigError, match="'GREY' is neither BLACK nor WHITE"):
        parse_selfplay(with_changes(SELFPLAY, playoutDoublingAdvantagePla="GREY"))


def test_graph_search_and_subtree_value_bias_are_read() -> None:
    changes = {"useGraphSearch": "true", "graphSearchRepBound": "5", "graphSearchCatchUpLeakProb": "0.25"}
    search = parse_selfplay(with_changes(SELFPLAY, **changes, subtreeValueBiasFactor="0.3")).search
    assert (search.use_graph_search, search.graph_search_rep_bound) == (True, 5)
    assert (search.graph_search_catch_up_leak_prob, search.subtree_value_bias_factor) == (0.25, 0.3)
    silent = parse_selfplay(with_changes(SELFPLAY, useGraphSearch=None, subtreeValueBiasFactor=None)).search
    assert (silent.use_graph_search, silent.subtree_value_bias_factor) == (False, 0.45)
    for bad in ("2", "51"):
        with pytest.raises(ConfigError, match="graphSearchRepBound"):
            parse_selfplay(with_changes(SELFPLAY, graphSearchRepBound=bad))


def test_match_only_refusals() -> None:
    with pytest.raises(ConfigError, match=r"drawRandRadius = 0\.5 is for self-play only"):
        parse_match(with_changes(MATCH, drawRandRadius="0.5"))
    with pytest.raises(ConfigError, match="initGamesWithPolicy = true needs policyInitAreaProp, above 0"):
        parse_match(with_changes(MATCH, initGamesWithPolicy="true"))
    for low, high in (("dynamicSelfKomiBonusMin", "BonusMax"), ("dynamicSelfKomiWinLossMin", "WinLossMax")):
        with pytest.raises(ConfigError, match=f"{low} is more than dynamicSelfKomi{high}"):
            parse_match(with_changes(MATCH, **{low: "1", f"dynamicSelfKomi{high}": "0"}))
    with pytest.raises(ConfigError, match="clearBotBeforeSearch = true is not supported yet"):
        parse_match(with_changes(MATCH, clearBotBeforeSearch="true"))
    with pytest.raises(ConfigError, match=r"resignThreshold: 0\.9 is not within -1 to 0"):
        parse_match(with_changes(MATCH, resignThreshold="0.9"))
    assert parse_match(with_changes(MATCH, numBots="2")).warnings == ()


def test_keys_of_one_bot() -> None:
    text = with_changes(MATCH, maxVisits1="50", maxVisits0="70")
    match = parse_match(text)
    assert [bot.max_visits for bot in match.bots] == [70, 50]
    assert parse_match(match.to_text()) == match
    assert parse_selfplay(with_changes(SELFPLAY, maxVisits="500", maxVisits0="400")).search.max_visits == 400
    only = with_changes(MATCH, maxVisits=None, maxVisits0="10", maxVisits1="20")
    assert [bot.max_visits for bot in parse_match(only).bots] == [10, 20]


def test_defaults_that_depend_on_other_keys() -> None:
    quiet = with_changes(SELFPLAY, rootFpuReductionMax=None, rootNoiseEnabled="false")
    assert parse_selfplay(quiet).search.root_fpu_reduction_max == 0.1
    noisy = with_changes(SELFPLAY, rootFpuReductionMax=None, fpuLossProp="0.3")
    assert parse_selfplay(noisy).search.root_fpu_reduction_max == 0.0
    assert parse_selfplay(noisy).search.root_fpu_loss_prop == 0.3
    early = with_changes(SELFPLAY, rootPolicyTemperatureEarly=None, rootPolicyTemperature="1.2")
    assert parse_selfplay(early).search.root_policy_temperature_early == 1.2


def test_unknown_keys_are_reported_and_those_of_the_machine_are_not() -> None:
    config = parse_selfplay(SELFPLAY + "\ncpuctExploraton = 2\nnnCacheSizePowerOfTwo = 20\ncudaUseFP16 = auto\n")
    assert len(config.warnings) == 1
    assert re.fullmatch(
        r"line \d+: unknown key cpuctExploraton is ignored; is it cpuctExploration\?", config.warnings[0]
    )


def test_a_misspelt_key_is_named_before_what_it_leaves_missing() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_selfplay(with_changes(SELFPLAY, maxVisits=None, maxVisitz="5"))
    first, second = str(caught.value).splitlines()
    assert re.fullmatch(r"line \d+: unknown key maxVisitz; is it maxVisits\?", first)
    assert second == "maxVisits is missing, it must be given"
    with pytest.raises(ConfigError, match=r"^line \d+: unknown key maxVisitz; is it maxVisits\?\nmaxVisits is missing"):
        parse_match(with_changes(MATCH, maxVisits=None, maxVisitz="5"))


def test_an_old_name_is_read() -> None:
    text = with_changes(SELFPLAY, sidePositionProb=None, forkSidePositionProb="0")
    config = parse_selfplay(text)
    assert config.selfplay.side_position_prob == 0
    assert config.warnings == ()


def test_overrides_win() -> None:
    config = parse_selfplay(SELFPLAY, overrides="maxVisits=700,taxRules=NONE,ALL,scoringRules=TERRITORY")
    assert config.search.max_visits == 700
    assert config.init.tax_rules == (Tax.NONE, Tax.ALL)
    assert config.init.scoring_rules == (Scoring.TERRITORY,)


def test_rectangles() -> None:
    text = with_changes(SELFPLAY, bSizes=None, bSizesXY="9-13,7-7", bSizeRelProbs="1,2")
    config = parse_selfplay(text)
    assert config.init.b_sizes_xy == ((9, 13), (7, 7))
    assert config.init.longest_side == 13
    assert parse_selfplay(config.to_text()) == config


@pytest.mark.parametrize("group", [SearchParameters, GameInitParameters, SelfplayParameters, MatchParameters])
def test_the_table_of_keys(group: type[Any]) -> None:
    keys = keys_of(group)
    names = [key.name for key in keys.values()]
    assert len(set(names)) == len(names)
    for field, key in keys.items():
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key.name).lower()
        assert field == snake, "a field is its key in snake case"


def test_settings_of_an_engine() -> None:
    config = engine("maxVisits=33,answer=7")
    assert (config.search.max_visits, config.settings.answer) == (33, 7)
    assert (config.search.cpuct_exploration_log, config.search.dynamic_score_utility_factor) == (0.45, 0.3)
    assert engine("").settings.answer == 42
    assert engine("question=1").unknown == ("question",)


@pytest.mark.parametrize("boards", ["7x7", "9-19"])
def test_a_text_of_changes_is_completed_by_ours(boards: Literal["7x7", "9-19"]) -> None:
    for kind in get_args(TextKind):
        changes = (CONFIGS / f"{kind}_{boards}.cfg").read_text(encoding="utf-8")
        whole, from_base = completed(kind, changes)
        assert whole == default_text(kind, boards)
        assert from_base == len(config_text.parse(whole)) - len(config_text.parse(changes))
        assert completed(kind, whole) == (whole, 0)


@pytest.mark.parametrize(
    ("changes", "gone"),
    [
        ("bSizesXY = 9-7,7-7\nbSizeRelProbs = 1,2\n", {"bSizes", "allowRectangleProb"}),
        ("forkSidePositionProb = 0\n", {"sidePositionProb"}),
        ("maxVisits = 700\n", set()),
        ("# nothing\n", set()),
    ],
)
def test_a_change_puts_its_key_in_the_place_of_others(changes: str, gone: set[str]) -> None:
    whole, _ = completed("selfplay", changes)
    parse_selfplay(whole)
    given, base = set(config_text.parse(changes)), set(config_text.parse(base_text("selfplay")))
    assert set(config_text.parse(whole)) == (base | given) - gone


def test_changes_are_checked_in_their_own_lines() -> None:
    with pytest.raises(ConfigError) as caught:
        completed("selfplay", "maxVisits = many\nmaxVisit = 5\nuseReanalyze = 7\nstartPosesProb = 1\n")
    found = [line.partition(":")[0] for line in str(caught.value).splitlines()]
    assert found == ["line 2", "line 1", "line 3", "line 4"]


SEARCH_KEYS = re.findall(
    r"\w+",
    """
maxVisits maxPlayouts maxTime maxVisitsPondering maxPlayoutsPondering maxTimePondering lagBuffer
winLossUtilityFactor staticScoreUtilityFactor dynamicScoreUtilityFactor dynamicScoreCenterZeroWeight
dynamicScoreCenterScale noResultUtilityForWhite drawEquivalentWinsForWhite cpuctExploration cpuctExplorationLog
cpuctExplorationBase cpuctUtilityStdevPrior cpuctUtilityStdevPriorWeight cpuctUtilityStdevScale fpuReductionMax
fpuLossProp fpuParentWeightByVisitedPolicy fpuParentWeightByVisitedPolicyPow fpuParentWeight rootFpuReductionMax
rootFpuLossProp valueWeightExponent useNoisePruning noisePruneUtilityScale noisePruningCap useUncertainty
uncertaintyCoeff uncertaintyExponent uncertaintyMaxWeight useGraphSearch graphSearchRepBound
graphSearchCatchUpLeakProb policyOptimism rootPolicyOptimism rootNoiseEnabled
rootDirichletNoiseTotalConcentration rootDirichletNoiseWeight rootPolicyTemperatureEarly rootPolicyTemperature
rootNumSymmetriesToSample rootSymmetryPruning rootDesiredPerChildVisitsCoeff chosenMoveTemperatureEarly
chosenMoveTemperature chosenMoveTemperatureHalflife chosenMoveTemperatureOnlyBelowProb chosenMoveSubtract
chosenMovePrune useLcbForSelection lcbStdevs minVisitPropForLCB useNonBuggyLcb rootEndingBonusPoints
rootPruneUselessMoves conservativePass fillDameBeforePass enablePassingHacks enableMorePassingHacks
wideRootNoise ignorePreRootHistory ignoreAllHistory subtreeValueBiasFactor subtreeValueBiasWeightExponent
subtreeValueBiasFreeProp nnPolicyTemperature playoutDoublingAdvantage playoutDoublingAdvantagePla
numVirtualLossesPerThread numSearchThreads minPlayoutsPerThread searchFactorAfterOnePass
searchFactorAfterTwoPass searchFactorWhenWinning searchFactorWhenWinningThreshold treeReuseCarryOverTimeFactor
overallocateTimeFactor midgameTimeFactor midgameTurnPeakTime endgameTurnTimeDecay obviousMovesTimeFactor
obviousMovesPolicyEntropyTolerance obviousMovesPolicySurpriseTolerance futileVisitsThreshold antiMirror
""",
)
"""All keys of the table in search.md 15 but nodeTableShardsPowerOfTwo, which divides a table that we have not."""


def test_every_key_of_a_search_is_played() -> None:
    known = {key.name for kind in (SearchParameters, ThinkingParameters) for key in keys_of(kind).values()}
    assert set(SEARCH_KEYS) <= known
    assert not set(SEARCH_KEYS) & parameters.PLAYABLE.keys()


def test_every_key_of_the_specification_has_its_place() -> None:
    """Read, refused or passed over with a reason: the names in the tables of search.md 15 and selfplay.md 12."""
    spec = ROOT / "docs" / "spec"
    tables = (spec / "search.md").read_text(encoding="utf-8").partition("## 15.")[2].partition("## 16.")[0]
    tables += (spec / "selfplay.md").read_text(encoding="utf-8").partition("## 12.")[2]
    first_cells = "\n".join(line.split("|")[1] for line in tables.splitlines() if line.startswith("| "))
    names = set(re.findall(r"(?<![\w…])[a-z]+[A-Z]\w*", first_cells))
    assert len(names) > 150
    classes = (SearchParameters, ThinkingParameters, GameInitParameters, SelfplayParameters, MatchParameters)
    known = {name for kind in classes for key in keys_of(kind).values() for name in (key.name, key.old_name)}
    rest = names - known - set(parameters.REFUSED_KEYS)
    assert {
        name for name in rest if not any(re.fullmatch(pattern, name) for pattern in parameters.PASSED_OVER)
    } == set()
    assert all(parameters.PASSED_OVER.values())


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("selfplay", {"static_score_utility_factor": 0.05, "cpuct_exploration_log": 0.28, "root_noise_enabled": True}),
        ("gating", {"cpuct_utility_stdev_scale": 0.85, "use_uncertainty": True, "subtree_value_bias_factor": 0.45}),
    ],
)
def test_the_texts_of_today(name: Any, columns: dict[str, object]) -> None:
    """A few values of each column of search.md 15; the texts lie over the paper's, and every key of them holds."""
    change = (CONFIGS / f"{name}_today.cfg").read_text(encoding="utf-8")
    whole, taken = completed(name, change)
    assert taken > 20
    config = parse_selfplay(whole) if name == "selfplay" else parse_match(whole)
    search = config.search if isinstance(config, parameters.SelfplayConfig) else config.bots[1]
    assert config.warnings == ()
    assert search.use_graph_search
    assert {field: getattr(search, field) for field in columns} == columns
