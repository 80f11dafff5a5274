"""Which network a running game of a job goes on with."""

from __future__ import annotations

from typing import Any

import pytest

from client.contribute.job_orders import orders_of
from client.contribute.messages import Job
from client.contribute.newest_nets import NewestNets
from client.networks import Network
from tests.client.contribute.jobs import RUN, network, rating_job, selfplay_job
from tests.client.games.games import match_text, selfplay_text

A, B = Network("net-a", None), Network("net-b", None)


def job(name: str, day: int | None, **fields: Any) -> Job:
    """A job by a network that was made on a day of January."""
    made = {"created_at": None if day is None else f"2026-01-{day:02}T00:00:00.000000Z"}
    return selfplay_job(selfplay_text(), 1, network=network(name) | made, **fields)


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        (job("net-b", 3), B),
        (job("net-b", 2), None),  # as old
        (job("net-b", 1), None),
        (job("net-b", None), None),
        (job("net-b", 3, run=RUN | {"name": "another"}), None),
        (rating_job(match_text(), 1), None),
    ],
    ids=["newer", "as old", "older", "of unknown age", "of another run", "of a match"],
)
def test_it_is_the_newest_of_a_run(later: Job, expected: Network | None) -> None:
    first, nets = job("net-a", 2), NewestNets()
    (order,) = orders_of(first)
    assert nets.newer(order, A) is None, "nothing is known yet"
    nets.learn(first)
    assert nets.newer(order, A) is None
    nets.learn(later)
    assert nets.newer(order, A) == expected
    if expected is not None:
        assert nets.newer(order, expected) is None
        assert nets.url(expected) == "http://a/net-b/"
        nets.learn(first)
        assert nets.newer(order, A) == expected, "an older one that comes later changes nothing"


def test_a_server_that_names_no_jobs_knows_no_changes() -> None:
    first, nets = job("net-a", 2, job_id=None), NewestNets()
    (order,) = orders_of(first)
    nets.learn(first)
    nets.learn(job("net-b", 3, job_id=None))
    assert nets.newer(order, A) is None
