"""Versions, tokens and parts of the net file format: the words in which `nets.files.records` states the grammar.

What a model version has or lacks is a line of `CAPABILITIES`; the grammar asks for the capability. Numpy only.
Spec: model-format.md 1, 2, 8.
"""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np


class NetFileError(ValueError):
    """A net file that is broken, hostile, or of a kind that is not supported; the text names file and layer."""


# -- versions -------------------------------------------------------------------------------------------------------


class ErrorFormula(enum.Enum):
    """How the short-term errors follow from raw outputs (model-format.md 6.3); m is the multiplier."""

    NONE = enum.auto()
    """There are no such outputs."""
    DIRECT = enum.auto()
    """error = softplus(x); for scores times 10."""
    SOFTPLUS = enum.auto()
    """error² = softplus(x) · m"""
    SQUARED_SOFTPLUS = enum.auto()
    """error² = softplus(x/2)² · m"""


@dataclass(frozen=True)
class Capabilities:
    """What a file of one model version holds."""

    version: int
    misc_outputs: int
    error_formula: ErrorFormula = ErrorFormula.NONE
    activation_kinds: bool = False
    policy_channels: int = 1
    """Of files that do not write the number themselves."""
    optimism: bool = False
    """Channel 1 of the policy is the optimistic one."""
    multipliers: bool = False
    """Written in the header."""
    options: bool = False
    """Option integers in header and trunk, a hidden layer for the pass logit."""
    head_options: bool = False
    """Option integers in the heads, the number of policy channels among them."""


def _capabilities() -> dict[int, Capabilities]:
    table = [Capabilities(8, misc_outputs=4)]
    steps: list[Mapping[str, Any]] = [
        {"misc_outputs": 6, "error_formula": ErrorFormula.DIRECT},
        {"error_formula": ErrorFormula.SOFTPLUS},
        {"activation_kinds": True},
        {"policy_channels": 2, "optimism": True},
        {"multipliers": True},
        {"error_formula": ErrorFormula.SQUARED_SOFTPLUS},
        {"options": True},
        {"policy_channels": 4},
        {"head_options": True, "policy_channels": 2},
    ]
    for step in steps:
        table.append(dataclasses.replace(table[-1], version=table[-1].version + 1, **step))
    return {line.version: line for line in table}


CAPABILITIES: Final[Mapping[int, Capabilities]] = _capabilities()
_OLD_INPUTS: Final = {3: 3, 4: 3, 5: 4, 6: 5, 7: 6}
"""Input feature version of the model versions that KataGo still reads and we do not."""
OLD_SCORE_ERROR: Final = 30.0
"""Multiplier of the short-term score error in files without multipliers."""
DIRECT_SCORE_ERROR: Final = 10.0


def capabilities_of(version: int) -> Capabilities:
    """Capabilities of a model version. NetFileError says why a version is not supported."""
    if version in CAPABILITIES:
        return CAPABILITIES[version]
    if version in _OLD_INPUTS:
        raise NetFileError(
            f"model version {version} needs input features of version {_OLD_INPUTS[version]}; supported are nets with "
            f"version 7 inputs, model versions {min(CAPABILITIES)} to {max(CAPABILITIES)}"
        )
    if 0 <= version < min(_OLD_INPUTS):
        raise NetFileError(f"model version {version} is obsolete; no current engine reads it")
    raise NetFileError(f"model version {version} is unknown; supported are {min(CAPABILITIES)} to {max(CAPABILITIES)}")


# -- tokens ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TokenKind:
    """A kind of token: ``parse`` raises ValueError with the reason; ``form`` writes a value back."""

    what: str
    parse: Callable[[str], Any]
    form: Callable[[Any], str] = str


def _parse_int(low: int, high: int, *, odd: bool = False) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"-?[0-9]{1,18}", text):
            raise ValueError("is not an integer")
        value = int(text)
        if not low <= value <= high:
            raise ValueError(f"is outside {low} to {high}")
        if odd and value % 2 == 0:
            raise ValueError("is not odd")
        return value

    return parse


