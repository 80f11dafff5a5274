"""Which configuration text a run serves: its own, or the last one that was proved (`server.runs.proving`)."""

from __future__ import annotations

import logging
from typing import Final

from django.db import transaction

from common.parameters import TextKind
from server.errors import Unavailable
from server.runs.models import Run
from server.runs.proving import Prover, is_shipped
from server.runs.selectors import open_runs

logger = logging.getLogger(__name__)

KINDS: Final[tuple[TextKind, ...]] = ("selfplay", "gating")


def wanted_text(run: Run, kind: TextKind) -> str:
    """The text that the run's maintainers gave."""
    text: str = getattr(run, f"{kind}_config")
    return text


def served_text(run: Run, kind: TextKind) -> str:
    """The text that clients get.

    Raises:
        Unavailable: the run proves its texts, and none has been proved yet.
    """
    wanted = wanted_text(run, kind)
    if not run.prove_texts or is_shipped(kind, wanted):
        return wanted
    served: str = getattr(run, f"served_{kind}_config")
    if not served:
        why = f": {run.text_fault}" if run.text_fault else "; that takes some minutes"
        raise Unavailable(f"the texts of the run {run.name} have not been proved by a game yet{why}")
    return served


def is_waiting(run: Run, kind: TextKind) -> bool:
    """Whether a text is to be proved: not after it failed, until it is changed."""
    wanted = wanted_text(run, kind)
    return (
        run.prove_texts
        and not is_shipped(kind, wanted)
        and getattr(run, f"served_{kind}_config") != wanted
        and getattr(run, f"failed_{kind}_config") != wanted
    )


def texts_prove(play: Prover) -> int:
    """Prove the texts of all runs that are not closed; returns how many were played by."""
    proved = 0
    for run in open_runs():
        for kind in KINDS:
            if is_waiting(run, kind):
                text = wanted_text(run, kind)
                _note(run.pk, kind, text, play(kind, text, run.data_board_len))
                proved += 1
    return proved


def _note(key: int, kind: TextKind, text: str, fault: str) -> None:
    """Serve a text that holds, if it is still wanted; keep why another one does not."""
    with transaction.atomic():
        run = Run.objects.select_for_update(no_key=True).get(pk=key)
        if wanted_text(run, kind) != text:
            return  # it was changed meanwhile, and waits again
        field = f"failed_{kind}_config" if fault else f"served_{kind}_config"
        setattr(run, field, text)
        run.text_fault = f"{kind}_config: {fault}" if fault else ""
        run.save(update_fields=[field, "text_fault"])
    if fault:
        logger.error("run %s: its %s is not served: %s", run.name, f"{kind}_config", fault)
    else:
        logger.info("run %s: its %s is proved by a game, and served", run.name, f"{kind}_config")
