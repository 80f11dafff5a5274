"""Entry points for Celery."""

from __future__ import annotations

from server.accounts.throttling import counts_forget
from server.celery import app


@app.task(name="server.accounts.tasks.forget_logins")
def forget_logins() -> int:
    """Remove counts of logins that matter no more; returns how many."""
    return counts_forget()
