"""Which network a running game of a job may go on with: the newest that a later job of the same run has named.

Asked by the thread that plays, told by the one that hears the parent. Specification: selfplay.md 11.
"""

from __future__ import annotations

from client.contribute.job_orders import JobOrder
from client.contribute.messages import Job
from client.games.orders import GameOrder
from client.networks import Network
from common import wire


class NewestNets:
    """The networks of jobs of self-play, as far as they say when they were made."""

    def __init__(self) -> None:
        self._known: dict[str, wire.NetworkInfo] = {}  # by name
        self._newest: dict[str, Network] = {}  # by name of the run

    def learn(self, job: Job) -> None:
        """Take in the network of a job."""
        task = job.task
        if not isinstance(task, wire.SelfplayTask) or task.network.created_at is None:
            return
        run, network = task.run.name, Network(task.network.name, job.networks[task.network.name])
        self._known[network.name] = task.network
        if run not in self._newest or self._is_newer(network, self._newest[run]):
            self._newest[run] = network

    def newer(self, order: GameOrder, network: Network) -> Network | None:
        """A newer one than ``network``, for the rest of a game; None: there is none, or the server knows no changes.

        Only a server of ours gives jobs a name, and takes a list of changes with their games.
        """
        assert isinstance(order, JobOrder)
        newest = self._newest.get(order.job.task.run.name)
        if newest is None or order.job.task.job_id is None or not self._is_newer(newest, network):
            return None
        return newest

    def url(self, network: Network) -> str:
        """The address of a network that `newer` gave, empty if it has none."""
        return self._known[network.name].url or ""

    def _is_newer(self, network: Network, other: Network) -> bool:
        """By the texts that say when they were made, all of one format (`wire.format_created_at`)."""
        if network.name not in self._known or other.name not in self._known:
            return False
        return (self._known[network.name].created_at or "") > (self._known[other.name].created_at or "")
