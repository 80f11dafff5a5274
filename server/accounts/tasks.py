"""Entry points for Celery."""

from __future__ import annotations

from django.contrib.sessions.backends.db import SessionStore
from django.utils import timezone

from server.accounts.counting import requests_forget
from server.accounts.letters import letters_send
from server.accounts.models import VerifiedLogin
from server.accounts.registration import unconfirmed_forget
from server.accounts.throttling import counts_forget
from server.celery import app


@app.task(name="server.accounts.tasks.forget_logins")
def forget_logins() -> int:
    """Remove counts, notes and sessions that matter no more, and accounts that nobody confirmed; returns how many."""
    SessionStore.clear_expired()
    notes = VerifiedLogin.objects.filter(until__lt=timezone.now()).delete()[0]
    return notes + counts_forget() + requests_forget() + unconfirmed_forget()


@app.task(name="server.accounts.tasks.send_letters")
def send_letters() -> int:
    """Send e-mails that are due; returns how many went."""
    return letters_send()
