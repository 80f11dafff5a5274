"""The rules a game is played under: every parameter, its names and its text forms.

Knows nothing of boards and imports no compiled code, so that a web process can read rules. The parameters and their
spellings are those of rules.md 1; `Rules.write_to` puts them into the fields of a STATE record.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Final

from common import json_text

MAX_KOMI: Final = 400.0
KOMI_MARGIN: Final = 20
"""A game that is drawn has a komi within its board's area plus this many points."""


class Ko(IntEnum):
    """Repetition rule (rules.md 4)."""

    SIMPLE = 0
    POSITIONAL = 1
    SITUATIONAL = 2


class Scoring(IntEnum):
    """What counts at the end (rules.md 7 and 8)."""

    AREA = 0
    TERRITORY = 1


class Tax(IntEnum):
    """Which surrounded points do not count (rules.md 7 and 8)."""

    NONE = 0
    SEKI = 1
    ALL = 2


class HandicapBonus(IntEnum):
    """Points for White in a handicap game of N stones (rules.md 3)."""

    ZERO = 0
    N = 1
    N_MINUS_1 = 2

    @property
    def text(self) -> str:
        """The spelling of the text forms: ``0``, ``N`` or ``N-1``."""
        return _BONUS_TEXT[self]


_BONUS_TEXT: Final = {HandicapBonus.ZERO: "0", HandicapBonus.N: "N", HandicapBonus.N_MINUS_1: "N-1"}
_BONUS_OF_TEXT: Final = {text: bonus for bonus, text in _BONUS_TEXT.items()}


@dataclass(frozen=True)
class Rules:
    """Rules of one game; the defaults are those of Tromp and Taylor.

    Raises:
        ValueError: a komi that is no half-integer of at most 400, or a button without area scoring.
    """

    ko: Ko = Ko.POSITIONAL
    scoring: Scoring = Scoring.AREA
    tax: Tax = Tax.NONE
    suicide: bool = True
    has_button: bool = False
    white_handicap_bonus: HandicapBonus = HandicapBonus.ZERO
    friendly_pass_ok: bool = False
    komi: float = 7.5

    def __post_init__(self) -> None:
        if not (abs(self.komi) <= MAX_KOMI and float(2 * self.komi).is_integer()):
            raise ValueError(f"komi {self.komi} must be an integer or half-integer from -{MAX_KOMI} to {MAX_KOMI}")
        if self.has_button and self.scoring != Scoring.AREA:
            raise ValueError("the button (hasButton) is only defined with area scoring")

    @property
    def result_is_integer(self) -> bool:
        """Whether scores are whole numbers, so that a draw is possible (rules.md 1)."""
        return float(self.komi).is_integer() != self.has_button

    def with_komi(self, komi: float) -> Rules:
        """The same rules with another komi; ``ValueError`` as in the constructor."""
        return replace(self, komi=float(komi))

    # -- reading --

    @staticmethod
    def parse(text: str) -> Rules:
        """Rules from a name (``japanese``), the short string (``koSIMPLEscore...``) or JSON text (rules.md 1.1-1.3).

        Raises:
            ValueError: nothing of these; the message says what is wrong.
        """
        stripped = text.strip()
        if stripped.startswith("{"):
            try:
                fields: dict[str, Any] = json_text.loads(stripped)
            except json_text.JsonError as error:
                raise ValueError(f"the rules are {error}") from None
            return Rules.from_json(fields)
        named = NAMED_RULES.get(_plain(stripped))
        return named if named is not None else _parse_short(stripped)

    @staticmethod
    def from_json(fields: Mapping[str, Any]) -> Rules:
        """Rules from the object of rules.md 1.3; every key is optional.

        Raises:
            ValueError: an unknown key or value.
        """
        given: dict[str, Any] = {}
        for key, value in fields.items():
            if key not in _JSON_FIELDS:
                raise ValueError(f"unknown key {key!r} in rules; known are {', '.join(_JSON_FIELDS)}")
            field = _JSON_FIELDS[key]
            if field in given:
                raise ValueError(f"{key!r} is given twice in rules, once by its alias")
            given[field] = _from_json_value(field, value)
        return _with_defaults(given)

    # -- writing --

    def to_short(self, *, komi: bool = True) -> str:
        """The short string form (rules.md 1.2), with or without komi."""
        parts = [f"ko{self.ko.name}score{self.scoring.name}tax{self.tax.name}sui{int(self.suicide)}"]
        if self.has_button:
            parts.append("button1")
        if self.white_handicap_bonus != HandicapBonus.ZERO:
            parts.append(f"whb{self.white_handicap_bonus.text}")
        if self.friendly_pass_ok:
            parts.append("fpok1")
        if komi:
            parts.append(f"komi{komi_text(self.komi)}")
        return "".join(parts)

    def to_json(self, *, komi: bool = True, compact: bool = False) -> dict[str, str | bool | float]:
        """The object of rules.md 1.3; ``compact`` leaves out button, bonus and friendly pass where they are off."""
        fields: dict[str, str | bool | float] = {
            "ko": self.ko.name,
            "scoring": self.scoring.name,
            "tax": self.tax.name,
            "suicide": self.suicide,
        }
        if self.has_button or not compact:
            fields["hasButton"] = self.has_button
        if self.white_handicap_bonus != HandicapBonus.ZERO or not compact:
            fields["whiteHandicapBonus"] = self.white_handicap_bonus.text
        if self.friendly_pass_ok or not compact:
            fields["friendlyPassOk"] = self.friendly_pass_ok
        if komi:
            fields["komi"] = self.komi
        return fields

    @property
    def sgf_name(self) -> str:
        """What an SGF's ``RU`` holds: a well-known name if the rules but for komi have one, else the short string."""
        for display, name in _SGF_NAMES:
            if replace(NAMED_RULES[name], komi=self.komi) == self:
                return display
        return self.to_short(komi=False)

    def write_to(self, state: Any) -> None:
        """Write the rules into a STATE record (`common.go.state`), with a draw worth half a win."""
        state["ko_rule"] = self.ko
        state["scoring_rule"] = self.scoring
        state["tax_rule"] = self.tax
        state["suicide"] = self.suicide
        state["has_button"] = self.has_button
        state["white_handicap_bonus"] = self.white_handicap_bonus
        state["friendly_pass_ok"] = self.friendly_pass_ok
        state["pass_alive_suicide"] = self.suicide
        state["komi"] = self.komi
        state["draw_white_wins"] = 0.5


