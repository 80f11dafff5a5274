"""Questions about jobs and gates."""

from __future__ import annotations

from datetime import datetime

from django.db.models import F, QuerySet, Sum

from server.jobs.choice import Player, Situation
from server.jobs.gating import OpenGate
from server.jobs.models import Gate, GateState, Job, JobState
from server.networks.models import Network
from server.networks.selectors import rated_networks
from server.runs.models import Run


def situation_for(run: Run, gates: list[Gate], now: datetime) -> Situation:
    """What ``run`` offers, with ``gates`` (locked by the caller) as the open gates that may be handed out."""
    leased = leased_games(gates, now)
    return Situation(
        gating_share=run.gating_share,
        rating_share=run.rating_share,
        current=None if run.current_network is None else _player(run.current_network),
        gates=[
            OpenGate(
                id=gate.pk,
                candidate=gate.candidate_id,
                opponent=gate.opponent_id,
                games=gate.games,
                played=gate.played,
                pending=gate.pending,
                leased=leased.get(gate.pk, 0),
                handed_out=gate.handed_out,
            )
            for gate in gates
        ],
        rated=[_player(network) for network in rated_networks(run)],
    )


def _player(network: Network) -> Player:
    return Player(
        id=network.pk,
        is_random=network.is_random,
        suits_katago_client=network.suits_katago_client,
        match_games=network.match_games,
    )


def leased_games(gates: list[Gate], now: datetime) -> dict[int, int]:
    """Games of each gate (by key) that contributors hold under a lease and have not sent yet."""
    held = Job.objects.filter(gate__in=gates, state=JobState.LEASED, expires_at__gt=now)
    sums = held.values_list("gate").annotate(games=Sum(F("games") - F("received")))
    return {gate: max(0, games) for gate, games in sums}


def open_gates(run: Run) -> QuerySet[Gate]:
    """Undecided gates of ``run``, with their networks, oldest first."""
    return Gate.objects.filter(run=run, state=GateState.OPEN).select_related("candidate", "opponent").order_by("pk")


def gates_of(run: Run) -> QuerySet[Gate]:
    """All gates of ``run``, with their networks, newest first."""
    return Gate.objects.filter(run=run).select_related("candidate", "opponent").order_by("-pk")
