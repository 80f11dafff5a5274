"""Entry points for Celery."""

from __future__ import annotations

from server.celery import app
from server.runs.proving import play_by
from server.runs.texts import texts_prove


@app.task(name="server.runs.tasks.prove_texts")
def prove_texts() -> int:
    """Play by the texts that wait for it; returns how many."""
    return texts_prove(play_by)
