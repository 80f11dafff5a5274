"""How fast a machine says that it is, and by what name."""

from __future__ import annotations

from pathlib import Path

import pytest

from client.contribute.folder import MACHINE_FILE, machine_of
from client.contribute.speed import LEAST_S, WINDOW_S, SpeedMeter


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_nothing_is_told_before_something_is_known() -> None:
    clock = Clock()
    meter = SpeedMeter(clock)
    assert meter.games_per_hour() is None
    meter.game_asked()
    clock.now += 0.9 * LEAST_S
    meter.game_ended()
    assert meter.games_per_hour() is None, "games end in bunches"
    clock.now += 0.1 * LEAST_S
    assert meter.games_per_hour() == pytest.approx(3600.0 / LEAST_S)


def test_games_of_the_last_hour_count() -> None:
    clock = Clock()
    meter = SpeedMeter(clock)
    meter.game_asked()
    clock.now += 600.0
    for _ in range(30):
        meter.game_ended()
    meter.game_asked()
    assert meter.games_per_hour() == pytest.approx(180.0)
    clock.now += WINDOW_S - 600.0
    meter.game_ended()
    assert meter.games_per_hour() == pytest.approx(31.0)
    clock.now += 601.0
    assert meter.games_per_hour() == pytest.approx(1.0)


def test_a_machine_that_finishes_nothing_within_an_hour_says_so() -> None:
    clock = Clock()
    meter = SpeedMeter(clock)
    meter.game_asked()
    clock.now += 0.9 * WINDOW_S
    assert meter.games_per_hour() is None
    clock.now += 0.1 * WINDOW_S
    assert meter.games_per_hour() == 0.0


def test_a_folder_keeps_its_machines_name(tmp_path: Path) -> None:
    name = machine_of(tmp_path)
    assert len(name) == 16
    assert machine_of(tmp_path) == name
    (tmp_path / MACHINE_FILE).write_text("damaged")
    other = machine_of(tmp_path)
    assert len(other) == 16
    assert other != name
    assert machine_of(tmp_path) == other
