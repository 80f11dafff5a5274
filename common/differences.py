"""What differs between two descriptions of what a folder holds: said by the first key, with both values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

_SHOWN: Final = 120
"""Characters of a value; of a longer one those around the first that differs."""
_MOST: Final = 3
"""Differences that are said one by one."""


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """The keys whose JSON values differ, both values of each; empty if there are none.

    Of lists of lines ``key = value`` and of objects it is the keys within that are compared.
    """
    found = [f"{key}: {before} there, {now} here" for key, before, now in _pairs(there, here)]
    more = [f"and {len(found) - _MOST} more"] if len(found) > _MOST else []
    return "; ".join(found[:_MOST] + more)


def _pairs(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Key, value there and value here of all that differ, in the order of the keys here."""
    found: list[tuple[str, str, str]] = []
    for key in dict.fromkeys((*here, *there)):
        before, now = there.get(key), here.get(key)
        if before == now:
            continue
        inside = _named(before), _named(now)
        if inside[0] is not None and inside[1] is not None:
            found += [(f"{key}, {name}", old, new) for name, old, new in _pairs(*(inside[0], inside[1]))]
        else:
            found.append((key, *_short(_said(before), _said(now))))
    return found


def _named(value: Any) -> Mapping[str, Any] | None:
    """Values by name: an object, a list of lines ``key = value``, a list of texts or lists by places from 1 on."""
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, list) or not all(isinstance(each, (str, list)) for each in value):
        return None
    if all(isinstance(line, str) and " = " in line for line in value):
        return {key: _Word(rest) for key, _, rest in (line.partition(" = ") for line in value)}
    return {str(number): each for number, each in enumerate(value, start=1)}


class _Word(str):
    """A value of a text, which is said as it stands there."""

    __slots__ = ()


def _said(value: Any) -> str:
    if isinstance(value, _Word):
        return value
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


def _short(there: str, here: str) -> tuple[str, str]:
    """Both, cut to where they differ."""
    differing = (at for at, (a, b) in enumerate(zip(there, here, strict=False)) if a != b)
    common = next(differing, min(len(there), len(here)))
    start = 0 if max(len(there), len(here)) <= _SHOWN else max(common - _SHOWN // 2, 0)
    return _cut(there, start), _cut(here, start)


def _cut(text: str, start: int) -> str:
    end = start + _SHOWN
    return ("…" if start else "") + text[start:end] + ("…" if len(text) > end else "")
