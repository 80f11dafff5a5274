"""Handing out jobs and taking their games. Locks are taken in the order of `server.gates.services`."""

from __future__ import annotations

import hashlib
import random
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Case, F, Q, Value, When
from django.utils import timezone

from common.wire import MAX_TASK_REP_FACTOR, TaskRequest
from server.accounts.models import Contributor
from server.errors import GameRefused, NoJob, NoRun, NotAllowed, OnlyRatingNow, OutdatedClient, TooMany, Unavailable
from server.gates.services import gate_game_arrived, gate_handed_out, open_gates_lock
from server.jobs.choice import Asker, Assignment, Draws, Nothing, choose
from server.jobs.models import Job, JobKind, JobState, JobText, WantedMatch
from server.jobs.selectors import open_games, situation_for
from server.networks.models import Network
from server.networks.rollout import network_for
from server.positions.selectors import position_keys_drawn
from server.runs.models import Run, RunState, UnprovenGames
from server.runs.overrides import drawn_overrides, parse_variants
from server.runs.revisions import parse_revisions, refusal_of
from server.runs.selectors import current_run, may_play, next_opening
from server.runs.texts import served_text

LATE_GAMES: Final = timedelta(days=14)
"""How long after the end of its lease a job still takes games. KataGo's client tries to send one for six days."""
SEEN_EVERY: Final = timedelta(minutes=1)


# ------------------------------------------------------------------------------------------------------- handing out


def job_request(*, contributor: Contributor, request: TaskRequest, own_client: bool) -> Job:
    """Choose a job for the client and lease it.

    Raises:
        NoRun, Unavailable, OutdatedClient, TooMany, NoJob, OnlyRatingNow: there is no job, with the reason.
    """
    now = timezone.now()
    run = _run_with_jobs(contributor, own_client=own_client)
    _note_seen(contributor, request.git_revision, now)
    refusal = refusal_of(request.git_revision, parse_revisions(run.client_revisions), now.date())
    if refusal is not None:
        raise OutdatedClient(
            f"this client (revision {request.git_revision or 'not told'!r}) cannot play for the run {run.name}: "
            f"{refusal}. Please update it; the run's page {run.name} names the versions that can"
        )
    asker = _asker(run, contributor, request, now, own_client=own_client)
    with transaction.atomic():
        gates = open_gates_lock(run, wait=not asker.allow_selfplay) if asker.allow_rating else []
        current = network_for(run, contributor.pk, request.client_instance_id or "", now)
        chosen = choose(situation_for(run, contributor, gates, now, current), asker, _draws())
        if isinstance(chosen, Nothing):
            raise (OnlyRatingNow if chosen.only_rating else NoJob)(chosen.reason)
        return _lease(run, contributor, request, chosen, now, own_client=own_client)


def _note_seen(contributor: Contributor, revision: str, now: datetime) -> None:
    """Keep who was here and with what program; a write every minute is enough for everybody who asks."""
    seen = contributor.last_seen
    if contributor.client_revision == revision and seen is not None and seen <= now < seen + SEEN_EVERY:
        return
    Contributor.objects.filter(pk=contributor.pk).update(client_revision=revision, last_seen=now)


def _asker(run: Run, contributor: Contributor, request: TaskRequest, now: datetime, *, own_client: bool) -> Asker:
    """What the choice needs to know of a request.

    Raises:
        NoJob: the run has no jobs for this program.
        TooMany: the login, or its machine, holds as many games as it may.
    """
    if run.unproven_games == UnprovenGames.REFUSE and not own_client:
        raise NoJob(f"the run {run.name} has jobs for Tengen's own client only, whose games can be proved")
    games = _wanted_games(run, request, own_client=own_client)
    held = open_games(contributor, request.machine or "", now)
    for count, most, who in (
        (held.of_login, run.most_open_games, "this login"),
        (held.of_machine, run.most_open_games_of_machine, "this machine"),
    ):
        if count + games > most:
            raise TooMany(
                f"{who} holds {count} games that have not arrived, and may hold {most} at a time; games that are lost "
                "are forgotten when their leases end"
            )
    return Asker(
        request.allow_selfplay_task,
        request.allow_rating_task,
        own_client=own_client,
        games=games,
        may_decide=own_client or run.unproven_games == UnprovenGames.COUNT,
    )


