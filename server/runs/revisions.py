"""Which client programs may take part in a run: a pure function over the run's list.

One line for each revision; ``#`` starts a comment. Case is ignored, and the whole text counts, suffix included
(contribute-protocol.md 4.4)::

    0123…abcd-cuda                         allowed
    0123…abcd-opencl until 2030-01-31      allowed up to and with that day (UTC)
    0123…abcd refused loses ladders        refused, with the reason
    *                                      every revision that no line refuses

An empty list allows every revision.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final

ANY: Final = "*"


@dataclass(frozen=True)
class RevisionRule:
    """One line of the list."""

    revision: str  # lower case
    until: date | None = None
    refusal: str | None = None


def parse_revisions(text: str) -> list[RevisionRule]:
    """The lines of a list.

    Raises:
        ValueError: a line is of none of the four forms; the text names it.
    """
    rules = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split(maxsplit=2)
        if not words:
            continue
        revision = words[0].lower()
        if len(words) == 1:
            rules.append(RevisionRule(revision))
        elif words[1] == "refused" and len(words) == 3:
            rules.append(RevisionRule(revision, refusal=words[2].strip()))
        elif words[1] == "until" and len(words) == 3:
            try:
                rules.append(RevisionRule(revision, until=date.fromisoformat(words[2].strip())))
            except ValueError:
                raise ValueError(f"line {number}: {words[2]!r} is not a date such as 2030-01-31") from None
        else:
            forms = "'REVISION', 'REVISION until DATE' or 'REVISION refused REASON'"
            raise ValueError(f"line {number}: expected {forms}, found {line!r}")
    return rules


def refusal_of(revision: str, rules: list[RevisionRule], today: date) -> str | None:
    """Why a client of that revision may not play, None if it may."""
    if not rules:
        return None
    named = [rule for rule in rules if rule.revision == revision.lower()]
    for rule in named:
        if rule.refusal is not None:
            return rule.refusal
    applying = named or [rule for rule in rules if rule.revision == ANY]
    if not applying:
        return "it is not on this run's list of client revisions"
    if any(rule.until is None or today <= rule.until for rule in applying):
        return None
    return "this revision was accepted until " + max(rule.until for rule in applying if rule.until).isoformat()


def warning_of(revision: str, rules: list[RevisionRule]) -> str | None:
    """What a client that may play until a day should be told; None if there is no such day.

    Asked about a revision for which `refusal_of` has no refusal.
    """
    named = [rule for rule in rules if rule.revision == revision.lower()]
    applying = named or [rule for rule in rules if rule.revision == ANY]
    if not applying or any(rule.until is None for rule in applying):
        return None
    until = max(rule.until for rule in applying if rule.until)
    return f"this version of the client plays until {until.isoformat()} (UTC); please update it before"