def _parse_real(*, positive: bool, highest: float = np.inf) -> Callable[[str], float]:
    def parse(text: str) -> float:
        if not re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,4})?", text):
            raise ValueError("is not a finite number")
        value = float(text)
        if not np.isfinite(value) or (positive and value <= 0.0) or value > highest:
            raise ValueError("is not a finite number above 0" if positive else "is out of range")
        return value

    return parse


def _parse_flag(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError("is not 0 or 1")
    return text == "1"


def _parse_model_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,96}", text):
        raise ValueError("is not a model name: at most 96 of A-Z a-z 0-9 _ -")
    return text


def _parse_keyword(*known: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in known:
            raise ValueError(f"is none of {', '.join(known)}")
        return text

    return parse


def _parse_without_metadata(text: str) -> int:
    if text == "1":
        raise ValueError("says that the net needs human-style metadata inputs, which are not supported")
    return _parse_int(0, 0)(text)


MAX_COUNT: Final = 1 << 16
"""Channels, heads, blocks: more is absurd. (The largest nets have about a thousand.)"""
RELU: Final = "ACTIVATION_RELU"

NAME: Final = TokenKind("name", str)
MODEL_NAME: Final = TokenKind("model name", _parse_model_name)
VERSION: Final = TokenKind("model version", _parse_int(0, 10**6))
COUNT: Final = TokenKind("count", _parse_int(1, MAX_COUNT))
COUNT_OR_NONE: Final = TokenKind("count", _parse_int(0, MAX_COUNT))
KERNEL: Final = TokenKind("kernel size", _parse_int(1, 99, odd=True))
FLAG: Final = TokenKind("flag", _parse_flag, lambda value: str(int(value)))
EPSILON: Final = TokenKind("epsilon", _parse_real(positive=True), repr)
RMS_EPSILON: Final = TokenKind("epsilon", _parse_real(positive=True, highest=1.0), repr)
MULTIPLIER: Final = TokenKind("multiplier", _parse_real(positive=True), repr)
REAL: Final = TokenKind("number", _parse_real(positive=True), repr)
METADATA: Final = TokenKind("metadata encoder", _parse_without_metadata)
TIP_KIND: Final = TokenKind("kind of trunk norm", _parse_int(0, 1))
POLICY_CHANNELS: Final = TokenKind("policy channels", _parse_int(2, 4))
ACTIVATION: Final = TokenKind(
    "activation", _parse_keyword("ACTIVATION_IDENTITY", RELU, "ACTIVATION_MISH", "ACTIVATION_SILU")
)

# -- parts of a record ----------------------------------------------------------------------------------------------

Values = Mapping[str, Any]
When = Callable[[Capabilities, Values], bool]


@dataclass(frozen=True)
class Token:
    """One token, kept in the record's attribute ``name``; ``absent`` is its value in files that do not have it."""

    name: str
    kind: TokenKind
    when: When | None = None
    absent: Callable[[Capabilities], Any] | None = None


@dataclass(frozen=True)
class Fixed:
    """An integer that can only have one value and is not kept."""

    value: int
    what: str
    when: When | None = None


@dataclass(frozen=True)
class Floats:
    """A block of floats; ``shape`` names earlier attributes or gives sizes. None in the record where absent."""

    name: str
    shape: tuple[str | int, ...]
    when: When | None = None


@dataclass(frozen=True)
class Part:
    """A nested record in attribute ``name``; ``suffix`` is its usual name within the layer names of a file."""

    name: str
    record: type
    suffix: str
    when: When | None = None


@dataclass(frozen=True)
class Blocks:
    """As many block records as the attribute ``count`` says, each behind its keyword."""

    name: str
    count: str
    suffix: str
    when: None = None


Grammar = tuple[Token | Fixed | Floats | Part | Blocks, ...]


def has(flag: str) -> When:
    """Present when the record's own earlier attribute ``flag`` is true."""
    return lambda _capabilities, values: bool(values[flag])


def since(capability: str) -> When:
    """Present in files of versions with that capability."""
    return lambda capabilities, _values: bool(getattr(capabilities, capability))
