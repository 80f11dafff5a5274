"""Handing out jobs, taking their games, and deciding gates.

Rows are locked in this order wherever several are: run totals, run, gates by key. Locks are ``FOR NO KEY UPDATE``, so
that inserting a row that points to a locked one does not wait. A candidate is older than another if its key is less.
"""

from __future__ import annotations

import hashlib
import logging
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from common.wire import TaskRequest
from server.accounts.models import Contributor
from server.errors import GameRefused, NoJob, NoRun, OnlyRatingNow, OutdatedClient, Unavailable
from server.jobs.choice import Asker, Assignment, Draws, Nothing, choose
from server.jobs.gating import Verdict, verdict
from server.jobs.models import Gate, GateState, Job, JobKind, JobState, JobText
from server.jobs.selectors import situation_for
from server.networks.models import Network, NetworkState
from server.runs.models import PromotionRule, Run, RunState
from server.runs.revisions import parse_revisions, refusal_of
from server.runs.selectors import current_run

logger = logging.getLogger(__name__)

LATE_GAMES: Final = timedelta(days=14)
"""How long after the end of its lease a job still takes games. KataGo's client tries to send one for six days."""


# ------------------------------------------------------------------------------------------------------- handing out


def job_request(*, contributor: Contributor, request: TaskRequest, own_client: bool) -> Job:
    """Choose a job for the client and lease it.

    Raises:
        NoRun, Unavailable, OutdatedClient, NoJob, OnlyRatingNow: there is no job, with the reason.
    """
    now = timezone.now()
    run = _run_with_jobs()
    Contributor.objects.filter(pk=contributor.pk).update(client_revision=request.git_revision, last_seen=now)
    refusal = refusal_of(request.git_revision, parse_revisions(run.client_revisions), now.date())
    if refusal is not None:
        raise OutdatedClient(
            f"this client (revision {request.git_revision or 'not told'!r}) cannot play for the run {run.name}: "
            f"{refusal}. Please update it; the run's page {run.name} names the versions that can"
        )
    asker = Asker(request.allow_selfplay_task, request.allow_rating_task, own_client=own_client)
    with transaction.atomic():
        gates = list(_lock_open_gates(run, wait=not asker.allow_selfplay)) if asker.allow_rating else []
        chosen = choose(situation_for(run, gates, now), asker, _draws())
        if isinstance(chosen, Nothing):
            raise (OnlyRatingNow if chosen.only_rating else NoJob)(chosen.reason)
        return _lease(run, contributor, request, chosen, now)


def _run_with_jobs() -> Run:
    run = current_run()
    if run is None:
        raise NoRun
    if run.state == RunState.PAUSED:
        raise Unavailable(f"the run {run.name} is paused; jobs are given again when it goes on")
    return run


def _lock_open_gates(run: Run, *, wait: bool) -> list[Gate]:
    """The open gates, locked so that no two requests hand out the same missing games.

    Who may play anything does not wait for a gate that another request has locked, and gets another job.
    """
    gates = Gate.objects.select_for_update(no_key=True, skip_locked=not wait)
    return list(gates.filter(run=run, state=GateState.OPEN).order_by("pk"))


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
        text=_text_of(run.selfplay_config if chosen.kind == JobKind.SELFPLAY else run.gating_config),
        games=request.task_rep_factor,
        client_revision=request.git_revision,
        expires_at=now + timedelta(seconds=run.lease_seconds),
    )
    job.save(force_insert=True)
    if chosen.gate is not None:
        Gate.objects.filter(pk=chosen.gate).update(handed_out=F("handed_out") + 1)
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
        Gate.objects.filter(pk=job.gate_id).update(pending=F("pending") + 1)


# ------------------------------------------------------------------------------------------------------------- gates


