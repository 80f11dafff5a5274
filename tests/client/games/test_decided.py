"""Decided games against the worked numbers of selfplay.md 14."""

from __future__ import annotations

import numpy as np
import pytest

from client.games.decided import first_resignation_turn, reduced_search, should_resign


def reduced(values: list[float], first: int = 0) -> tuple[int, float]:
    return reduced_search(np.array(values), first, len(values), 600, 100, 0.9, 3, 0.1)


def test_reduced_visits_of_the_specification() -> None:
    for values in ([0.0, 0.96, 0.97, 0.99], [-0.96, -0.97, -0.99]):
        visits, weight = reduced(values)
        assert visits == 420
        assert weight == pytest.approx(0.676)
    assert reduced([0.96, 0.97]) == (0, 0)
    assert reduced([0.99, 0.96, 0.97], first=1) == (0, 0)
    assert reduced([0.96, 0.9, 0.97]) == (0, 0)
    assert reduced([0.96, -0.96, 0.97]) == (0, 0)


def resigns(values: list[float], *, white_moved: bool, turns: int = 5, first: int = 0) -> bool:
    return should_resign(np.array(values), first, len(values), white_moved, -0.9, turns)


def test_resignation() -> None:
    losing = [0.3] + [-0.91] * 5
    assert first_resignation_turn(81) == 17
    assert resigns(losing, white_moved=True)
    assert not resigns(losing, white_moved=False)
    assert not resigns(losing, white_moved=True, turns=6)
    assert not resigns(losing, white_moved=True, first=2)
    assert resigns([0.95] * 5, white_moved=False)
    assert not resigns([-0.91] * 4, white_moved=True)
