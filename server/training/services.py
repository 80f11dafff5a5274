"""Training a size of a run for a slice of time, under a lease: what is due can always be read from the database.

A slice: take the lease; gather new rows; train for at most `plan.TrainingPlan.slice_seconds`; save when it is due; then
report what was measured; at the end of an epoch register the candidate. The checkpoint is in the storage before the
state names it, and a candidate is registered after the checkpoint that it was exported from, so a process that is
killed anywhere is followed by one that repeats the lost steps and nothing else.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any, Final

from celery.signals import worker_shutdown
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from common.npz import RowsError
from nets.training.bad_batches import BadBatchesError
from nets.training.checkpoint import CheckpointError
from nets.training.optimizer import DivergedError
from nets.training.trainer import SliceEnd, SliceReport
from nets.training.validation import has_caught_up
from server.errors import InvalidSettings, Unavailable
from server.gates.services import candidate_register
from server.networks.services import NewNetwork
from server.runs.models import RunTotals
from server.training.model_files import read_model
from server.training.models import TrainingMetric, TrainingState
from server.training.plan import plan_of
from server.training.selectors import recent_losses
from server.training.session import Session, open_session
from server.training.sizes import TrainedNet

logger = logging.getLogger(__name__)

LEASE: Final = timedelta(seconds=60)
"""How long a killed trainer holds up the next one at most."""
HEARTBEAT_S: Final = 10.0

OWNER: Final = f"{socket.gethostname()[:50]}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
_sessions: dict[TrainedNet, Session] = {}
_LOGGED: Final = ("total", "policy", "value")
"""Losses in the log's line of a slice."""
_EXPLAINED: Final = (InvalidSettings, CheckpointError, DivergedError, BadBatchesError, RowsError, Unavailable, OSError)
"""Errors whose texts say what to do."""


def training_slice(net: TrainedNet, stopping: threading.Event) -> bool:
    """Train a size of a run for a slice, if no other process does; True if it makes sense to go on at once.

    A slice that is under way when ``stopping`` is set ends soon and saves.
    """
    if not lease_take(net):
        return False
    try:
        state = net.state.get()
        session = _session(net, state)
        session.shards.update(lambda: not stopping.is_set())
        if session.candidate_due and session.trainer.samples > state.last_candidate_samples:
            _offer_candidate(net, session)
        report = session.run(Heartbeat(net, stopping))
        if session.save_due(report):
            _save(net, session)
        _record(net, report)
        if report.outcome is SliceEnd.EPOCH_DONE:
            _offer_candidate(net, session)
        _tell(net, _describe(session, report), report)
        return report.outcome in (SliceEnd.TIME_OVER, SliceEnd.EPOCH_DONE, SliceEnd.STEPS_DONE)
    except Exception as error:  # whatever it is, the run's page tells it, and the next task tries again
        logger.exception("training of %s", net)
        _forget(net)
        what = str(error) if isinstance(error, _EXPLAINED) else f"{type(error).__name__}: {error}"
        _note(net, activity="", trouble=f"{what} (the trainer tries again by itself; its log has the details)")
        return False
    finally:
        lease_give_back(net)


@worker_shutdown.connect
def save_all(**_: Any) -> None:
    """Save what the sessions of this process have not saved yet, and end them; called when the worker ends."""
    for net, session in list(_sessions.items()):
        if session.unsaved and lease_take(net):
            try:
                if net.state.get().checkpoint == session.checkpoint:
                    _save(net, session)
            finally:
                lease_give_back(net)
        _forget(net)


def end_other_sessions(nets: Collection[TrainedNet]) -> None:
    """End this process's sessions of sizes that are no longer trained, and what their pages say of them."""
    for net in set(_sessions) - set(nets):
        _forget(net)
        _note(net, activity="", trouble="")


# ------------------------------------------------------------------------------------------------------------- leases


def lease_take(net: TrainedNet) -> bool:
    """Take or renew this process's lease on the training of ``net``; False while another process holds it."""
    TrainingState.objects.get_or_create(
        run=net.run, architecture=net.architecture, defaults={"from_seed": not net.is_next}
    )
    now = timezone.now()
    free = Q(lease_owner=OWNER) | Q(lease_until=None) | Q(lease_until__lt=now)
    return bool(net.state.filter(free).update(lease_owner=OWNER, lease_until=now + LEASE))


def lease_give_back(net: TrainedNet) -> None:
    """Let others train ``net``."""
    net.state.filter(lease_owner=OWNER).update(lease_owner="", lease_until=None)


class Heartbeat:
    """Tells a trainer whether to stop, and renews the lease while it asks."""

    def __init__(self, net: TrainedNet, stopping: threading.Event) -> None:
        self._net = net
        self._stopping = stopping
        self._renewed = time.monotonic()

    def __call__(self) -> bool:
        if self._stopping.is_set():
            return True
        if time.monotonic() - self._renewed < HEARTBEAT_S:
            return False
        self._renewed = time.monotonic()
        return not lease_take(self._net)


