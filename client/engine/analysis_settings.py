"""The settings of the analysis engine: out of our text, the user's, the command line's and a request's, in this order.

Knows no request and no search. Specification: engine.md 9, 10 (``overrideSettings``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Final

from common.config_text import ConfigError, Entry
from common.parameter_kinds import BOOLEAN, TEXT, Key, choice, integer, number
from common.parameters import EngineConfig, SearchParameters, engine_entries, keys_of, read_engine
from common.precision import Precision

BASE: Final = "analysis"
"""The text that comes with the project, which all others are laid over."""
OLD_NAMES: Final[Mapping[str, str]] = {"numSearchThreadsPerAnalysisThread": "numSearchThreads"}
"""Other names of keys that KataGo's analysis engine reads; they win."""
MAX_OVERRIDDEN: Final = 64
"""Sets of overridden settings that are kept as they were read: an interface sends the same ones again and again."""


UNCHANGEABLE: Final = frozenset({"useEvalCache", "nodeTableShardsPowerOfTwo"})
"""Keys that a request is refused for."""


class Perspective(StrEnum):
    """Whose view the answers take."""

    SIDE_TO_MOVE = "sidetomove"
    BLACK = "black"
    WHITE = "white"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisSettings:
    """Settings of the engine beside its search (engine.md 9)."""

    num_analysis_threads: Annotated[int, Key("numAnalysisThreads", integer(1, 4096))]  # positions at once
    pv_length: Annotated[int, Key("analysisPVLen", integer(1, 100))] = 15  # moves after the first
    perspective: Annotated[Perspective, Key("reportAnalysisWinratesAs", choice(Perspective))] = Perspective.SIDE_TO_MOVE
    assume_black_moves_are_handicap: Annotated[bool, Key("assumeMultipleStartingBlackMovesAreHandicap", BOOLEAN)] = True
    prevent_cleanup_phase: Annotated[bool, Key("preventCleanupPhase", BOOLEAN)] = True
    warn_unused_fields: Annotated[bool, Key("warnUnusedFields", BOOLEAN)] = True
    log_requests: Annotated[bool, Key("logAllRequests", BOOLEAN)] = False  # all logs go to stderr
    log_responses: Annotated[bool, Key("logAllResponses", BOOLEAN)] = False
    log_errors: Annotated[bool, Key("logErrorsAndWarnings", BOOLEAN)] = True
    log_search: Annotated[bool, Key("logSearchInfo", BOOLEAN)] = False
    use_fp16: Annotated[Precision, Key("useFP16", choice(Precision))] = Precision.FASTEST
    device: Annotated[str, Key("device", TEXT)] = "cpu"  # or cuda with a number
    cache_power: Annotated[int, Key("nnCacheSizePowerOfTwo", integer(-1, 48))] = 16  # entries; -1: no cache
    tree_memory: Annotated[float, Key("treeMemoryGB", number(0.01, 1e4))] = 4.0  # of all trees of an edge together


AnalysisConfig = EngineConfig[AnalysisSettings]
_FIXED: Final = frozenset(key.name for name, key in keys_of(AnalysisSettings).items() if name != "perspective")
"""Keys of the engine as a whole, which mean nothing in a request."""


class SettingsReader:
    """Reads settings, and those of a request over them.

    Args:
        layers: entries of the user's text and of the command line, the later ones over the earlier.

    Raises:
        ConfigError: a value that does not hold.
    """

    def __init__(self, *layers: Mapping[str, Entry]) -> None:
        self._layers = [engine_entries(BASE), *(_by_present_names(layer) for layer in layers)]
        self.config = read_engine(AnalysisSettings, *self._layers)
        self._read = lru_cache(MAX_OVERRIDDEN)(self._read_changes)

    def overridden(self, changes: Mapping[str, str]) -> AnalysisConfig:
        """The settings with ``changes`` by KataGo's keys; ``unknown`` are those of ``changes`` alone.

        Raises:
            ConfigError: a value that does not hold, or that cannot change while the engine runs.
        """
        return self._read(tuple(changes.items()))

    def _read_changes(self, changes: tuple[tuple[str, str], ...]) -> AnalysisConfig:
        layer = _by_present_names({key: Entry(value, "overrideSettings") for key, value in changes})
        for key in UNCHANGEABLE & layer.keys():
            raise ConfigError(f"Cannot change {key} after initialization")
        fixed = {key: layer.pop(key) for key in _FIXED & layer.keys()}
        found = read_engine(AnalysisSettings, *self._layers, layer)
        return dataclasses.replace(found, unknown=(*fixed, *(key for key in found.unknown if key in layer)))


def with_root_temperature(search: SearchParameters, temperature: float) -> SearchParameters:
    """The same search with one root policy temperature for all turns."""
    return dataclasses.replace(search, root_policy_temperature=temperature, root_policy_temperature_early=temperature)


def _by_present_names(layer: Mapping[str, Entry]) -> dict[str, Entry]:
    present = {key: entry for key, entry in layer.items() if key not in OLD_NAMES}
    return present | {OLD_NAMES[key]: entry for key, entry in layer.items() if key in OLD_NAMES}
