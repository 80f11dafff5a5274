"""The list of client revisions."""

from __future__ import annotations

from datetime import date

import pytest

from server.runs.revisions import parse_revisions, refusal_of

TODAY = date(2026, 3, 1)
LIST = """
# released versions
AAAA-cuda
BBBB-eigen until 2026-02-28   # too old soon
CCCC until 2026-03-01
DDDD refused loses ladders
"""


@pytest.mark.parametrize(
    ("revision", "refusal"),
    [
        ("aaaa-cuda", None),
        ("AAAA-CUDA", None),
        ("aaaa", "it is not on this run's list of client revisions"),
        ("aaaa-eigen", "it is not on this run's list of client revisions"),
        ("", "it is not on this run's list of client revisions"),
        ("bbbb-eigen", "this revision was accepted until 2026-02-28"),
        ("cccc", None),
        ("dddd", "loses ladders"),
    ],
)
def test_which_revisions_are_refused_and_why(revision: str, refusal: str | None) -> None:
    assert refusal_of(revision, parse_revisions(LIST), TODAY) == refusal


def test_an_empty_list_allows_all() -> None:
    assert refusal_of("anything", parse_revisions("# nothing yet\n"), TODAY) is None


def test_a_star_allows_what_no_line_refuses() -> None:
    rules = parse_revisions("*\ndddd refused loses ladders\nbbbb until 2026-02-28")
    assert refusal_of("anything", rules, TODAY) is None
    assert refusal_of("dddd", rules, TODAY) == "loses ladders"
    assert refusal_of("bbbb", rules, TODAY) is not None


@pytest.mark.parametrize("line", ["aaaa until", "aaaa until tomorrow", "aaaa refused", "aaaa maybe later"])
def test_malformed_lines_are_named(line: str) -> None:
    with pytest.raises(ValueError, match="line 2"):
        parse_revisions("cccc\n" + line)
