"""Rules drawn field by field, so that a field that is added to them is drawn, too."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final, get_type_hints

from hypothesis import strategies as st

from common.go.rules import MAX_KOMI, Rules, Scoring

KINDS: Final[dict[str, type]] = get_type_hints(Rules)
"""Type of each field."""


def any_rules(**fixed: object) -> st.SearchStrategy[Rules]:
    """All rules there are, but for the fields that are ``fixed``."""
    fields = {name: st.just(fixed[name]) if name in fixed else _drawn(kind) for name, kind in KINDS.items()}
    return st.fixed_dictionaries(fields).map(_defined)


def _drawn(kind: type) -> st.SearchStrategy[Any]:
    if kind is bool:
        return st.booleans()
    if issubclass(kind, IntEnum):
        return st.sampled_from(kind)
    assert kind is float  # komi
    return st.integers(int(-2 * MAX_KOMI), int(2 * MAX_KOMI)).map(lambda double: double / 2)


def _defined(fields: dict[str, Any]) -> Rules:
    """The button is only defined with area scoring."""
    return Rules(**fields | {"has_button": fields["has_button"] and fields["scoring"] == Scoring.AREA})