# -------------------------------------------------------------------------------------------------------------- parts


def _session(net: TrainedNet, state: TrainingState) -> Session:
    """The session of this process if it stands where the state says, else a new one from the state's checkpoint."""
    session = _sessions.get(net)
    if session is not None and session.checkpoint == state.checkpoint:
        if not session.is_outdated(plan_of(net.run, net.architecture)):
            return session
        logger.info("%s: the settings were changed; the training goes on with the new ones", net)
        if session.unsaved:
            _save(net, session)
            state.refresh_from_db()
    _forget(net)
    _note(net, activity="loading", trouble=state.trouble)
    session = _sessions[net] = open_session(net, state)
    return session


def _forget(net: TrainedNet) -> None:
    session = _sessions.pop(net, None)
    if session is not None:
        session.close()


def _save(net: TrainedNet, session: Session) -> None:
    """Store a checkpoint, then name it in the state; the one before the previous goes."""
    with transaction.atomic():
        state = net.state.select_for_update().get()
        outdated = state.previous_checkpoint
        state.previous_checkpoint = state.checkpoint
        state.checkpoint = session.save()
        state.samples = session.trainer.samples
        state.saved_at = timezone.now()
        state.save(update_fields=["previous_checkpoint", "checkpoint", "samples", "saved_at"])
    if outdated and outdated not in (state.checkpoint, state.previous_checkpoint):
        default_storage.delete(outdated)


def _offer_candidate(net: TrainedNet, session: Session) -> None:
    """Export the averaged net and register it; done again after a kill, it is the same network.

    A next size offers nothing until its losses have caught up (training.md 9).
    """
    samples, run = session.trainer.samples, net.run
    run.refresh_from_db()
    if net.architecture != run.architecture and not _next_size_is_due(net, session):
        return
    rows = RunTotals.objects.get(run=run).training_rows
    name = f"{run.name}-{_architecture_word(net.architecture)}-s{samples}"
    path = session.export(name)
    candidate_register(
        NewNetwork(
            run=run,
            name=name,
            model=read_model(path),
            architecture=net.architecture,
            parent=run.current_network,
            train_step=samples,
            data_rows=rows,
        )
    )
    path.unlink()
    logger.info("%s: the network %s is a candidate", net, name)
    net.state.update(last_candidate_samples=samples)


def _next_size_is_due(net: TrainedNet, session: Session) -> bool:
    """Whether the losses of a next size, over its last epoch, are as low as those of the run's size over its own."""
    epoch = session.plan.config.bucket.samples_per_epoch
    current = TrainedNet(net.run, net.run.architecture)
    return net.architecture == net.run.next_architecture and has_caught_up(
        recent_losses(net, epoch), recent_losses(current, epoch)
    )


def _architecture_word(architecture: str) -> str:
    """The architecture as one part of a network's name, e.g. ``b2c32``."""
    return "".join(letter for letter in architecture.split("-")[0] if letter.isalnum())


def _record(net: TrainedNet, report: SliceReport) -> None:
    if not report.steps:
        return
    TrainingMetric.objects.update_or_create(
        run=net.run,
        architecture=net.architecture,
        samples=report.samples,
        defaults={
            "rows": report.rows,
            "losses": _rounded(report.losses),
            "validation": _rounded(report.validation),
            "samples_per_second": report.samples_per_second,
            "waiting_share": report.waiting_share,
        },
    )


def _rounded(losses: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 6) for name, value in losses.items()}


def _describe(session: Session, report: SliceReport) -> str:
    if report.steps:
        text = f"training in {session.trainer.precision.now}, {report.samples_per_second:,.0f} samples/s"
        return text + (f"; {report.set_aside:,} batches set aside (see its log)" if report.set_aside else "")
    rows = f"{session.trainer.rows:,} rows here"
    if report.outcome is SliceEnd.FEW_ROWS:
        config = session.plan.config
        rows += (
            f", training begins with {config.window.min_rows:,}, in shards of {session.plan.shard_rows:,}; "
            f"a batch takes {config.batch:,}"
        )
    return f"waiting: {report.outcome} ({rows})"


def _tell(net: TrainedNet, activity: str, report: SliceReport) -> None:
    """Say on the page and in the log what a slice did; a wait is logged when it begins, or changes."""
    known = net.state.values_list("activity", flat=True).first()
    if report.steps:
        losses = ", ".join(f"{name} {report.losses[name]:.4f}" for name in _LOGGED if name in report.losses)
        logger.info("%s: %s, %d samples in all, %d rows; %s", net, activity, report.samples, report.rows, losses)
    elif activity[:200] != known:
        logger.info("%s: %s", net, activity)
    _note(net, activity=activity, trouble="")


def _note(net: TrainedNet, *, activity: str, trouble: str) -> None:
    net.state.update(activity=activity[:200], trouble=trouble)
