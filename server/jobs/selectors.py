"""Questions about jobs."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import numpy as np
from django.core.cache import cache
from django.db.models import Case, F, Max, Q, Sum, When
from django.db.models.functions import Coalesce

from common.wire import StartPosition
from server.accounts.models import Contributor
from server.accounts.selectors import active_contributors
from server.gates.models import Gate
from server.jobs import choice
from server.jobs.choice import OpenGate, Player, Situation
from server.jobs.models import Job, JobKind, JobState, JobText, WantedMatch
from server.jobs.pairing import (
    RATED,
    PairDraws,
    Rated,
    drawn_first,
    drawn_second,
    drawn_way,
    head_of,
    strength_as_met,
)
from server.networks.models import Network
from server.networks.selectors import rated_networks
from server.positions.selectors import positions_by_key
from server.runs.models import Run

ACTIVE: Final = timedelta(hours=6)
"""Who has asked for a job within this time shares in the gates."""


def situation_for(
    run: Run, contributor: Contributor, gates: list[Gate], now: datetime, current: Network | None
) -> Situation:
    """What ``run`` offers somebody: ``current`` for self-play, ``gates`` (locked by the caller) that may be given."""
    held = gate_games(gates, contributor, now)
    share = login_share(run, now) if gates else 1.0
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
                leased=held[gate.pk].leased,
                handed_out=gate.handed_out,
                left_to_asker=math.ceil(share * gate.games) - held[gate.pk].of_login,
            )
            for gate in gates
        ],
        matches=wanted_matches(run, now),
        pair=lambda: rating_pair(run, pair_draws()),
    )


def pair_draws() -> PairDraws:
    """New random numbers."""
    return PairDraws(
        way=random.random(),
        first=random.random(),
        noise=random.gauss(0.0, 1.0),
        second=random.random(),
        colour=random.random(),
    )


UNKNOWN_ERROR: Final = 2.0
"""Of the strength of a network that has none yet, in units of log gamma; it is taken to be its parent's."""


RATED_S: Final = 10.0
"""Seconds for which the strengths are kept that pairs are drawn by; they are computed anew every half minute."""


def rating_pair(run: Run, draws: PairDraws) -> tuple[int, int] | None:
    """Two networks for a rating game, Black's first; None where fewer than two may play.

    Strengths may be of `RATED_S` ago; whether the two may play is looked at now.
    """
    key = f"rated-{run.pk}"
    kept: Rated | None = cache.get(key)
    pair = None if kept is None else _drawn_pair(run, kept, draws)
    if pair is not None and rated_networks(run).filter(pk__in=pair).count() == len(pair):
        return pair
    rated = _rated(run)
    cache.set(key, rated, RATED_S)
    return _drawn_pair(run, rated, draws)


def _drawn_pair(run: Run, rated: Rated, draws: PairDraws) -> tuple[int, int] | None:
    if not len(rated):
        return None
    weights = (run.pairing_strength, run.pairing_uncertainty, run.pairing_data)
    first = drawn_first(head_of(rated, drawn_way(weights, draws.way)), draws.first)
    strength = strength_as_met(first, draws.noise, run.pairing_variability)
    second = drawn_second(strength, rated[rated["id"] != first["id"]], draws.second, run.pairing_variability)
    if second is None:
        return None
    pair = int(first["id"]), int(second["id"])
    return pair if draws.colour < 0.5 else pair[::-1]


def _rated(run: Run) -> Rated:
    """The networks that may play rating games, in the order of creation.

    Strengths are asked for by the names of their columns: ratings are an app above this one.
    """
    found = rated_networks(run).annotate(
        strength=Coalesce(F("rating__log_gamma"), F("parent__rating__log_gamma"), 0.0),
        error=Coalesce(F("rating__error"), UNKNOWN_ERROR),
        played=Coalesce(F("rating__games"), 0),
    )
    return np.array(list(found.values_list("pk", "strength", "error", "played")), RATED)


