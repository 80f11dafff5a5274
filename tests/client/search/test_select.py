"""Exploration, first-play urgency and selection values: the table of search.md 16.2."""

from __future__ import annotations

from typing import Any

import pytest

from client.search.root_select import is_forced
from client.search.select import (
    exploration_scale,
    first_play_urgency,
    selection_value,
    stdev_factor,
)
from tests.client.search.helpers import GTP, SELFPLAY, record

# White to move; node W 9, u .06, uSq .031, raw .05; A: P .5, w 6, u .10; B: .3, 2, -.05; C .15 unvisited
NODE = {"utility": 0.06, "utility_sq": 0.031, "weight": 9.0}


@pytest.mark.parametrize(
    ("base", "at_root", "factor", "scale", "urgency", "a", "b", "c"),
    [
        (SELFPLAY, False, 1, 2.984283, -0.122485, 0.313163, 0.248428, 0.325157),
        (SELFPLAY, True, 1, 2.984283, 0.056400, 0.313163, 0.248428, 0.504042),
        (GTP, False, 0.657426, 1.873933, -0.122485, 0.233852, 0.137393, 0.158605),
        (GTP, True, 0.657426, 1.873933, -0.033043, 0.233852, 0.137393, 0.248047),
    ],
)
def test_worked_example(
    base: dict[str, Any],
    at_root: bool,
    factor: float,
    scale: float,
    urgency: float,
    a: float,
    b: float,
    c: float,
) -> None:
    parameters = record(base)
    found_scale = exploration_scale(8.0, **NODE, parameters=parameters)
    assert stdev_factor(**NODE, parameters=parameters) == pytest.approx(factor, abs=1e-6)
    assert found_scale == pytest.approx(scale, abs=1e-6)
    found_urgency = first_play_urgency(0.06, 0.05, 0.8, 1.0, at_root, parameters)
    assert found_urgency == pytest.approx(urgency, abs=1e-6)
    assert selection_value(1.0, 0.10, found_scale, 0.5, 6.0) == pytest.approx(a, abs=1e-6)
    assert selection_value(1.0, -0.05, found_scale, 0.3, 2.0) == pytest.approx(b, abs=1e-6)
    assert selection_value(1.0, found_urgency, found_scale, 0.15, 0.0) == pytest.approx(c, abs=1e-6)


def test_values_are_those_of_the_player_to_move() -> None:
    assert selection_value(-1.0, 0.3, 2.0, 0.5, 1.0) == pytest.approx(0.2)
    parameters = record(SELFPLAY)
    black = first_play_urgency(-0.06, -0.05, 0.8, -1.0, False, parameters)
    assert black == pytest.approx(0.122485, abs=1e-6)


def test_loss_proportion_pulls_urgency_towards_a_loss() -> None:
    parameters = record(GTP, fpu_loss_prop=0.1)
    assert first_play_urgency(0.06, 0.05, 0.8, 1.0, False, parameters) == pytest.approx(-0.250237, abs=1e-6)


def test_urgency_with_a_fixed_weight_of_the_raw_utility() -> None:
    parameters = record(SELFPLAY, fpu_parent_weight_by_visited_policy=False, fpu_parent_weight=0.25)
    expected = 0.25 * 0.05 + 0.75 * 0.06 - 0.2 * 0.8**0.5
    assert first_play_urgency(0.06, 0.05, 0.8, 1.0, False, parameters) == pytest.approx(expected)


def test_forced_playouts() -> None:
    assert not is_forced(0.5, 6.0, 8.0, 2.0)
    assert is_forced(0.3, 2.0, 8.0, 2.0)
    assert not is_forced(0.0, 0.0, 8.0, 2.0)


def test_illegal_moves_have_no_value() -> None:
    assert selection_value(1.0, 0.9, 3.0, -1.0, 0.0) == -1e50
