"""Entry points for Celery: the queue ``recheck`` looks at games again, and logins are compared with others."""

from __future__ import annotations

import logging
import time
from typing import Any, Final

from django.db import InterfaceError, OperationalError

from server.celery import app
from server.games.rechecks import RECHECK
from server.gates.selectors import gates_to_confirm
from server.gates.services import SAMPLE
from server.inspection.verdicts import look as look_at
from server.inspection.verdicts import looks_due

logger = logging.getLogger(__name__)

BATCH: Final = 16
SLICE_SECONDS: Final = 45.0
"""After this time a further message takes over, so that no message runs into a broker's time limit."""
LOOKS: Final = 200

_networks: list[Any] = []


def _loaded_networks() -> Any:
    """The networks of this process."""
    from server.inspection.evaluation import Networks  # torch; only a worker of this queue pays for it

    if not _networks:
        _networks.append(Networks())
    return _networks[0]


@app.task(name="server.inspection.tasks.replay")
def replay() -> int:
    """Look at games of gates that wait for it; returns how many."""
    if not gates_to_confirm():
        return 0  # before torch is loaded
    from server.inspection.replays import replays_run

    began = time.monotonic()
    looked_at = 0
    while replays_run(_loaded_networks()):
        looked_at += 1
        if time.monotonic() - began > SLICE_SECONDS:
            SAMPLE.send()
            break
    return looked_at


@app.task(name="server.inspection.tasks.recheck")
def recheck() -> int:
    """Evaluate rows of the games that were drawn; returns how many games."""
    from server.inspection.evaluation import rechecks_run

    networks = _loaded_networks()
    began = time.monotonic()
    looked_at = 0
    while count := rechecks_run(networks, BATCH):
        looked_at += count
        if time.monotonic() - began > SLICE_SECONDS:
            RECHECK.send()
            break
    return looked_at


@app.task(name="server.inspection.tasks.look")
def look() -> int:
    """Compare the logins that have twice as many games as at the last look; returns how many."""
    due = looks_due(LOOKS)
    for key in due:
        try:
            look_at(key)
        except (OperationalError, InterfaceError):
            raise
        except Exception:  # one login's trouble is not another's
            logger.exception("the games of standing %d cannot be compared", key)
    return len(due)