def wanted_matches(run: Run, now: datetime) -> list[choice.WantedMatch]:
    """The matches that were asked for and have games to give, the oldest first."""
    asked_for = list(WantedMatch.objects.filter(run=run, received__lt=F("games")).values_list("pk", flat=True))
    if not asked_for:  # as nearly always, and the sums cost
        return []
    held = Q(jobs__state=JobState.LEASED, jobs__expires_at__gt=now)
    matches = WantedMatch.objects.filter(pk__in=asked_for)
    matches = matches.filter(first__rating_games_enabled=True, second__rating_games_enabled=True)
    matches = matches.annotate(leased=Sum(F("jobs__games") - F("jobs__received"), filter=held)).order_by("pk")
    found = [
        choice.WantedMatch(
            id=match.pk,
            first=match.first_id,
            second=match.second_id,
            missing=match.games - match.received - (match.leased or 0),
            handed_out=match.handed_out,
        )
        for match in matches
    ]
    return [match for match in found if match.missing > 0]


def _player(network: Network) -> Player:
    return Player(
        id=network.pk,
        is_random=network.is_random,
        suits_katago_client=network.suits_katago_client,
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


_JOBS_WITH_POSITIONS: Final = 64
"""KataGo's client holds a few jobs at once, and its forks go on with games of earlier ones."""


def positions_of_game(job: Job, *, is_named: bool) -> list[StartPosition]:
    """Where a game of ``job`` may begin besides; of all of the login's jobs of late where the game names none."""
    keys: list[int] = list(job.start_positions)
    if not is_named and job.kind == JobKind.SELFPLAY:
        others = Job.objects.filter(contributor=job.contributor_id, run=job.run_id, kind=JobKind.SELFPLAY)
        others = others.exclude(start_positions=[]).order_by("-pk")
        newest = others.values_list("start_positions", flat=True)[:_JOBS_WITH_POSITIONS]
        keys = [key for each in newest for key in each]
    known = positions_by_key(set(keys))
    return [known[key] for key in dict.fromkeys(keys)]


def login_share(run: Run, now: datetime) -> float:
    """Share of a gate's games that one login may play: the run's, or an equal part where too few are active for it."""
    enough = math.ceil(1.0 / run.gate_login_share)
    active = max(1, active_contributors(now - ACTIVE, enough))
    return max(run.gate_login_share, 1.0 / active)


@dataclass(frozen=True)
class GateGames:
    """What has been given of a gate's games."""

    leased: int = 0
    """Held by contributors under a lease and not sent yet."""
    of_login: int = 0
    """Sent by one login, or held by it."""


def gate_games(gates: list[Gate], contributor: Contributor, now: datetime) -> dict[int, GateGames]:
    """By the keys of the gates, what is held of each, and what ``contributor`` has of it."""
    if not gates:
        return {}
    held = Q(state=JobState.LEASED, expires_at__gt=now)
    sums = (
        Job.objects.filter(gate__in=gates)
        .values_list("gate")
        .annotate(
            leased=Sum(F("games") - F("received"), filter=held),
            of_login=Sum(Case(When(held, then=F("games")), default=F("received")), filter=Q(contributor=contributor)),
        )
    )
    found = {gate: GateGames(max(0, leased or 0), of_login or 0) for gate, leased, of_login in sums}
    return {gate.pk: found.get(gate.pk, GateGames()) for gate in gates}


@dataclass(frozen=True)
class OpenGames:
    """Games that are held under leases and have not arrived."""

    of_login: int
    of_machine: int
    """Of the login's machine that asks; 0 if it has no name."""


def open_games(contributor: Contributor, machine: str, now: datetime) -> OpenGames:
    """What a contributor holds, and what one of its machines does."""
    held = Job.objects.filter(contributor=contributor, state=JobState.LEASED, expires_at__gt=now)
    missing = [(games - received, whose) for games, received, whose in held.values_list("games", "received", "machine")]
    of_machine = sum(games for games, whose in missing if whose == machine) if machine else 0
    return OpenGames(sum(games for games, _ in missing), of_machine)