def komi_text(komi: float) -> str:
    """A komi or score without needless decimals: ``7.5``, ``7``, ``-0.5``."""
    return str(int(komi)) if float(komi).is_integer() else str(float(komi))


def _rules(
    ko: str,
    scoring: str,
    tax: str,
    suicide: bool,
    komi: float,
    *,
    button: bool = False,
    bonus: str = "0",
    friendly: bool = False,
) -> Rules:
    return Rules(Ko[ko], Scoring[scoring], Tax[tax], suicide, button, _BONUS_OF_TEXT[bonus], friendly, komi)


_JAPANESE = _rules("SIMPLE", "TERRITORY", "SEKI", False, 6.5)
_CHINESE_SUPERKO = _rules("POSITIONAL", "AREA", "NONE", False, 7.5, bonus="N", friendly=True)
_STONE_SCORING = _rules("SIMPLE", "AREA", "ALL", False, 7.5, friendly=True)
_AGA = _rules("SITUATIONAL", "AREA", "NONE", False, 7.5, bonus="N-1", friendly=True)
_NEW_ZEALAND = _rules("SITUATIONAL", "AREA", "NONE", True, 7.0, friendly=True)
_ING = _rules("POSITIONAL", "AREA", "NONE", True, 7.5, friendly=True)

NAMED_RULES: Final[Mapping[str, Rules]] = {
    "tromptaylor": Rules(),
    "japanese": _JAPANESE,
    "korean": _JAPANESE,
    "chinese": _rules("SIMPLE", "AREA", "NONE", False, 7.5, bonus="N", friendly=True),
    "chineseogs": _CHINESE_SUPERKO,
    "chinesekgs": _CHINESE_SUPERKO,
    "stonescoring": _STONE_SCORING,
    "ancientarea": _STONE_SCORING,
    "ancientterritory": _rules("SIMPLE", "TERRITORY", "ALL", False, 6.5),
    "aga": _AGA,
    "bga": _AGA,
    "french": _AGA,
    "agabutton": _rules("SITUATIONAL", "AREA", "NONE", False, 7.0, button=True, bonus="N-1", friendly=True),
    "newzealand": _NEW_ZEALAND,
    "nz": _NEW_ZEALAND,
    "goe": _ING,
    "ing": _ING,
}
"""The rulesets of rules.md 1.1, by their names in lower case without ``-``, ``_`` and blanks."""

_SGF_NAMES: Final = (
    ("TrompTaylor", "tromptaylor"),
    ("Japanese", "japanese"),
    ("Chinese", "chinese"),
    ("Chinese-OGS", "chineseogs"),
    ("AGA", "aga"),
    ("StoneScoring", "stonescoring"),
    ("NewZealand", "newzealand"),
)