def _wanted_games(run: Run, request: TaskRequest, *, own_client: bool) -> int:
    """Games for this request: those of the run's `job_seconds` where the client tells its speed and room."""
    if not own_client or request.games_per_hour is None or request.room is None:
        return request.task_rep_factor
    by_speed = round(request.games_per_hour * run.job_seconds / 3600.0)
    return max(1, min(by_speed, request.room, MAX_TASK_REP_FACTOR))


def _run_with_jobs(contributor: Contributor, *, own_client: bool) -> Run:
    username = contributor.user.get_username()
    run = current_run(own_client=own_client, username=username)
    if run is None:
        raise NoRun
    if not may_play(run, username):
        raise NotAllowed(f"you are not among the users who play for the run {run.name}")
    if run.state_now == RunState.PAUSED:
        raise Unavailable(f"the run {run.name} is paused; {next_opening(run)}")
    return run


def _draws() -> Draws:
    return Draws(gating=random.random(), rating=random.random())


def _lease(
    run: Run, contributor: Contributor, request: TaskRequest, chosen: Assignment, now: datetime, *, own_client: bool
) -> Job:
    seconds = lease_seconds_of(run, chosen.kind)
    text = served_text(run, "selfplay" if chosen.kind == JobKind.SELFPLAY else "gating")
    networks = _networks_of(run, chosen)
    job = Job(
        kind=chosen.kind,
        run=run,
        contributor=contributor,
        black_network=networks[chosen.black],
        white_network=networks[chosen.white],
        gate_id=chosen.gate,
        match_id=chosen.match,
        text=_text_of(text),
        games=chosen.games,
        seed=secrets.randbits(63) if own_client else None,
        machine=request.machine or "",
        start_positions=_positions(run, chosen),
        overrides=_overrides(run, chosen, text),
        client_revision=request.git_revision,
        expires_at=now + timedelta(seconds=seconds),
    )
    job.save(force_insert=True)
    if chosen.gate is not None:
        gate_handed_out(chosen.gate)
    if chosen.match is not None:
        WantedMatch.objects.filter(pk=chosen.match).update(handed_out=F("handed_out") + 1)
    return job


def _networks_of(run: Run, chosen: Assignment) -> dict[int, Network]:
    """The networks of a job by their keys, with their run."""
    at_hand = [network for network in (run.current_network, run.previous_network) if network is not None]
    found = {network.pk: network for network in at_hand}
    if missing := {chosen.black, chosen.white} - found.keys():
        found |= Network.objects.in_bulk(missing)
        for key in missing:
            found[key].run = run
    return found


def _positions(run: Run, chosen: Assignment) -> list[int]:
    """Where the first games of a job begin; each game of self-play with the run's probability at some position."""
    if chosen.kind != JobKind.SELFPLAY or run.start_position_prob == 0.0:
        return []
    count = sum(random.random() < run.start_position_prob for _ in range(chosen.games))
    return position_keys_drawn(run, [random.random() for _ in range(count)])


def _overrides(run: Run, chosen: Assignment, text: str) -> list[str]:
    """What is put over the text for each game, if there is anything: settings that were checked over this text."""
    if chosen.kind != JobKind.SELFPLAY or not run.selfplay_overrides or text != run.selfplay_config:
        return []
    variants = parse_variants(run.selfplay_overrides)
    drawn = [drawn_overrides(variants, random.random()) for _ in range(chosen.games)]
    return drawn if any(drawn) else []


def lease_seconds_of(run: Run, kind: str) -> int:
    """For how long a job is left to who got it."""
    return min(run.lease_seconds, run.gate_lease_seconds) if kind == JobKind.GATING else run.lease_seconds


