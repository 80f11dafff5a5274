"""Who contributes: a Django user, and beside it what the project counts and allows.

Invariants are constraints; what is counted is changed only by `server.games.moving`, in the same transaction as the
state of the game that it counts.
"""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import Q

USERNAME_PATTERN: Final = r"^[\w.+-]{3,60}$"
"""3 to 60 letters of any script, digits and ``.+-_`` (contribute-protocol.md 16)."""


class Contributor(models.Model):
    """A user who may play games for runs, with totals over all runs."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="contributor")
    may_contribute = models.BooleanField(
        default=True, help_text="Without it the login still works, but no jobs are given and no games are taken."
    )
    email_verified = models.BooleanField(
        default=True,
        db_default=True,
        help_text="The e-mail address was shown to be theirs; set, too, for who has the account from a maintainer.",
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
            models.Index(fields=["created_at"], condition=Q(email_verified=False), name="contributor_unverified"),
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


class RequestCount(models.Model):
    """Requests of a user or an address since a moment; written by `server.accounts.counting`.

    The table is unlogged (migrations): a crash of the database empties it, and a count costs no wait for the disk.
    """

    key = models.CharField(max_length=64, primary_key=True, help_text="Digest of what is counted.")
    since = models.DateTimeField(db_index=True)
    attempts = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.attempts} since {self.since:%Y-%m-%d %H:%M:%S}"


class VerifiedLogin(models.Model):
    """That a user's password was verified, for all processes; at most one per user. Unlogged, as `RequestCount`."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="verified_login"
    )
    digest = models.CharField(max_length=64, help_text="Of stored hash and password, keyed with the server's secret.")
    until = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"until {self.until:%Y-%m-%d %H:%M:%S}"


class ClientToken(models.Model):
    """What a client logs in with in place of a password: made and revoked by its user, kept as a hash."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="client_tokens")
    name = models.CharField(max_length=60, help_text="What its user calls it, such as the machine's name.")
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the token, which is random.")
    created_at = models.DateTimeField(auto_now_add=True)
    last_used = models.DateField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name


class LetterKind(models.TextChoices):
    """What is written to a user."""

    VERIFY = "verify", "asks whether an address is theirs"
    RESET = "reset", "leads to a new password"
    KNOWN = "known", "somebody signed up with their address"


class Letter(models.Model):
    """An e-mail that is to be sent; what is secret in it is made when it is. Goes with its being sent."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="letters")
    kind = models.CharField(max_length=8, choices=LetterKind.choices)
    address = models.EmailField()
    site = models.URLField(help_text="Scheme and host by which its user reached us.")
    due_at = models.DateTimeField(db_index=True)
    tries = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["user", "kind"], name="letter_of_user"),
            models.CheckConstraint(condition=Q(kind__in=LetterKind.values), name="letter_kind"),
        )

    def __str__(self) -> str:
        return f"{self.kind} due at {self.due_at:%Y-%m-%d %H:%M:%S}"
