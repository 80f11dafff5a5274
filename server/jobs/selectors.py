"""Questions about jobs."""

from __future__ import annotations

from datetime import datetime

from django.db.models import F, Max, Sum

from server.gates.models import Gate
from server.jobs.choice import OpenGate, Player, Situation
from server.jobs.models import Job, JobKind, JobState, JobText
from server.networks.models import Network
from server.networks.selectors import rated_networks
from server.runs.models import Run


def situation_for(run: Run, gates: list[Gate], now: datetime, current: Network | None) -> Situation:
    """What ``run`` offers: ``current`` for self-play, ``gates`` (locked by the caller) that may be handed out."""
    leased = leased_games(gates, now)
    return Situation(
        gating_share=run.gating_share,
        rating_share=run.rating_share,
        current=None if current is None else _player(current),
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


def other_texts(job: Job, limit: int) -> list[str]:
    """Further texts, the newest first, by which a game of ``job`` may have been played.

    KataGo's client does not name its job, and the run's text may have changed between two jobs for the same networks.
    """
    pair = (job.black_network_id, job.white_network_id)
    kinds = [JobKind.SELFPLAY] if job.kind == JobKind.SELFPLAY else [JobKind.GATING, JobKind.RATING]
    jobs = Job.objects.filter(
        contributor=job.contributor_id,
        run=job.run_id,
        kind__in=kinds,
        black_network__in=pair,
        white_network__in=pair,
        text__isnull=False,
    ).exclude(text=job.text_id)
    newest = jobs.values("text").annotate(newest=Max("pk")).order_by("-newest")[:limit]
    texts = JobText.objects.in_bulk([row["text"] for row in newest])
    return [texts[row["text"]].text for row in newest]


def leased_games(gates: list[Gate], now: datetime) -> dict[int, int]:
    """Games of each gate (by key) that contributors hold under a lease and have not sent yet."""
    held = Job.objects.filter(gate__in=gates, state=JobState.LEASED, expires_at__gt=now)
    sums = held.values_list("gate").annotate(games=Sum(F("games") - F("received")))
    return {gate: max(0, games) for gate, games in sums}
