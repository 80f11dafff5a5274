"""Uploaded games: what the contributor told, where the files are, and what the audit made of it.

Invariants are constraints. A game is received, then counted or refused; moderation moves it between the last two. Its
state changes only in `server.games.moving`, together with everything that counts it.
"""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from server.accounts.models import Contributor
from server.jobs.models import Job
from server.networks.models import Network
from server.runs.models import Run


class GameKind(models.TextChoices):
    """Which of the two uploads brought a game."""

    TRAINING = "training", "training"
    RATING = "rating", "rating"


class GameState(models.TextChoices):
    """What a game is worth now."""

    RECEIVED = "received", "received: waits for its audit"
    COUNTED = "counted", "counted"
    REFUSED = "refused", "refused"


class Game(models.Model):
    """One uploaded game of either kind."""

    kind = models.CharField(max_length=8, choices=GameKind.choices)
    uid = models.CharField(max_length=32, help_text="kg_game_uid: drawn by the client, in upper case.")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="games")
    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="uploads")
    contributor = models.ForeignKey(Contributor, on_delete=models.PROTECT, related_name="games")
    black_network = models.ForeignKey(Network, on_delete=models.PROTECT, related_name="games_as_black")
    white_network = models.ForeignKey(Network, on_delete=models.PROTECT, related_name="games_as_white")

    board_size_x = models.PositiveSmallIntegerField()
    board_size_y = models.PositiveSmallIntegerField()
    handicap = models.PositiveSmallIntegerField()
    komi = models.DecimalField(max_digits=5, decimal_places=1)
    rules = models.JSONField()
    gametype = models.CharField(max_length=24)
    extra_metadata = models.JSONField()
    winner = models.CharField(max_length=1, help_text="B, W, 0 for a draw, - for no result.")
    score = models.DecimalField(max_digits=6, decimal_places=1, null=True, help_text="White minus Black.")
    resigned = models.BooleanField()
    game_length = models.PositiveIntegerField(help_text="Moves recorded.")
    num_training_rows = models.PositiveIntegerField(default=0)
    net_changes = models.JSONField(
        default=list,
        blank=True,
        help_text="[turn, name of the network] for each change in mid-game; it began with black_network.",
    )
    sgf_file = models.CharField(max_length=200, help_text="Name in the storage.")
    rows_file = models.CharField(max_length=200, blank=True, help_text="Name of the .npz in the storage.")

    is_decisive = models.BooleanField(
        default=True,
        help_text="Counts for gates and ratings; not so a match game that the move limit stopped, if the run says so.",
    )
    state = models.CharField(max_length=8, choices=GameState.choices, default=GameState.RECEIVED)
    reason_code = models.CharField(max_length=64, blank=True, help_text="Why it was refused, for programs.")
    reason = models.TextField(blank=True, help_text="Why it was refused, for people.")
    received_at = models.DateTimeField(auto_now_add=True)
    judged_at = models.DateTimeField(null=True, blank=True)
    audits = models.PositiveSmallIntegerField(default=0, help_text="Audits begun.")
    audit_until = models.DateTimeField(null=True, blank=True, help_text="A worker audits it until then.")
    number = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        help_text="Position among the counted games of its run, in the order in which they became visible; never "
        "given twice. Whoever has read up to a number has missed nothing below it.",
    )
    last_row = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="Rows of the run up to and with this game when it was first counted."
    )

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["kind", "uid"], name="game_uid"),
            models.UniqueConstraint(fields=["run", "number"], name="game_number"),
            models.CheckConstraint(condition=Q(kind__in=GameKind.values), name="game_kind"),
            models.CheckConstraint(condition=Q(state__in=GameState.values), name="game_state"),
            models.CheckConstraint(
                condition=~Q(state=GameState.COUNTED) | Q(number__isnull=False, last_row__isnull=False),
                name="game_counted_has_number",
            ),
            models.CheckConstraint(
                condition=Q(state=GameState.RECEIVED, judged_at=None)
                | (~Q(state=GameState.RECEIVED) & Q(judged_at__isnull=False)),
                name="game_judged_at",
            ),
            models.CheckConstraint(condition=~Q(state=GameState.REFUSED) | Q(reason__gt=""), name="game_reason"),
            models.CheckConstraint(
                condition=Q(kind=GameKind.TRAINING, rows_file__gt="", num_training_rows__gte=1)
                | Q(kind=GameKind.RATING, rows_file="", num_training_rows=0),
                name="game_rows",
            ),
            models.CheckConstraint(
                condition=Q(kind=GameKind.TRAINING) | ~Q(black_network=F("white_network")), name="game_two_networks"
            ),
            models.CheckConstraint(condition=Q(winner__in=["B", "W", "0", "-"]), name="game_winner"),
        )
        indexes = (
            models.Index(fields=["id"], condition=Q(state=GameState.RECEIVED), name="game_waiting"),
            models.Index(fields=["contributor", "-id"], name="game_of_contributor"),
            models.Index(fields=["black_network", "-id"], name="game_of_black"),
            models.Index(fields=["white_network", "-id"], name="game_of_white"),
            models.Index(fields=["run", "kind", "-id"], name="game_of_run"),
            models.Index(
                fields=["run", "last_row"],
                condition=Q(kind=GameKind.TRAINING, state=GameState.COUNTED),
                name="game_rows_of_run",
            ),
            models.Index(
                fields=["run", "black_network", "white_network", "winner"],
                condition=Q(kind=GameKind.RATING, state=GameState.COUNTED, is_decisive=True),
                name="game_results",
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} game {self.uid}"
