"""The games of a job."""

from __future__ import annotations

from typing import Any

from client.contribute.job_orders import orders_of
from client.games.kinds import MATCH, SELFPLAY
from common.parameters import parse_selfplay
from tests.client.contribute.jobs import POSITION, RUN, rating_job, selfplay_job
from tests.client.games.games import match_text, selfplay_text


def test_colours_alternate() -> None:
    job = rating_job(match_text(), 3)
    orders = orders_of(job)
    assert [(order.black.name, order.white.name) for order in orders] == [
        ("net-a", "net-b"),
        ("net-b", "net-a"),
        ("net-a", "net-b"),
    ]
    assert {order.kind.name for order in orders} == {MATCH.name}
    assert all(order.job is job for order in orders)


def test_games_differ_by_seed_and_overrides() -> None:
    orders = orders_of(selfplay_job(selfplay_text(), 3, overrides=["komiMean=1.5", "komiMean=2.5"]))
    assert {order.kind.name for order in orders} == {SELFPLAY.name}
    assert len({order.seed for order in orders}) == 3
    assert [parse_selfplay(order.config).init.komi_mean for order in orders[:2]] == [1.5, 2.5]
    assert orders[2].config == selfplay_text()
    assert orders == orders_of(orders[0].job)


def test_the_first_games_begin_at_the_positions_of_the_job() -> None:
    job = selfplay_job(selfplay_text(), 3, start_poses=[POSITION, POSITION | {"hintLoc": "null"}])
    orders = orders_of(job)
    assert [order.start for order in orders] == [*job.task.start_poses, None]
    assert {order.positions for order in orders} == {job.task.start_poses}


def test_orders_go_on_with_games_of_their_own_kind_alone() -> None:
    changes: list[dict[str, Any]] = [
        {"overrides": ["komiMean=1.5"]},
        {"start_poses": [POSITION]},
        {"run": RUN | {"name": "other"}},
        {},
    ]
    keys = [orders_of(selfplay_job(selfplay_text(), 1, **change))[0].fork_key for change in changes]
    assert len(set(keys)) == 4
    assert orders_of(selfplay_job(selfplay_text(), 2))[1].fork_key == keys[3]
