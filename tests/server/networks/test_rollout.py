"""Clients change over to a new network one by one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from server.networks.models import Network
from server.networks.rollout import network_for
from server.runs.models import Run

SINCE = datetime(2030, 1, 1, tzinfo=UTC)
OLD, NEW = Network(pk=1, name="old", training_games_enabled=True), Network(pk=2, name="new")


def run_of(minutes: int = 60, previous: Network | None = OLD) -> Run:
    return Run(pk=7, current_network=NEW, previous_network=previous, current_since=SINCE, rollout_minutes=minutes)


@pytest.mark.parametrize(("minute", "least", "most"), [(0, 0, 0), (15, 200, 300), (30, 450, 550), (60, 1000, 1000)])
def test_clients_change_over_evenly(minute: int, least: int, most: int) -> None:
    now = SINCE + timedelta(minutes=minute)
    on_new = sum(network_for(run_of(), 3, f"{client:016X}", now) is NEW for client in range(1000))
    assert least <= on_new <= most


def test_a_client_does_not_go_back() -> None:
    for client in range(50):
        seen = [network_for(run_of(), 3, f"{client:X}", SINCE + timedelta(minutes=m)) is NEW for m in range(61)]
        assert seen == sorted(seen)


def test_without_a_rollout_all_change_at_once() -> None:
    assert network_for(run_of(minutes=0), 3, "AB", SINCE) is NEW
    assert network_for(run_of(previous=None), 3, "AB", SINCE) is NEW
    closed = Network(pk=3, name="closed", training_games_enabled=False)
    assert network_for(run_of(previous=closed), 3, "AB", SINCE) is NEW
