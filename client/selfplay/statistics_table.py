"""Statistics of folders of games as a table of text: a line for each number, a column for each folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from client.selfplay.statistics import Sample, Statistics

LISTED: Final = 6
"""Of numbers of visits, the most frequent."""
_NONE: Final = "-"
_SHARE: Final = ", share"


def table(found: Mapping[str, Statistics]) -> str:
    """The table; ``found`` has the statistics by the name of their column."""
    columns = list(found.values())
    lines: list[tuple[str, list[str]]] = [
        ("games", [str(each.games) for each in columns]),
        ("rows", [str(each.rows) for each in columns]),
        ("rows a game", [f"{each.rows / each.games:.2f}" if each.games else _NONE for each in columns]),
    ]
    for subject in _union([list(each.shares) for each in columns]):
        kinds = {kind for each in columns for kind in each.shares.get(subject, ())}
        for kind in sorted(kinds, key=_by_number):
            lines.append((f"{subject}: {kind}", [_part(each, subject, kind) for each in columns]))
    for subject in _union([list(each.samples) for each in columns]):
        lines.append((subject, [_number(subject, each.samples.get(subject)) for each in columns]))
    for visits in _frequent_visits(columns):
        lines.append((f"turns with {visits} visits", [_of_visits(each, visits) for each in columns]))
    notes = [f"left out: {line}" for each in columns for line in each.unread]
    return "\n".join([*_aligned([("", list(found)), *lines]), *notes])


def _part(found: Statistics, subject: str, kind: str) -> str:
    counts = found.shares.get(subject)
    return f"{counts[kind] / counts.total():.1%}" if counts else _NONE


def _number(subject: str, sample: Sample | None) -> str:
    """A share, or mean and standard deviation."""
    if sample is None or not sample.count:
        return _NONE
    return f"{sample.mean:.2%}" if subject.endswith(_SHARE) else f"{sample.mean:.4g} ± {sample.deviation:.4g}"


def _frequent_visits(columns: Sequence[Statistics]) -> list[int]:
    return sorted({visits for each in columns for visits, _ in each.visits.most_common(LISTED)})


def _of_visits(found: Statistics, visits: int) -> str:
    turns = found.visits.total()
    return f"{found.visits[visits] / turns:.1%}" if turns else _NONE


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
