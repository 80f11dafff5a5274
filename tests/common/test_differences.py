"""Whoever gives another command for a folder reads the first keys that differ, with both values."""

from __future__ import annotations

from typing import Any

import pytest

from common.differences import differences


@pytest.mark.parametrize(
    ("there", "here", "told"),
    [
        ({"a": 1}, {"a": 1}, ""),
        ({"a": None, "b": 1}, {"a": 0.5, "b": 1}, "a: none there, 0.5 here"),
        ({"a": "x"}, {}, 'a: "x" there, none here'),
        ({"a": True}, {"a": None, "b": None}, "a: true there, none here"),
        ({"size": [9, 9]}, {"size": [13, 9]}, "size: [9, 9] there, [13, 9] here"),
        ({"nets": ["a", "b"]}, {"nets": ["a", "c"]}, 'nets, 2: "b" there, "c" here'),
        ({"nets": ["a"]}, {"nets": ["a", "b"]}, 'nets, 2: none there, "b" here'),
        ({"pairs": [[0, 1]]}, {"pairs": [[0, 1], [0, 2]]}, "pairs, 2: none there, [0, 2] here"),
        ({"pairs": None}, {"pairs": [[0, 1]]}, "pairs: none there, [[0, 1]] here"),
        ({"rules": {"ko": "A", "tax": "B"}}, {"rules": {"ko": "A", "tax": "C"}}, 'rules, tax: "B" there, "C" here'),
        (
            {"config": ["visits = 200", "same = 1", "gone = a = b"]},
            {"config": ["visits = 100", "same = 1"]},
            "config, visits: 200 there, 100 here; config, gone: a = b there, none here",
        ),
    ],
)
def test_each_key_is_told_with_both_values(there: dict[str, Any], here: dict[str, Any], told: str) -> None:
    assert differences(there, here) == told


def test_the_first_three_are_told_and_the_others_counted() -> None:
    values = {f"k{number}": number for number in range(8)}
    told = differences({}, values)
    assert told == "k0: none there, 0 here; k1: none there, 1 here; k2: none there, 2 here; and 5 more"


def test_long_values_are_cut_around_the_first_difference() -> None:
    told = differences({"program": "x" * 500 + "one" + "y" * 500}, {"program": "x" * 500 + "two"})
    there, here = told.removeprefix("program: ").removesuffix(" here").split(" there, ")
    assert there != here
    assert (there[0], there[-1], here[0], here[-1]) == ("…", "…", "…", '"')
    assert "xone" in there
    assert "xtwo" in here
    assert len(told) < 300


def test_the_end_of_a_value_that_begins_alike_is_told() -> None:
    told = differences({"a": "x" * 500}, {"a": "x" * 501})
    there, here = told.removeprefix("a: ").removesuffix(" here").split(" there, ")
    assert there[-2:] == here[-2:] == 'x"'
    assert len(here) == len(there) + 1
