"""Decided games against the worked numbers of selfplay.md 14."""

from __future__ import annotations

from functools import partial

import pytest

from client.games.decided import first_resignation_turn, reduced_search, should_resign


def test_reduced_visits_of_the_specification() -> None:
    reduced = partial(reduced_search, base=600, least=100, threshold=0.9, lookback=3, least_weight=0.1)
    for values in ([0.0, 0.96, 0.97, 0.99], [-0.96, -0.97, -0.99]):
        found = reduced(values)
        assert found is not None
        assert found[0] == 420
        assert found[1] == pytest.approx(0.676)
    assert reduced([0.96, 0.97]) is None
    assert reduced([0.96, 0.9, 0.97]) is None
    assert reduced([0.96, -0.96, 0.97]) is None


def test_resignation() -> None:
    losing = [0.3] + [-0.91] * 5
    assert first_resignation_turn(81) == 17
    assert should_resign(losing, white_moved=True, threshold=-0.9, turns=5)
    assert not should_resign(losing, white_moved=False, threshold=-0.9, turns=5)
    assert not should_resign(losing, white_moved=True, threshold=-0.9, turns=6)
    assert should_resign([0.95] * 5, white_moved=False, threshold=-0.9, turns=5)
    assert not should_resign([-0.91] * 4, white_moved=True, threshold=-0.9, turns=5)
