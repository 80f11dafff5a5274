"""Celery's way to the services of this app. A worker of this queue runs one process: ``--pool solo``.

The services, and torch with them, are imported by the first task, since every worker loads this module.
"""

from __future__ import annotations

import threading
from typing import Any, Final

from celery import shared_task
from celery.signals import worker_shutting_down

from server.celery import send_hint
from server.runs import selectors as runs
from server.training.sizes import trained_nets

stopping = threading.Event()
"""Set when this process is asked to end: the running slice stops and saves."""


TRAIN_TASK: Final = "server.training.tasks.train"


@shared_task(name=TRAIN_TASK, ignore_result=True)
def train() -> None:
    """Train every size of every open run for a slice; asks for the next one while there is something to train."""
    from server.training import services

    go_on = False
    trained = [net for run in runs.open_runs() for net in trained_nets(run)]
    services.end_other_sessions(trained)
    for net in trained:
        go_on |= services.training_slice(net, stopping)
    if go_on and not stopping.is_set():
        send_hint(TRAIN_TASK)


@worker_shutting_down.connect
def _stop_slice(**_: Any) -> None:
    stopping.set()
