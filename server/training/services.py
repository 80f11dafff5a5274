"""Training a run for a slice of time, under a lease, so that what is due can always be read from the database.

A slice: take the lease; gather new rows; train for at most `plan.TrainingPlan.slice_seconds`; save when it is due; at
the end of an epoch register the candidate. The checkpoint is in the storage before the state names it, and a candidate
is registered after the checkpoint that it was exported from, so a process that is killed anywhere is followed by one
that repeats the lost steps and nothing else.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from datetime import timedelta
from typing import Any, Final

from celery.signals import worker_shutdown
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from common.npz import RowsError
from nets.checkpoint import CheckpointError
from nets.optimizer import DivergedError
from nets.trainer import Outcome, SliceReport
from server.errors import InvalidSettings, Unavailable
from server.networks.services import network_register
from server.runs.models import Run, RunTotals
from server.training.models import TrainingMetric, TrainingState
from server.training.session import Session, open_session

logger = logging.getLogger(__name__)

LEASE: Final = timedelta(seconds=60)
"""How long a killed trainer holds up the next one at most."""
HEARTBEAT_S: Final = 10.0

OWNER: Final = f"{socket.gethostname()[:50]}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
_sessions: dict[int, Session] = {}


def training_slice(run: Run, stopping: threading.Event) -> bool:
    """Train ``run`` for a slice, if no other process does; True if it makes sense to go on at once.

    A slice that is under way when ``stopping`` is set ends soon and saves.
    """
    if not lease_take(run):
        return False
    try:
        state = TrainingState.objects.get(run=run)
        session = _session(run, state)
        session.shards.update(lambda: not stopping.is_set())
        if session.candidate_due and session.trainer.samples > state.last_candidate_samples:
            _register_candidate(run, session)
        report = session.run(Heartbeat(run, stopping))
        _record(run, report)
        if session.save_due(report):
            _save(run, session)
        if report.outcome is Outcome.EPOCH_DONE:
            _register_candidate(run, session)
        _note(run, activity=_describe(session, report), trouble="")
        return report.outcome in (Outcome.TIME_OVER, Outcome.EPOCH_DONE, Outcome.STEPS_DONE)
    except (InvalidSettings, CheckpointError, DivergedError, RowsError, Unavailable, OSError) as error:
        logger.exception("training of %s", run.name)
        _forget(run)
        _note(run, activity="", trouble=f"{error} (the trainer tries again by itself; its log has the details)")
        return False
    finally:
        lease_give_back(run)


@worker_shutdown.connect
def save_all(**_: Any) -> None:
    """Save what the sessions of this process have not saved yet, and end them; called when the worker ends."""
    for run_id, session in list(_sessions.items()):
        run = Run.objects.get(pk=run_id)
        if session.unsaved and lease_take(run):
            try:
                if TrainingState.objects.get(run=run).checkpoint == session.checkpoint:
                    _save(run, session)
            finally:
                lease_give_back(run)
        _forget(run)


# ------------------------------------------------------------------------------------------------------------- leases


def lease_take(run: Run) -> bool:
    """Take or renew this process's lease on the training of ``run``; False while another process holds it."""
    TrainingState.objects.get_or_create(run=run)
    now = timezone.now()
    free = Q(lease_owner=OWNER) | Q(lease_until=None) | Q(lease_until__lt=now)
    taken = TrainingState.objects.filter(free, run=run).update(lease_owner=OWNER, lease_until=now + LEASE)
    return bool(taken)


def lease_give_back(run: Run) -> None:
    """Let others train ``run``."""
    TrainingState.objects.filter(run=run, lease_owner=OWNER).update(lease_owner="", lease_until=None)


class Heartbeat:
    """Tells a trainer whether to stop, and renews the lease while it asks."""

    def __init__(self, run: Run, stopping: threading.Event) -> None:
        self._run = run
        self._stopping = stopping
        self._renewed = time.monotonic()

    def __call__(self) -> bool:
        if self._stopping.is_set():
            return True
        if time.monotonic() - self._renewed < HEARTBEAT_S:
            return False
        self._renewed = time.monotonic()
        return not lease_take(self._run)


# -------------------------------------------------------------------------------------------------------------- parts


def _session(run: Run, state: TrainingState) -> Session:
    """The session of this process if it stands where the state says, else a new one from the state's checkpoint."""
    session = _sessions.get(run.pk)
    if session is not None and session.checkpoint == state.checkpoint:
        return session
    _forget(run)
    _note(run, activity="loading", trouble=state.trouble)
    session = _sessions[run.pk] = open_session(run, state.checkpoint)
    return session


def _forget(run: Run) -> None:
    session = _sessions.pop(run.pk, None)
    if session is not None:
        session.close()


def _save(run: Run, session: Session) -> None:
    """Store a checkpoint, then name it in the state; the one before the previous goes."""
    with transaction.atomic():
        state = TrainingState.objects.select_for_update().get(run=run)
        outdated = state.previous_checkpoint
        state.previous_checkpoint = state.checkpoint
        state.checkpoint = session.save()
        state.samples = session.trainer.samples
        state.saved_at = timezone.now()
        state.save(update_fields=["previous_checkpoint", "checkpoint", "samples", "saved_at"])
    if outdated and outdated not in (state.checkpoint, state.previous_checkpoint):
        default_storage.delete(outdated)


def _register_candidate(run: Run, session: Session) -> None:
    """Export the averaged net and register it; done again after a kill, it is the same network."""
    samples = session.trainer.samples
    run.refresh_from_db()
    rows = RunTotals.objects.get(run=run).training_rows
    name = f"{run.name}-{_architecture_word(run)}-s{samples}"
    path = session.export(name)
    network_register(
        run=run,
        name=name,
        path=path,
        architecture=run.architecture,
        parent=run.current_network,
        train_step=samples,
        data_rows=rows,
    )
    path.unlink()
    TrainingState.objects.filter(run=run).update(last_candidate_samples=samples)


def _architecture_word(run: Run) -> str:
    """The architecture as one part of a network's name, e.g. ``b2c32``."""
    return "".join(letter for letter in run.architecture.split("-")[0] if letter.isalnum())


def _record(run: Run, report: SliceReport) -> None:
    if not report.steps:
        return
    TrainingMetric.objects.update_or_create(
        run=run,
        samples=report.samples,
        defaults={
            "rows": report.rows,
            "losses": {name: round(value, 6) for name, value in report.losses.items()},
            "samples_per_second": report.samples_per_second,
            "waiting_share": report.waiting_share,
        },
    )


def _describe(session: Session, report: SliceReport) -> str:
    if report.steps:
        return f"training, {report.samples_per_second:,.0f} samples/s"
    return f"waiting: {report.outcome} ({session.trainer.rows:,} rows here)"


def _note(run: Run, *, activity: str, trouble: str) -> None:
    TrainingState.objects.filter(run=run).update(activity=activity[:200], trouble=trouble)
