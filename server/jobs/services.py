"""Handing out jobs and taking their games. Locks are taken in the order of `server.gates.services`."""

from __future__ import annotations

import hashlib
import random
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from common.wire import TaskRequest
from server.accounts.models import Contributor
from server.errors import GameRefused, NoJob, NoRun, NotAllowed, OnlyRatingNow, OutdatedClient, Unavailable
from server.gates.services import gate_game_arrived, gate_handed_out, open_gates_lock
from server.jobs.choice import Asker, Assignment, Draws, Nothing, choose
from server.jobs.models import Job, JobKind, JobState, JobText
from server.jobs.selectors import situation_for
from server.networks.models import Network
from server.networks.rollout import network_for
from server.runs.models import Run, RunState
from server.runs.revisions import parse_revisions, refusal_of
from server.runs.selectors import current_run, may_play, next_opening
from server.runs.texts import served_text

LATE_GAMES: Final = timedelta(days=14)
"""How long after the end of its lease a job still takes games. KataGo's client tries to send one for six days."""


# ------------------------------------------------------------------------------------------------------- handing out


def job_request(*, contributor: Contributor, request: TaskRequest, own_client: bool) -> Job:
    """Choose a job for the client and lease it.

    Raises:
        NoRun, Unavailable, OutdatedClient, NoJob, OnlyRatingNow: there is no job, with the reason.
    """
    now = timezone.now()
    run = _run_with_jobs(contributor, own_client=own_client)
    Contributor.objects.filter(pk=contributor.pk).update(client_revision=request.git_revision, last_seen=now)
    refusal = refusal_of(request.git_revision, parse_revisions(run.client_revisions), now.date())
    if refusal is not None:
        raise OutdatedClient(
            f"this client (revision {request.git_revision or 'not told'!r}) cannot play for the run {run.name}: "
            f"{refusal}. Please update it; the run's page {run.name} names the versions that can"
        )
    asker = Asker(request.allow_selfplay_task, request.allow_rating_task, own_client=own_client)
    with transaction.atomic():
        gates = open_gates_lock(run, wait=not asker.allow_selfplay) if asker.allow_rating else []
        current = network_for(run, contributor.pk, request.client_instance_id or "", now)
        chosen = choose(situation_for(run, gates, now, current), asker, _draws())
        if isinstance(chosen, Nothing):
            raise (OnlyRatingNow if chosen.only_rating else NoJob)(chosen.reason)
        return _lease(run, contributor, request, chosen, now)


def _run_with_jobs(contributor: Contributor, *, own_client: bool) -> Run:
    username = contributor.user.get_username()
    run = current_run(own_client=own_client, username=username)
    if run is None:
        raise NoRun
    if not may_play(run, username):
        raise NotAllowed(f"you are not among the users who play for the run {run.name}")
    if run.state_at(timezone.now()) == RunState.PAUSED:
        raise Unavailable(f"the run {run.name} is paused; {next_opening(run)}")
    return run


def _draws() -> Draws:
    return Draws(gating=random.random(), rating=random.random(), opponent=random.random(), colour=random.random())


def _lease(run: Run, contributor: Contributor, request: TaskRequest, chosen: Assignment, now: datetime) -> Job:
    job = Job(
        kind=chosen.kind,
        run=run,
        contributor=contributor,
        black_network_id=chosen.black,
        white_network_id=chosen.white,
        gate_id=chosen.gate,
        text=_text_of(served_text(run, "selfplay" if chosen.kind == JobKind.SELFPLAY else "gating")),
        games=request.task_rep_factor,
        client_revision=request.git_revision,
        expires_at=now + timedelta(seconds=run.lease_seconds),
    )
    job.save(force_insert=True)
    if chosen.gate is not None:
        gate_handed_out(chosen.gate)
    return job


def _text_of(config: str) -> JobText:
    digest = hashlib.sha256(config.encode()).hexdigest()
    return JobText.objects.get_or_create(sha256=digest, defaults={"text": config})[0]


def jobs_expire() -> int:
    """Mark the jobs whose lease has run out; returns how many. Their missing games were free already."""
    return Job.objects.filter(state=JobState.LEASED, expires_at__lte=timezone.now()).update(state=JobState.EXPIRED)


# ------------------------------------------------------------------------------------------------------ taking games


def job_for_upload(
    *,
    contributor: Contributor,
    kinds: tuple[JobKind, ...],
    run: Run,
    black: Network,
    white: Network,
    job_id: str | None,
) -> Job:
    """The job that a game belongs to, locked; inside the caller's transaction.

    A client that knows its job names it. KataGo's does not: then it is the newest of this contributor's jobs for the
    same networks that still misses games.

    Raises:
        GameRefused: no job of this contributor asked for such a game, or all games of the job have arrived, or it ended
            long ago.
    """
    earliest = timezone.now() - LATE_GAMES
    jobs = Job.objects.select_for_update(no_key=True).filter(contributor=contributor, run=run, kind__in=kinds)
    pair = {black.pk, white.pk}
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
    if job.received >= job.games:
        raise GameRefused(f"all {job.games} games of job {job.pk} have arrived already")
    return job


def job_game_received(job: Job) -> None:
    """Note that one more game of a job arrived; inside the caller's transaction, with the job locked."""
    job.received += 1
    if job.received >= job.games:
        job.state = JobState.DONE
    job.save(update_fields=["received", "state"])
    if job.gate_id is not None:
        gate_game_arrived(job.gate_id)
