"""The komi that makes a position even: against positions whose worth under every komi is known."""

from __future__ import annotations

import math

import pytest

from client.games.fair_komi import Worth, answered, fair_komi, lead
from common.go.rules import NAMED_RULES, Rules

AREA = 361


class Even:
    """A position that is even at ``komi``; ``scale`` points turn even into winning."""

    def __init__(self, komi: float, scale: float = 5.0) -> None:
        self.komi, self.scale = komi, scale
        self.asked: list[float] = []

    def __call__(self, komi: float) -> Worth:
        assert (2 * komi).is_integer()
        self.asked.append(komi)
        ahead = komi - self.komi
        return Worth(ahead, math.tanh(ahead / self.scale))


@pytest.mark.parametrize("even", [-30.0, 6.5, 7.0, 7.2, 60.3])
@pytest.mark.parametrize("start", [-100.0, 0.0, 7.5])
def test_the_even_komi_is_found(even: float, start: float) -> None:
    position = Even(even)
    assert answered(fair_komi(start, AREA), position) == pytest.approx(even, abs=0.02)
    assert len(position.asked) == len(set(position.asked)) < 20


def test_what_no_komi_makes_even_ends_at_the_last_step() -> None:
    assert answered(fair_komi(0.0, AREA), lambda komi: Worth(0.0, -1.0)) == 31.75
    assert answered(fair_komi(0.0, AREA), lambda komi: Worth(0.0, 1.0)) == -31.75


def test_shifts_that_lead_away_are_halved() -> None:
    asked = []

    def astray(komi: float) -> Worth:
        asked.append(komi)
        return Worth(20.0 - komi, 0.5) if komi > -30 else Worth(100.0, 0.5)

    answered(fair_komi(0.0, AREA), astray)
    assert asked[:3] == [0.0, -20.0, -10.0]  # the second lead is larger by more than 5 points


def test_lead_is_what_the_komi_exceeds_the_fair_one_by() -> None:
    territory = NAMED_RULES["japanese"].with_komi(6.5)
    assert answered(lead(territory, AREA), Even(10.0)) == pytest.approx(-3.5, abs=0.02)
    assert answered(lead(Rules(komi=7.5), AREA), Even(7.2)) == pytest.approx(0.3, abs=0.05)


def test_where_scores_go_in_steps_of_two_both_parities_count() -> None:
    # by area Black's score is 7 or 9: 7.5 and 8.5 are won by the same side, so the even komi is 8 without more
    def worth(komi: float) -> Worth:
        value = math.tanh((2 * math.floor((komi - 7.0) / 2 + 1e-9) + 1 - 1) / 5.0)
        return Worth(komi - 8.0, value)

    found = 8.0 - answered(lead(Rules(komi=8.0), AREA), worth)
    assert 6.5 <= found <= 9.5
