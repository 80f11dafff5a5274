"""Questions about networks."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from server.networks.models import Network, NetworkState
from server.runs.models import LONG_TEXTS, Run


def network_by_name(name: str) -> Network | None:
    """The network of that name, with its run; None if there is none."""
    return Network.objects.select_related("run", "parent").filter(name=name).first()


def network_of_upload(name: str, run: Run) -> Network | None:
    """The network of ``run`` of that name, not to be changed; None if it has none. Nearly always it is at hand."""
    for network in (run.current_network, run.previous_network):
        if network is not None and network.name == name:
            return network
    return Network.objects.filter(run=run, name=name).first()


def networks(run: Run | None = None) -> QuerySet[Network]:
    """All networks (of ``run``), newest first, with run and parent, but for the run's long texts."""
    found = Network.objects.select_related("run", "parent").order_by("-pk")
    found = found.defer(*(f"run__{name}" for name in LONG_TEXTS))
    return found if run is None else found.filter(run=run)


def networks_of(run: Run) -> QuerySet[Network]:
    """The networks of a run, newest first, without what they refer to."""
    return Network.objects.filter(run=run).order_by("-pk")


def rated_networks(run: Run) -> QuerySet[Network]:
    """Networks of ``run`` that may be given to rating games, in the order of creation."""
    standing = Q(state__in=[NetworkState.SEED, NetworkState.ACCEPTED])
    return Network.objects.filter(standing, run=run, rating_games_enabled=True).order_by("pk")