_JSON_FIELDS: Final = {
    "ko": "ko",
    "scoring": "scoring",
    "score": "scoring",
    "tax": "tax",
    "suicide": "suicide",
    "hasButton": "has_button",
    "whiteHandicapBonus": "white_handicap_bonus",
    "friendlyPassOk": "friendly_pass_ok",
    "komi": "komi",
}

_ENUMS: Final[Mapping[str, type[IntEnum]]] = {"ko": Ko, "scoring": Scoring, "tax": Tax}

_TOKENS: Final = (
    ("komi", "komi"),
    ("ko", "ko"),
    ("scoring", "scoring"),
    ("score", "scoring"),
    ("tax", "tax"),
    ("sui", "suicide"),
    ("button", "has_button"),
    ("whb", "white_handicap_bonus"),
    ("fpok", "friendly_pass_ok"),
)
"""Tokens of the short string, longer ones before those that they begin with."""


def _plain(name: str) -> str:
    return "".join(name.lower().replace("-", " ").replace("_", " ").split())


def _with_defaults(given: Mapping[str, Any]) -> Rules:
    """Rules with the fields that are not ``given`` filled in; tax and komi depend on the others (rules.md 1.2)."""
    territory = given.get("scoring") == Scoring.TERRITORY
    derived = {
        "tax": Tax.SEKI if territory else Tax.NONE,
        "komi": 6.5 if territory else 7.0 if given.get("has_button") else 7.5,
    }
    return Rules(**{**derived, **given})


def _enum_value(field: str, text: Any) -> IntEnum:
    if field == "ko" and text == "SPIGHT":
        raise ValueError("ko rule SPIGHT is not supported: no network knows it; use SITUATIONAL or POSITIONAL")
    kind = _ENUMS[field]
    if not isinstance(text, str) or text not in kind.__members__:
        raise ValueError(f"{field} {text!r} in rules must be one of {', '.join(kind.__members__)}")
    return kind[text]


def _from_json_value(field: str, value: Any) -> Any:
    if field in _ENUMS:
        return _enum_value(field, value)
    if field == "white_handicap_bonus":
        if not isinstance(value, str) or value not in _BONUS_OF_TEXT:
            raise ValueError(f"whiteHandicapBonus {value!r} in rules must be one of {', '.join(_BONUS_OF_TEXT)}")
        return _BONUS_OF_TEXT[value]
    if field == "komi":
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"komi {str(value)[:40]!r} in rules must be a number")
        return float(value) if abs(value) <= MAX_KOMI else math.inf  # a whole number may be too large for a float
    if not isinstance(value, bool):
        raise ValueError(f"{field} {value!r} in rules must be true or false")
    return value


_GIVE: Final = "give a name such as japanese, or a string such as koSIMPLEscoreAREAtaxNONEsui0"


def _parse_short(text: str) -> Rules:
    given: dict[str, Any] = {}
    rest = text.strip()
    if not rest:
        raise ValueError(f"empty rules; {_GIVE}")
    while rest:
        token, field = next(((t, f) for t, f in _TOKENS if rest.startswith(t)), ("", ""))
        if not token:
            raise ValueError(f"can not read {rest!r}; {_GIVE}")
        if field in given:
            raise ValueError(f"rules {text!r} give {token} twice")
        given[field], rest = _take_value(field, rest[len(token) :].lstrip(), text)
        rest = rest.lstrip()
    return _with_defaults(given)


def _take_value(field: str, rest: str, text: str) -> tuple[Any, str]:
    """Value of a token at the start of ``rest``, and what follows it; ``text`` is quoted in errors."""
    if field == "komi":
        length = len(rest) - len(rest.lstrip("+-0123456789."))
        try:
            return float(rest[:length]), rest[length:]
        except ValueError:
            raise ValueError(f"rules {text!r}: {rest!r} does not start with a komi") from None
    if field in _ENUMS:
        length = len(rest) - len(rest.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
        return _enum_value(field, rest[:length]), rest[length:]
    if field == "white_handicap_bonus":
        for value in sorted(_BONUS_OF_TEXT, key=len, reverse=True):
            if rest.startswith(value):
                return _BONUS_OF_TEXT[value], rest[len(value) :]
        raise ValueError(f"rules {text!r}: whb must be followed by 0, N or N-1")
    if rest[:1] not in ("0", "1"):
        raise ValueError(f"rules {text!r}: {field} must be followed by 0 or 1")
    return rest[0] == "1", rest[1:]
