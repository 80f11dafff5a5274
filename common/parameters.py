"""The settings of a run's games: typed parameters, read from KataGo's configuration text and written back to it.

One text serves KataGo's client and ours, so the keys, ranges and defaults are KataGo's: spec search.md 15, selfplay.md
12. Where a text is silent the value is the one of KataGo's client under a server ("distributed"). A value that cannot
be played yet is refused by its key's name: `PLAYABLE` is the one table of these, and shrinks as features land.
Knows nothing of how anything is played.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, Literal, TypeVar

from common import config_text
from common.config_text import ConfigError, Entry
from common.go.basics import MAX_LENGTH, MIN_LENGTH
from common.go.rules import Scoring
from common.parameter_classes import (
    FOREVER,
    BotParameters,
    GameInitParameters,
    MatchParameters,
    PairingParameters,
    RowFileParameters,
    SearchParameters,
    SelfplayParameters,
    ThinkingParameters,
    keys_of,
)
from common.parameter_kinds import Key, number_text

__all__ = [
    "CONFIGS",
    "IS_MISSING",
    "PASSED_OVER",
    "PLAYABLE",
    "BotParameters",
    "ConfigError",
    "EngineConfig",
    "GameInitParameters",
    "MatchConfig",
    "MatchParameters",
    "PairingParameters",
    "RowFileParameters",
    "SearchParameters",
    "SelfplayConfig",
    "SelfplayParameters",
    "TextKind",
    "ThinkingParameters",
    "base_text",
    "completed",
    "default_text",
    "engine_entries",
    "ignored",
    "keys_of",
    "parse_bots",
    "parse_match",
    "parse_row_files",
    "parse_selfplay",
    "read_engine",
    "written",
]


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
        values = [written(bot) for bot in self.bots]
        searches = {
            name: text for name, text in values[0].items() if all(other.get(name) == text for other in values[1:])
        }
        for index, bot in enumerate(values):
            searches |= {f"{name}{index}": text for name, text in bot.items() if name not in searches}
        return config_text.write(searches) + "\n" + _text_of(self.init, self.match)


# --------------------------------------------------------------------------------------------------------------------
# What can be played so far
# --------------------------------------------------------------------------------------------------------------------

PLAYABLE: Final[Mapping[str, tuple[object, ...]]] = {}
"""Keys of which only some values can be played, and those values; none: the key has to be left out."""

_MATCH_PLAYABLE: Final[Mapping[str, tuple[object, ...]]] = {
    "clearBotBeforeSearch": (False,),
}

LEAST_UNEVEN_VISITS: Final = 5
"""Of the side with fewer playouts in an asymmetric game."""

ENGINE_ROOT_OPTIMISM: Final = 0.2
"""Most of rootPolicyOptimism in an engine whose text does not give it (search.md 15)."""

REFUSED_KEYS: Final = ("startPosesFromSgfDir", "startPosesProb", "hintPosesDir", "hintPosesProb")
"""Keys that name files of the machine that plays; never taken from a text."""

PASSED_OVER: Final[Mapping[str, str]] = {
    r"nn(?:Cache|MutexPool|MaxBatch|RandSeed)\w*|(?:cuda|trt|opencl|eigen|metal)\w*|numNNServerThreads\w*": (
        "how a program uses its devices and memory is its volunteer's business"
    ),
    r"num(?:Games|GameThreads)\w*|log\w*|homeDataDir": "how many games run, and what is logged, is the command's",
    r"(?:botName|nnModelFile)\d*|numBots|includeBots|secondaryBots|extraPairs\w*": (
        "who plays is the command's; `client match` reads them"
    ),
    r"dataBoardLen|inputsVersion": "the run says them beside the text, or --length of `client selfplay`",
    r"maxDataQueueSize": "rows wait for nobody",
    r"maxRowsPerTrainFile|firstFileRandMinProp": "files of rows are the command's; for a server, games are sent",
    r"nodeTableShardsPowerOfTwo": "a tree is searched by one thread, and its table is whole",
    r"startPoses(?:LoadProb|SgfExcludes|TurnWeightLambda)": "of start positions from files, which no text may name",
}
"""Keys without a meaning here, as patterns, and why; they are passed over without a warning."""

_PASSED_OVER: Final = re.compile("|".join(PASSED_OVER))

TextKind = Literal["selfplay", "gating"]

IS_MISSING: Final = "is missing, it must be given"
"""End of the problem that a required key is not in the text."""

CONFIGS: Final = Path(__file__).parent / "configs"


# --------------------------------------------------------------------------------------------------------------------
# Reading
# --------------------------------------------------------------------------------------------------------------------


def parse_selfplay(
    text: str, *, overrides: str = "", data_board_len: int = MAX_LENGTH, to_be_played: bool = True
) -> SelfplayConfig:
    """Read the text of a self-play task.

    Args:
        text: KataGo configuration text.
        overrides: ``key=value,key=value`` put over it.
        data_board_len: edge of the run's tensors; no board may be larger.
        to_be_played: refuse what our client cannot play; not asked where only a game of others is to be judged.

    Raises:
        ConfigError: the text is malformed; a required key is missing; a value is of the wrong type, out of range, in
            contradiction to another, or not supported yet. All problems are listed, one a line.
    """
    reader = _Reader(config_text.parse(text) | config_text.parse_overrides(overrides))
    search = reader.read(SearchParameters, bot=0)
    init = reader.read(GameInitParameters)
    selfplay = reader.read(SelfplayParameters)
    reader.check_bots(most=1)
    if to_be_played:
        reader.check_playable(PLAYABLE)
    if to_be_played and search is not None and search.max_time < FOREVER:
        reader.problems.append(
            f"maxTime = {number_text(search.max_time)}: games of self-play may not depend on how fast a machine is; "
            "limit their searches by maxVisits"
        )
    if init is not None:
        reader.problems += _init_problems(init, data_board_len)
    if search is not None and selfplay is not None:
        reader.problems += _selfplay_problems(search, selfplay)
        if to_be_played:
            reader.problems += _asymmetry_problems(search, selfplay)
    reader.finish()
    assert search is not None
    assert init is not None
    assert selfplay is not None
    return SelfplayConfig(search=search, init=init, selfplay=selfplay, warnings=reader.warnings())


def parse_match(
    text: str,
    *,
    overrides: str = "",
    data_board_len: int = MAX_LENGTH,
    num_bots: int = 2,
    to_be_played: bool = True,
) -> MatchConfig:
    """Read the text of a rating task or of a match between ``num_bots`` bots.

    A key with a bot's index at its end (``maxVisits1``) holds for that bot only. Arguments and errors otherwise as
    for `parse_selfplay`.
    """
    reader = _Reader(config_text.parse(text) | config_text.parse_overrides(overrides))
    bots = [reader.read(SearchParameters, bot=bot) for bot in range(num_bots)]
    init = reader.read(GameInitParameters)
    match = reader.read(MatchParameters)
    reader.check_bots(most=num_bots)
    if to_be_played:
        reader.check_playable(PLAYABLE)
        reader.check_playable(_MATCH_PLAYABLE)
    if init is not None:
        reader.problems += _init_problems(init, data_board_len)
        for name, value in (("drawRandRadius", init.draw_rand_radius), ("noResultStdev", init.no_result_stdev)):
            if value != 0.0:
                reader.problems.append(f"{name} = {number_text(value)} is for self-play only; KataGo aborts on it here")
    if match is not None:
        reader.problems += _match_problems(match)
    reader.finish()
    assert init is not None
    assert match is not None
    played = tuple(bot for bot in bots if bot is not None)
    return MatchConfig(bots=played, init=init, match=match, warnings=reader.warnings())


def parse_bots(
    text: str, *, overrides: str = "", least: int = 2
) -> tuple[PairingParameters, tuple[BotParameters, ...]]:
    """Who the bots of a match are, and who plays whom: as many as the text says, ``least`` at least.

    Arguments and errors otherwise as for `parse_selfplay`.
    """
    reader = _Reader(config_text.parse(text) | config_text.parse_overrides(overrides))
    pairing = reader.read(PairingParameters)
    reader.finish()
    assert pairing is not None
    bots = [reader.read(BotParameters, bot=bot) for bot in range(max(least, pairing.num_bots))]
    return pairing, tuple(bot for bot in bots if bot is not None)


def parse_row_files(text: str) -> RowFileParameters:
    """What a text says of the files of rows that its games are written into; `ConfigError` as `parse_selfplay`."""
    reader = _Reader(config_text.parse(text))
    files = reader.read(RowFileParameters)
    reader.finish()
    assert files is not None
    return files


def read_engine(kind: type[_Parameters], *layers: Mapping[str, Entry]) -> EngineConfig[_Parameters]:
    """Settings of an engine for people out of entries by key, each of the ``layers`` over those before it.

    Args:
        kind: a class of settings beside the search's, whose fields carry a `Key`.
        layers: entries as `common.config_text` gives them, beginning with those of a shipped text (`engine_entries`).

    Raises:
        ConfigError: as `parse_selfplay`. An unknown key is none; `EngineConfig` tells it.
    """
    entries: dict[str, Entry] = {}
    for layer in layers:
        displaced = {other for key in layer for other in _DISPLACED.get(key, ())}
        entries = {key: entry for key, entry in entries.items() if key not in displaced} | dict(layer)
    reader = _Reader(entries)
    search = reader.read(SearchParameters, bot=0)
    settings = reader.read(kind)
    reader.check_playable(PLAYABLE)
    reader.finish()
    assert search is not None
    assert settings is not None
    if "rootPolicyOptimism" not in entries:  # silence means another thing to an engine than under a server
        optimism = min(search.policy_optimism, ENGINE_ROOT_OPTIMISM)
        search = dataclasses.replace(search, root_policy_optimism=optimism)
    return EngineConfig(search=search, settings=settings, warnings=reader.warnings(), unknown=tuple(reader.unknown()))


def engine_entries(name: str) -> dict[str, Entry]:
    """The entries of the engine text ``name``.cfg that comes with the project."""
    return config_text.parse((CONFIGS / f"{name}.cfg").read_text(encoding="utf-8"))


def default_text(kind: TextKind, boards: Literal["7x7", "9-19"]) -> str:
    """A configuration text that comes with the project: the numbers of the paper, for one choice of board sizes."""
    return config_text.overlay(base_text(kind), (CONFIGS / f"{kind}_{boards}.cfg").read_text(encoding="utf-8"))


def base_text(kind: TextKind) -> str:
    """The whole text of that kind that comes with the project; what is given beside it are changes of it."""
    return (CONFIGS / f"{kind}.cfg").read_text(encoding="utf-8")


def completed(kind: TextKind, text: str, base: str | None = None, num_bots: int = 2) -> tuple[str, int]:
    """``text`` itself if it has every key that must be given, else ``base`` with the values of ``text`` over it.

    Args:
        kind: which keys there are.
        text: a whole text, or one that only gives what it changes.
        base: what is changed (default: `base_text`).
        num_bots: how many bots a match may have.

    Returns:
        The whole text, and how many values come from ``base`` (0 if ``text`` is whole).

    Raises:
        ConfigError: ``text`` is malformed or, not being whole, has an unknown key or a value that does not hold, each
            told with its line in ``text``.
    """
    base = base if base is not None else base_text(kind)
    reader = _reader_of(kind, text, num_bots)
    if not any(problem.endswith(IS_MISSING) for problem in reader.problems):
        return text, 0
    reader.check_bots(most=1 if kind == "selfplay" else num_bots)
    reader.check_playable(PLAYABLE, given_only=True)
    reader.problems = [problem for problem in reader.problems if not problem.endswith(IS_MISSING)]
    reader.finish(refuse_unknown=True)
    displaced = {other for key in reader.entries for other in _DISPLACED.get(key, ())}
    whole = config_text.overlay(base, text, without=displaced)
    return whole, len(config_text.parse(whole)) - len(reader.entries)


def ignored(kind: TextKind, text: str, num_bots: int = 2) -> tuple[str, ...]:
    """A sentence for each key of a text that means nothing in it, with its line: perhaps a misspelt one.

    Arguments as of `completed`, which refuses them in a text that is not whole.

    Raises:
        ConfigError: ``text`` is malformed.
    """
    return _reader_of(kind, text, num_bots).warnings()


def _reader_of(kind: TextKind, text: str, num_bots: int) -> _Reader:
    """What has read all that a text of that kind may say."""
    reader = _Reader(config_text.parse(text))
    for bot in range(1 if kind == "selfplay" else num_bots):
        reader.read(SearchParameters, bot=bot)
    reader.read(GameInitParameters)
    reader.read(SelfplayParameters if kind == "selfplay" else MatchParameters)
    return reader


_DISPLACED: Final[Mapping[str, tuple[str, ...]]] = {
    "bSizesXY": ("bSizes", "allowRectangleProb"),
    "bSizes": ("bSizesXY",),
    "komiAuto": ("komiMean",),
    "komiMean": ("komiAuto",),
} | {
    key.old_name: (key.name,)
    for group in (SearchParameters, GameInitParameters, SelfplayParameters, MatchParameters)
    for key in keys_of(group).values()
    if key.old_name is not None
}
"""Keys that may not stand beside the one that is given: what a change puts another in the place of."""


_Parameters = TypeVar("_Parameters")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig(Generic[_Parameters]):
    """Everything that the texts of an engine for people say."""

    search: SearchParameters
    settings: _Parameters
    warnings: tuple[str, ...]
    """What was ignored, one sentence each."""
    unknown: tuple[str, ...]
    """The keys that were ignored."""


def _fields(parameters: type[Any]) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(parameters)


class _Reader:
    """Fills parameter classes from the entries of one text, and collects what is wrong with it."""

    def __init__(self, entries: dict[str, Entry]) -> None:
        self.entries = entries
        self.problems: list[str] = []
        self._used: set[str] = set()
        self._asked: list[str] = []
        self._values: list[tuple[Key, Any, Entry | None]] = []

    def read(self, kind: type[_Parameters], *, bot: int | None = None) -> _Parameters | None:
        """An instance of ``kind``; None after a problem."""
        values: dict[str, Any] = {}
        derived: list[tuple[str, Key]] = []
        keys = keys_of(kind)
        problems_before = len(self.problems)
        for field in _fields(kind):
            key = keys[field.name]
            entry = self._entry(key, bot)
            if entry is not None:
                self._keep(values, field.name, key, self._read_value(key, entry), entry)
            elif key.derived is not None:
                derived.append((field.name, key))
            elif key.required or field.default is dataclasses.MISSING:
                self.problems.append(f"{key.name} {IS_MISSING}")
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
        self._asked.append(key.name)
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
            value = self._read_value(keys_of(PairingParameters)["num_bots"], entry)
            if value is not None and value > most:
                self.problems.append(f"{entry.place}: numBots = {value}: at most {most} can play here")

    def check_playable(self, playable: Mapping[str, tuple[object, ...]], *, given_only: bool = False) -> None:
        """Note each value that cannot be played yet, defaults too unless ``given_only``."""
        for key, value, entry in self._values:
            allowed = playable.get(key.name)
            if allowed is None or value in allowed:
                continue
            text = key.kind.write(value)
            remedies = " or ".join(f"write {key.name} = {key.kind.write(other)}" for other in allowed)
            remedies = remedies or f"leave {key.name} out"
            if entry is not None:
                self.problems.append(f"{entry.place}: {key.name} = {text} is not supported yet; {remedies}")
            elif not given_only:
                self.problems.append(
                    f"{key.name} is not given, and its default {text} is not supported yet; {remedies}"
                )
        for name in REFUSED_KEYS:
            if name in self.entries:
                self.problems.append(f"{self.entries[name].place}: {name} names files of one machine; leave it out")

    def finish(self, *, refuse_unknown: bool = False) -> None:
        """Raise `ConfigError` if there was any problem, unknown keys first: a misspelt one is the cause of the rest."""
        unknown = [f"{self.entries[key].place}: unknown key {key}{self._meant(key)}" for key in self.unknown()]
        if self.problems or (refuse_unknown and unknown):
            raise ConfigError("\n".join(dict.fromkeys(unknown + self.problems)))

    def warnings(self) -> tuple[str, ...]:
        """A sentence for each key that nobody asked for."""
        return tuple(
            f"{self.entries[key].place}: unknown key {key} is ignored{self._meant(key)}" for key in self.unknown()
        )

    def unknown(self) -> list[str]:
        """The keys that nobody asked for, and that are not passed over in silence."""
        return [
            key
            for key in self.entries
            if key not in self._used and not _PASSED_OVER.fullmatch(key) and key not in REFUSED_KEYS
        ]

    def _meant(self, key: str) -> str:
        """A key that was asked for and is spelt much like ``key``, as the end of a sentence."""
        close = difflib.get_close_matches(key, self._asked, n=1, cutoff=0.8)
        return f"; is it {close[0]}?" if close else ""


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
    if selfplay.use_reanalyze:
        for field, key in keys_of(SelfplayParameters).items():
            if field.startswith("reanalyze_") and getattr(selfplay, field) is None:
                problems.append(f"useReanalyze = true needs it: {key.name} {IS_MISSING}")
    if selfplay.record_tree_target_weight > 0 and selfplay.record_tree_threshold is None:
        problems.append(f"recordTreeTargetWeight above 0 needs it: recordTreeThreshold {IS_MISSING}")
    if selfplay.policy_surprise_data_weight + selfplay.value_surprise_data_weight > 1:
        problems.append("policySurpriseDataWeight and valueSurpriseDataWeight together are more than 1")
    for name, most in (
        ("earlyForkGameMaxChoices", selfplay.early_fork_game_max_choices),
        ("forkGameMaxChoices", selfplay.fork_game_max_choices),
    ):
        if selfplay.fork_game_min_choices > most:
            problems.append(f"forkGameMinChoices = {selfplay.fork_game_min_choices} is more than {name} = {most}")
    return problems


def _asymmetry_problems(search: SearchParameters, selfplay: SelfplayParameters) -> list[str]:
    """A side with fewer playouts may get too few for a search."""
    if max(selfplay.handicap_asymmetric_playout_prob, selfplay.normal_asymmetric_playout_prob) == 0.0:
        return []
    visits = [min(search.max_visits, search.max_playouts)]
    visits += [selfplay.cheap_search_visits] if selfplay.cheap_search_prob > 0 else []
    visits += [selfplay.reduced_visits_min] if selfplay.reduce_visits else []
    least = int(min(visits) * 2.0 / (selfplay.max_asymmetric_ratio + 1.0) + 0.5)
    if least >= LEAST_UNEVEN_VISITS:
        return []
    return [
        f"maxAsymmetricRatio = {number_text(selfplay.max_asymmetric_ratio)} leaves one side {least} of {min(visits)} "
        f"visits, and KataGo's client stops at fewer than {LEAST_UNEVEN_VISITS}"
    ]


def _match_problems(match: MatchParameters) -> list[str]:
    problems = []
    if match.init_games_with_policy and match.policy_init_area_prop == 0.0:
        problems.append("initGamesWithPolicy = true needs policyInitAreaProp, above 0")
    if match.dynamic_self_komi_bonus_min > match.dynamic_self_komi_bonus_max:
        problems.append("dynamicSelfKomiBonusMin is more than dynamicSelfKomiBonusMax")
    if match.dynamic_self_komi_win_loss_min > match.dynamic_self_komi_win_loss_max:
        problems.append("dynamicSelfKomiWinLossMin is more than dynamicSelfKomiWinLossMax")
    return problems


# --------------------------------------------------------------------------------------------------------------------
# Writing
# --------------------------------------------------------------------------------------------------------------------


def written(parameters: Any) -> dict[str, str]:
    """Text of each value by key; what is None, an empty list, or cannot be said is left out."""
    values = {}
    for name, key in keys_of(type(parameters)).items():
        value = getattr(parameters, name)
        if value is not None and value != () and value != key.unsaid:
            values[key.name] = key.kind.write(value)
    return values


def _text_of(*groups: Any) -> str:
    return "\n".join(config_text.write(written(group)) for group in groups)