def candidate_admit(candidate: Network) -> Gate | None:
    """Do with a new candidate what the run's rule says: open a gate, or promote it at once.

    Candidates whose gate has not begun give way to the new one. Inside the caller's transaction.
    """
    run = Run.objects.select_for_update(no_key=True).get(pk=candidate.run_id)
    current = run.current_network
    if run.promotion_rule == PromotionRule.ALWAYS or current is None:
        _promote(run, candidate)
        return None
    for gate in Gate.objects.select_for_update(no_key=True).filter(run=run, state=GateState.OPEN).order_by("pk"):
        if gate.handed_out == 0:
            _close_gate(gate, GateState.SUPERSEDED)
            _reject(gate.candidate_id)
    return _open_gate(run, current, candidate)


def _open_gate(run: Run, opponent: Network, candidate: Network) -> Gate:
    gate = Gate(
        run=run,
        candidate=candidate,
        opponent=opponent,
        games=run.gate_games,
        required=run.gate_required,
    )
    gate.save(force_insert=True)
    logger.info("gate of %s against %s: %d games", candidate.name, opponent.name, gate.games)
    return gate


@dataclass
class GateChange:
    """What a batch of judged games changes at one gate; negative where moderation takes games back."""

    pending: int = 0
    played: int = 0
    half_points: int = 0


def gates_change(changes: dict[int, GateChange]) -> None:
    """Apply ``changes`` by gate, and decide the gates that are decided by them; inside the caller's transaction.

    A gate that is closed keeps the points with which it was decided.
    """
    if not changes:
        return
    runs = Gate.objects.filter(pk__in=changes).values("run")
    list(Run.objects.select_for_update(no_key=True).filter(pk__in=runs).order_by("pk"))
    for key in sorted(changes):
        gate = Gate.objects.select_for_update(no_key=True).get(pk=key)
        change = changes[key]
        gate.pending = max(0, gate.pending + change.pending)
        if gate.state == GateState.OPEN:
            gate.played += change.played
            gate.half_points += change.half_points
        gate.save(update_fields=["pending", "played", "half_points"])
        _conclude(gate)


def _conclude(gate: Gate) -> None:
    """Promote or reject the candidate of an open gate whose games decide it."""
    if gate.state != GateState.OPEN:
        return
    outcome = verdict(games=gate.games, required=gate.required, played=gate.played, half_points=gate.half_points)
    if outcome is Verdict.UNDECIDED:
        return
    candidate = Network.objects.get(pk=gate.candidate_id)
    if outcome is Verdict.PASSED:
        _close_gate(gate, GateState.PASSED)
        _promote(Run.objects.get(pk=gate.run_id), candidate)
    else:
        _close_gate(gate, GateState.FAILED)
        _reject(candidate.pk)
    logger.info("gate of %s %s: %g of %d points", candidate.name, gate.state, gate.points, gate.played)


def _promote(run: Run, network: Network) -> None:
    """Make ``network`` current, with the run locked; one of the next size makes that the run's size.

    Other open gates are over: older candidates are rejected, younger ones get a gate against the new network.
    """
    network.state = NetworkState.ACCEPTED
    network.training_games_enabled = True
    network.save(update_fields=["state", "training_games_enabled"])
    run.current_network = network
    if network.architecture and network.architecture == run.next_architecture:
        run.architecture, run.next_architecture = run.next_architecture, ""
        logger.info("run %s goes on with the size %s", run.name, run.architecture)
    run.save(update_fields=["current_network", "architecture", "next_architecture"])
    logger.info("network %s is now the current one of run %s", network.name, run.name)
    for other in Gate.objects.select_for_update(no_key=True).filter(run=run, state=GateState.OPEN).order_by("pk"):
        _close_gate(other, GateState.SUPERSEDED)
        if other.candidate_id < network.pk:
            _reject(other.candidate_id)
        else:
            _open_gate(run, network, Network.objects.get(pk=other.candidate_id))


def _close_gate(gate: Gate, state: GateState) -> None:
    gate.state = state
    gate.decided_at = timezone.now()
    gate.save(update_fields=["state", "decided_at"])


def _reject(network: int) -> None:
    Network.objects.filter(pk=network).update(state=NetworkState.REJECTED)
