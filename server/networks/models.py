"""A network: its file by content, where it came from, what it may be used for, and what it has played.

Invariants are constraints. States change only through `server.networks.services` and `server.gates.services`; what is
counted only through `server.games.moving`.
"""

from __future__ import annotations

from typing import Final

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from common.wire import MAX_NETWORK_NAME_LENGTH
from server.names import name_validator
from server.runs.models import Run

NAME_PATTERN: Final = r"^[A-Za-z0-9]+(-[A-Za-z0-9]+)+$"
"""Letters, digits and hyphens; the first part is the run's name (contribute-protocol.md 14)."""
MAX_FAULT: Final = 300
NAME_ALLOWED: Final = (
    "A network's name is the name of its run, a hyphen, and letters (A to Z, a to z), digits and single hyphens."
)


class NetworkState(models.TextChoices):
    """Where a network stands."""

    SEED = "seed", "seed: a run began with it"
    CANDIDATE = "candidate", "candidate: waits for its gate"
    ACCEPTED = "accepted", "accepted"
    REJECTED = "rejected", "rejected"


class Network(models.Model):
    """One network of a run; its file never changes."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="networks")
    name = models.CharField(
        max_length=MAX_NETWORK_NAME_LENGTH, unique=True, validators=[name_validator(NAME_PATTERN, NAME_ALLOWED)]
    )
    state = models.CharField(max_length=9, choices=NetworkState.choices)
    created_at = models.DateTimeField(auto_now_add=True)
    architecture = models.CharField(max_length=64, blank=True)
    is_random = models.BooleanField(default=False, help_text="Has no file: clients play with a uniform evaluator.")
    file = models.CharField(max_length=200, blank=True, help_text="Name of the .bin.gz in the storage.")
    file_bytes = models.PositiveBigIntegerField(default=0)
    file_sha256 = models.CharField(max_length=64, blank=True)
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="children")
    train_step = models.PositiveBigIntegerField(default=0, help_text="Samples that it was trained on.")
    data_rows = models.PositiveBigIntegerField(default=0, help_text="Rows of the run when it was exported.")
    training_games_enabled = models.BooleanField(default=False)
    rating_games_enabled = models.BooleanField(default=True)
    suits_katago_client = models.BooleanField(
        default=False, help_text="KataGo's own client may play self-play games with it: it passes that client's test."
    )
    katago_fault = models.CharField(
        max_length=MAX_FAULT, blank=True, default="", db_default="", help_text="Why it does not, if it was found out."
    )
    zip_file = models.CharField(
        max_length=200, blank=True, default="", db_default="", help_text="Name of the training checkpoint's .zip."
    )
    extra_stats = models.JSONField(default=dict, db_default={}, blank=True, help_text="What its maker tells of it.")
    log_gamma_offset = models.FloatField(
        default=0.0, db_default=0.0, help_text="Added to its strength where the strongest network is chosen."
    )
    notes = models.CharField(max_length=1024, blank=True)

    training_games = models.PositiveBigIntegerField(default=0, help_text="Counted games that it played with itself.")
    training_rows = models.PositiveBigIntegerField(default=0)
    match_games = models.PositiveBigIntegerField(default=0, help_text="Counted games against other networks.")

    class Meta:
        constraints = (
            models.CheckConstraint(condition=Q(name__regex=NAME_PATTERN), name="network_name"),
            models.CheckConstraint(condition=Q(state__in=NetworkState.values), name="network_state"),
            models.CheckConstraint(
                condition=Q(is_random=True, file="", file_sha256="", file_bytes=0)
                | Q(is_random=False, file__gt="", file_sha256__regex=r"^[0-9a-f]{64}$", file_bytes__gt=0),
                name="network_has_a_file_or_is_random",
            ),
            models.UniqueConstraint(Lower("name"), name="network_name_any_case"),
        )
        indexes = (
            models.Index(fields=["run", "-created_at"], name="network_newest"),
            models.Index(
                fields=["run", "match_games", "-id"],
                condition=Q(state__in=[NetworkState.SEED, NetworkState.ACCEPTED], rating_games_enabled=True),
                name="network_least_played",
            ),
        )

    def __str__(self) -> str:
        return self.name
