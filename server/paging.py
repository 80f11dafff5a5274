"""Pages of long lists, newest first, found by key: the first, a middle and the last page cost the same.

Nothing is counted and nothing skipped. A page is named by a key beside it (``?before=KEY``, ``?after=KEY``,
``?oldest=1``), so it holds the same rows whatever is added meanwhile. Knows no model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import QuerySet

PARAMETERS: Final = ("before", "after", "oldest")
"""Names of what an address says about the page."""
_MOST_DIGITS: Final = 18


@dataclass(frozen=True)
class Cursor:
    """Which page is wanted: the newest rows, those next to a key, or the oldest."""

    before: int | None = None
    after: int | None = None
    oldest: bool = False

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> Cursor:
        """What an address asks for; nonsense is the newest page."""
        before, after = _key(parameters.get("before", "")), _key(parameters.get("after", ""))
        if before is not None:
            return cls(before=before)
        return cls(after=after) if after is not None else cls(oldest=parameters.get("oldest") == "1")


@dataclass(frozen=True)
class KeyPage:
    """Rows, newest first, and what the addresses of the neighbouring pages say; None where there is none."""

    object_list: Sequence[Any]
    newer: str | None
    older: str | None


def key_page(parts: Sequence[QuerySet[Any]], cursor: Cursor, size: int) -> KeyPage:
    """The page of the rows that are in any of ``parts``, each of which has an index to be read by key.

    Beyond the ends of the list, the page at that end.
    """
    rows, more = _rows(parts, cursor, size)
    if not rows and cursor.before is not None:
        return key_page(parts, Cursor(oldest=True), size)
    if not rows and cursor.after is not None:
        return key_page(parts, Cursor(), size)
    newer = older = more
    if _is_upwards(cursor):
        rows.reverse()
        older = cursor.after is not None and _any(parts, pk__lt=rows[-1].pk)
    else:
        newer = cursor.before is not None and _any(parts, pk__gt=rows[0].pk)
    return KeyPage(rows, f"after={rows[0].pk}" if newer else None, f"before={rows[-1].pk}" if older else None)


def _rows(parts: Sequence[QuerySet[Any]], cursor: Cursor, size: int) -> tuple[list[Any], bool]:
    """The rows from the cursor on in its direction, and whether there are more.

    Keys are looked for alone, which an index answers by itself. Asked for whole rows, PostgreSQL reads the table by key
    where most of it belongs to the part, and passes over whatever does not.
    """
    upwards = _is_upwards(cursor)
    found: set[int] = set()
    for part in parts:
        keys = part.order_by("pk" if upwards else "-pk").values_list("pk", flat=True)
        if cursor.before is not None:
            keys = keys.filter(pk__lt=cursor.before)
        if cursor.after is not None:
            keys = keys.filter(pk__gt=cursor.after)
        found.update(keys[: size + 1])
    ordered = sorted(found, reverse=not upwards)
    missing = set(ordered[:size])
    rows: dict[int, Any] = {}
    for part in parts:
        if missing:
            rows |= {row.pk: row for row in part.filter(pk__in=missing)}
            missing -= rows.keys()
    return [rows[key] for key in ordered[:size] if key in rows], len(ordered) > size


def _is_upwards(cursor: Cursor) -> bool:
    return cursor.after is not None or cursor.oldest


def _any(parts: Sequence[QuerySet[Any]], **lookup: int) -> bool:
    return any(part.filter(**lookup).order_by().exists() for part in parts)


def _key(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None
