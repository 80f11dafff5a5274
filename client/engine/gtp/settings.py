"""The settings of the GTP engine beside its search, and what of all settings a session may change (engine.md 2, 3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Annotated, Any, Final

from client.engine.analysis_settings import Perspective
from common.config_text import ConfigError, Entry
from common.go.rules import Rules
from common.parameter_classes import FOREVER, UNLIMITED
from common.parameter_kinds import BOOLEAN, TEXT, Key, Kind, choice, integer, number
from common.parameters import (
    EngineConfig,
    SearchParameters,
    ThinkingParameters,
    engine_entries,
    keys_of,
    read_engine,
)
from common.precision import Precision

BASE: Final = "gtp"
"""The text that comes with the project, which all others are laid over."""
LIMITS: Final = ("maxVisits", "maxPlayouts", "maxTime")
"""Who gives one of these does not want that of our text."""


_DEFAULT_RULES: Final = Rules()


class Switch(StrEnum):
    """On, off, or as the rules have it."""

    AUTO = "auto"
    ON = "true"
    OFF = "false"


def _no_profile(text: str) -> str:
    if text:
        raise ValueError("nets that imitate people are not played; leave it empty")
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class GtpSettings(ThinkingParameters):
    """Settings of the engine beside its search (engine.md 3, 4, 8)."""

    name: Annotated[str, Key("gtpName", TEXT)] = "Tengen"
    rules: Annotated[Rules, Key("rules", Kind(Rules.parse, lambda rules: rules.to_short()))] = _DEFAULT_RULES
    use_fp16: Annotated[Precision, Key("useFP16", choice(Precision))] = Precision.FASTEST
    tree_memory: Annotated[float, Key("treeMemoryGB", number(0.01, 1e4))] = 2.0  # of all trees of a board size
    cache_power: Annotated[int, Key("nnCacheSizePowerOfTwo", integer(-1, 48))] = 16  # entries; -1: no cache
    prevent_cleanup_phase: Annotated[bool, Key("preventCleanupPhase", BOOLEAN)] = True
    assume_black_moves_are_handicap: Annotated[bool, Key("assumeMultipleStartingBlackMovesAreHandicap", BOOLEAN)] = True
    ogs_chat: Annotated[bool, Key("ogsChatToStderr", BOOLEAN)] = False
    # -- giving up --
    allow_resignation: Annotated[bool, Key("allowResignation", BOOLEAN)] = True
    resign_threshold: Annotated[float, Key("resignThreshold", number(-1, 0))] = -0.9  # of winLoss
    resign_consec_turns: Annotated[int, Key("resignConsecTurns", integer(1, 100))] = 3
    resign_min_score_difference: Annotated[float, Key("resignMinScoreDifference", number(0, 1000))] = 0.0  # points
    resign_min_moves_per_area: Annotated[float, Key("resignMinMovesPerBoardArea", number(0, 1))] = 0.0
    # -- passing --
    friendly_pass: Annotated[Switch, Key("friendlyPass", choice(Switch))] = Switch.AUTO
    cleanup_before_pass: Annotated[Switch, Key("cleanupBeforePass", choice(Switch))] = Switch.AUTO
    # -- thinking --
    dynamic_advantage_cap: Annotated[float, Key("dynamicPlayoutDoublingAdvantageCapPerOppLead", number(0, 0.5))] = 0.045
    genmove_anti_mirror: Annotated[bool, Key("genmoveAntiMirror", BOOLEAN)] = True
    pondering: Annotated[bool, Key("ponderingEnabled", BOOLEAN)] = False
    delay_scale: Annotated[float, Key("delayMoveScale", number(0, 10000))] = 0.0  # seconds
    delay_most: Annotated[float, Key("delayMoveMax", number(0, 1e6))] = 1e6  # seconds
    # -- analysis --
    analysis_wide_root_noise: Annotated[float, Key("analysisWideRootNoise", number(0, 5))] = 0.04
    analysis_ignore_history: Annotated[bool, Key("analysisIgnorePreRootHistory", BOOLEAN)] = True
    analysis_pv_length: Annotated[int, Key("analysisPVLen", integer(1, 100))] = 13  # moves after the first
    perspective: Annotated[Perspective, Key("reportAnalysisWinratesAs", choice(Perspective))] = Perspective.SIDE_TO_MOVE
    human_profile: Annotated[str, Key("humanSLProfile", Kind(_no_profile, str))] = ""


GtpConfig = EngineConfig[GtpSettings]

_CHANGEABLE: Final = (
    "allowResignation", "analysisIgnorePreRootHistory", "analysisWideRootNoise", "delayMoveMax", "delayMoveScale",
    "genmoveAntiMirror", "humanSLProfile", "ponderingEnabled",
)  # fmt: skip
"""Keys of `GtpSettings`, beside those of thinking, that a session may change; of a search it may change all."""


def settable() -> dict[str, tuple[Any, str]]:
    """By key what a session may change: the class that it is of, and the field."""
    found: dict[str, tuple[Any, str]] = {}
    for kind in (SearchParameters, GtpSettings):
        for field, key in keys_of(kind).items():
            if kind is SearchParameters or key.name in _CHANGEABLE or field in keys_of(ThinkingParameters):
                found[key.name] = kind, field
    return dict(sorted(found.items()))


class UnknownParameterError(LookupError):
    """A key that there is not, or that cannot change."""


class Parameters:
    """The settings as they are, and changes of them.

    Args:
        layers: entries of the user's texts and of the command line, the later ones over the earlier.

    Raises:
        ConfigError: a value that does not hold.
    """

    def __init__(self, *layers: Mapping[str, Entry]) -> None:
        base = engine_entries(BASE)
        if any(name in layer for layer in layers for name in LIMITS):
            base["maxVisits"] = Entry(str(UNLIMITED), base["maxVisits"].place)
        self._layers = [base, *layers]
        self._changes: dict[str, Entry] = {}
        self._settable = settable()
        self.config: GtpConfig = read_engine(GtpSettings, *self._layers)

    @property
    def names(self) -> list[str]:
        """The keys that can be changed."""
        return list(self._settable)

    def is_given(self, name: str) -> bool:
        """Whether the user, or the session, has set a key."""
        return any(name in layer for layer in (*self._layers[1:], self._changes))

    @property
    def is_limited(self) -> bool:
        """Whether the settings end a search (else only a clock does)."""
        search = self.config.search
        return (search.max_visits, search.max_playouts, search.max_time) != (UNLIMITED, UNLIMITED, FOREVER)

    def value(self, name: str) -> Any:
        """A value as JSON has it.

        Raises:
            UnknownParameterError: there is no such key.
        """
        if name not in self._settable:
            raise UnknownParameterError(name)
        kind, field = self._settable[name]
        value = getattr(self.config.search if kind is SearchParameters else self.config.settings, field)
        return value.value if isinstance(value, Enum) else value

    def text(self, name: str) -> str:
        """A value as a line shows it; UnknownParameterError as `value`."""
        value = self.value(name)
        return value if isinstance(value, str) else json.dumps(value)

    def change(self, changes: Mapping[str, str]) -> None:
        """Change values, all or none, for the rest of the session.

        Raises:
            UnknownParameterError: a key that there is not, or that cannot change.
            ConfigError: a value that does not hold.
        """
        for name in changes:
            if name not in self._settable:
                raise UnknownParameterError(name)
        added = self._changes | {name: Entry(value, "kata-set-param") for name, value in changes.items()}
        self.config = read_engine(GtpSettings, *self._layers, added)
        self._changes = added


def problems_in_a_line(error: ConfigError) -> str:
    """All that is wrong, on one line."""
    return "; ".join(str(error).splitlines())