def _text_of(config: str) -> JobText:
    digest = hashlib.sha256(config.encode()).hexdigest()
    known = JobText.objects.filter(sha256=digest).values_list("pk", flat=True).first()
    if known is not None:  # without the text, which is at hand
        return JobText(pk=known, sha256=digest, text=config)
    return JobText.objects.get_or_create(sha256=digest, defaults={"text": config})[0]


def jobs_expire() -> int:
    """Mark the jobs whose lease has run out, and close those that take no games any more; returns how many.

    The missing games of an expired job were free already.
    """
    now = timezone.now()
    expired = Job.objects.filter(state=JobState.LEASED, expires_at__lte=now).update(state=JobState.EXPIRED)
    late = Job.objects.filter(state=JobState.EXPIRED, expires_at__lte=now - LATE_GAMES)
    return expired + late.update(state=JobState.CLOSED)


# ------------------------------------------------------------------------------------------------------ taking games


@dataclass(frozen=True)
class JobClaim:
    """What an upload says of its job; KataGo's client says nothing."""

    job_id: str | None = None
    token: str | None = None
    number: int | None = None
    """Which game of the job it is."""


def job_for_upload(
    *,
    contributor: Contributor,
    kinds: tuple[JobKind, ...],
    run: Run,
    black: Network,
    white: Network,
    claim: JobClaim,
) -> Job:
    """The job that a game belongs to, as things stand: another upload may take its last place (`job_game_received`).

    A client that knows its job names it. KataGo's does not: then it is the newest of this contributor's jobs for the
    same networks that still misses games.

    Raises:
        GameRefused: no job of this contributor asked for such a game, or all games of the job have arrived, or it ended
            long ago.
    """
    earliest = timezone.now() - LATE_GAMES
    jobs = Job.objects.select_related("text").defer("text__text")
    jobs = jobs.filter(contributor=contributor, run=run, kind__in=kinds)
    pair, job_id = {black.pk, white.pk}, claim.job_id
    if job_id is not None:
        job = jobs.filter(pk=int(job_id)).first() if job_id.isdecimal() and len(job_id) < 19 else None
        if job is None:
            raise GameRefused(f"no job {job_id} was given to you by the run {run.name}")
        if {job.black_network_id, job.white_network_id} != pair:
            raise GameRefused(f"job {job_id} was for other networks than {black.name} and {white.name}")
    else:
        fitting = jobs.filter(
            black_network__in=pair, white_network__in=pair, received__lt=F("games"), expires_at__gt=earliest
        )
        job = fitting.order_by("-pk").first()
        if job is None:
            raise GameRefused(f"no game of {black.name} and {white.name} is expected from you")
    if job.expires_at <= earliest:
        raise GameRefused(f"job {job.pk} ended more than {LATE_GAMES.days} days ago")
    if claim.number is not None and claim.number >= job.games:
        raise GameRefused(f"job {job.pk} has {job.games} games, so none has the number {claim.number}")
    if job.received >= job.games:
        raise GameRefused(f"all {job.games} games of job {job.pk} have arrived already")
    networks = {black.pk: black, white.pk: white}
    job.black_network, job.white_network = networks[job.black_network_id], networks[job.white_network_id]
    return job


def job_game_received(job: Job) -> bool:
    """Note that one more game of a job arrived, which locks the job to the end of the caller's transaction.

    Returns:
        False, with nothing done, where all its games have arrived.
    """
    is_last = Q(received=F("games") - 1)
    state = Case(When(is_last, then=Value(JobState.DONE)), default=F("state"))
    taking = Job.objects.filter(pk=job.pk, received__lt=F("games"))
    if not taking.update(received=F("received") + 1, state=state):
        return False
    if job.gate_id is not None:
        gate_game_arrived(job.gate_id)
    if job.match_id is not None:
        WantedMatch.objects.filter(pk=job.match_id).update(received=F("received") + 1)
    return True
