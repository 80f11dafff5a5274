"""Statistics of folders of games as a table of text: a line for each number, a column for each folder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from client.selfplay.statistics import Sample, Statistics

LISTED: Final = 6
"""Of numbers of visits, the most frequent."""
_NONE: Final = "-"
_SHARE: Final = ", share"
_APART: Final = "apart"


class _Cell(NamedTuple):
    """A number of one folder."""

    text: str
    value: float = math.nan
    error: float = math.nan  # standard error


_NOTHING: Final = _Cell(_NONE)


def table(found: Mapping[str, Statistics]) -> str:
    """The table; ``found`` has the statistics by the name of their column.

    Numbers stand with their standard errors, and means of numbers with their standard deviations. Two columns are
    followed by a third: how many standard errors of it their difference is.
    """
    columns = list(found.values())
    lines: list[tuple[str, list[_Cell]]] = [
        ("games", [_Cell(str(each.games)) for each in columns]),
        ("rows", [_Cell(str(each.rows)) for each in columns]),
        ("rows a game", [_number("", each.rows_a_game) for each in columns]),
    ]
    for subject in _union([list(each.shares) for each in columns]):
        kinds = {kind for each in columns for kind in each.shares.get(subject, ())}
        for kind in sorted(kinds, key=_by_number):
            lines.append((f"{subject}: {kind}", [_share(*each.share(subject, kind)) for each in columns]))
    for subject in _union([list(each.samples) for each in columns]):
        lines.append((subject, [_number(subject, each.samples.get(subject)) for each in columns]))
    for visits in _frequent_visits(columns):
        lines.append((f"turns with {visits} visits", [_of_visits(each, visits) for each in columns]))
    rows = [(name, [*(cell.text for cell in cells), *_difference(cells)]) for name, cells in lines]
    notes = [f"left out: {line}" for each in columns for line in each.unread]
    return "\n".join([*_aligned([("", [*found, *([_APART] if len(columns) == 2 else [])]), *rows]), *notes])


def _share(part: float, error: float) -> _Cell:
    return _NOTHING if math.isnan(part) else _Cell(f"{part:.1%} ± {error:.1%}", part, error)


def _number(subject: str, sample: Sample | None) -> _Cell:
    """A share, or mean and standard deviation."""
    if sample is None or not sample.count:
        return _NOTHING
    mean, error = sample.mean, sample.error
    if subject.endswith(_SHARE):
        return _Cell(f"{mean:.2%} ± {error:.2%}", mean, error)
    return _Cell(f"{mean:.4g} ± {error:.2g} (sd {sample.deviation:.3g})", mean, error)


def _difference(cells: Sequence[_Cell]) -> list[str]:
    """Of two numbers, in standard errors."""
    if len(cells) != 2:
        return []
    one, other = cells
    error = math.hypot(one.error, other.error)
    return [f"{(one.value - other.value) / error:+.1f}" if error > 0 else _NONE]


def _frequent_visits(columns: Sequence[Statistics]) -> list[int]:
    return sorted({visits for each in columns for visits, _ in each.visits.most_common(LISTED)})


def _of_visits(found: Statistics, visits: int) -> _Cell:
    turns = found.visits.total()
    return _Cell(f"{found.visits[visits] / turns:.1%}") if turns else _NOTHING


def _union(parts: Sequence[Sequence[str]]) -> list[str]:
    """What is in any of ``parts``, in the order of the first one that has it."""
    return list(dict.fromkeys(name for part in parts for name in part))


def _by_number(text: str) -> tuple[int, str]:
    """Numbers in their order, sizes by their sides."""
    digits = "".join(f"{int(part):02}" for part in text.split("x") if part.isdecimal())
    return int(digits or 0), text


def _aligned(lines: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    widths = [max(len(cells[column]) for _, cells in lines) for column in range(len(lines[0][1]))]
    first = max(len(name) for name, _ in lines)
    return [
        f"{name:{first}}  {'  '.join(f'{cell:>{width}}' for cell, width in zip(cells, widths, strict=True))}".rstrip()
        for name, cells in lines
    ]
