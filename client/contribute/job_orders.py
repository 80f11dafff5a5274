"""The games of a job, as a stream plays them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from client.contribute.messages import Job
from client.contribute.task_kinds import config_of, kind_of
from client.games.chance import game_seed
from client.games.orders import GameOrder
from client.networks import Network
from common import wire


@dataclass(frozen=True, kw_only=True)
class JobOrder(GameOrder):
    """A game of a job, which says where it goes afterwards."""

    job: Job
    number: int  # which game of the job, from 0

    @property
    def positions(self) -> Sequence[wire.StartPosition]:
        """Those of the job: a fork may go on with a game that began at any of them."""
        return self.job.task.start_poses

    @property
    def fork_key(self) -> Hashable:
        """What an order has in common with that of a game which it may go on with: text, network, run, positions."""
        return self.config, self.black, self.white, self.length, self.job.task.run.name, self.job.task.start_poses


def orders_of(job: Job) -> list[JobOrder]:
    """The games of a job; the colours alternate, beginning with the job's own."""
    kind = kind_of(job.task)
    pair = [Network(network.name, job.networks[network.name]) for network in kind.networks(job.task)]
    orders = []
    for number in range(job.games):
        black, white = pair if number % 2 == 0 else pair[::-1]
        orders.append(
            JobOrder(
                seed=game_seed(job.seed, number),
                kind=kind.game,
                config=config_of(job.task, number),
                black=black,
                white=white,
                length=job.length,
                start=job.task.start_poses[number] if number < len(job.task.start_poses) else None,
                job=job,
                number=number,
            )
        )
    return orders
