"""Who contributes: a Django user, and beside it what the project counts and allows.

Invariants are constraints; what is counted is changed only by `server.games.moving`, in the same transaction as the
state of the game that it counts.
"""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.db import models

USERNAME_PATTERN: Final = r"^[\w.+-]{3,60}$"
"""3 to 60 letters of any script, digits and ``.+-_`` (contribute-protocol.md 16)."""


class Contributor(models.Model):
    """A user who may play games for runs, with totals over all runs."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="contributor")
    may_contribute = models.BooleanField(
        default=True, help_text="Without it the login still works, but no jobs are given and no games are taken."
    )
    client_revision = models.CharField(max_length=80, blank=True, help_text="Told by the last request for a job.")
    last_seen = models.DateTimeField(null=True, blank=True, help_text="Last request for a job.")
    training_games = models.PositiveBigIntegerField(default=0, help_text="Counted, that is: audited and not refused.")
    training_rows = models.PositiveBigIntegerField(default=0)
    match_games = models.PositiveBigIntegerField(default=0)
    refused_games = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (
            models.Index(fields=["-training_rows"], name="contributor_by_rows"),
            models.Index(fields=["-training_games"], name="contributor_by_games"),
            models.Index(fields=["-last_seen"], name="contributor_last_seen"),
        )

    def __str__(self) -> str:
        return str(self.user.get_username())


class LoginCount(models.Model):
    """Tries of passwords for an account or from an address since a moment; written by `server.accounts.throttling`."""

    key = models.CharField(max_length=64, primary_key=True, help_text="Digest of the account or of the address.")
    since = models.DateTimeField(db_index=True)
    attempts = models.PositiveIntegerField(default=0)
    known = models.BooleanField(
        default=False, db_default=False, help_text="No count: this account has logged in from this address."
    )

    def __str__(self) -> str:
        return f"{self.attempts} since {self.since:%Y-%m-%d %H:%M:%S}"
