"""Jobs handed out under a lease.

Invariants are constraints. A job is done when its games have arrived; one whose lease has run out still takes them for
a while, then it is closed. Written only by `server.jobs.services`.
"""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q

from common.config_text import overridden
from server.accounts.models import Contributor
from server.gates.models import Gate
from server.networks.models import Network
from server.runs.models import Run


class JobKind(models.TextChoices):
    """What a job is for. On the wire, gating and rating are the same kind of task."""

    SELFPLAY = "selfplay", "self-play"
    GATING = "gating", "gating"
    RATING = "rating", "rating"


class JobState(models.TextChoices):
    """Whether games of a job are still expected."""

    LEASED = "leased", "leased"
    DONE = "done", "done: all its games arrived"
    EXPIRED = "expired", "expired: its missing games may be given to others"
    CLOSED = "closed", "closed: takes no games any more"


class JobText(models.Model):
    """A configuration text as it was handed out; games of a job are held against it, whatever the run says by then."""

    sha256 = models.CharField(max_length=64, unique=True)
    text = models.TextField()

    def __str__(self) -> str:
        return self.sha256[:12]


class WantedMatch(models.Model):
    """A match that a maintainer has asked for; its games are rating games."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="wanted_matches")
    first = models.ForeignKey(Network, on_delete=models.PROTECT, related_name="+")
    second = models.ForeignKey(Network, on_delete=models.PROTECT, related_name="+")
    games = models.PositiveIntegerField(validators=[MinValueValidator(1)], help_text="How many are to be played.")
    received = models.PositiveIntegerField(default=0, help_text="Games that arrived, whatever the audit says.")
    handed_out = models.PositiveIntegerField(default=0, help_text="Jobs given so far.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "wanted matches"
        constraints = (
            models.CheckConstraint(condition=~Q(first=F("second")), name="wantedmatch_two_networks"),
            models.CheckConstraint(condition=Q(games__gte=1), name="wantedmatch_games"),
        )
        indexes = (models.Index(fields=["run"], condition=Q(received__lt=F("games")), name="wantedmatch_open"),)

    def __str__(self) -> str:
        return f"{self.first} v {self.second}"

    def clean(self) -> None:
        """Refuse networks that cannot meet.

        Raises:
            ValidationError: by field.
        """
        wrong = {}
        for field in ("first", "second"):
            network = getattr(self, field, None)
            if network is not None and (network.run_id != self.run_id or not network.rating_games_enabled):
                wrong[field] = "This is no network of the run that may play rating games."
        if self.first_id is not None and self.first_id == self.second_id:
            wrong["second"] = "Choose another network than the first."
        if wrong:
            raise ValidationError(wrong)


class Job(models.Model):
    """A batch of games that one contributor was asked to play. On the wire it is called a task."""

    kind = models.CharField(max_length=8, choices=JobKind.choices)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="jobs")
    contributor = models.ForeignKey(Contributor, on_delete=models.PROTECT, related_name="jobs")
    black_network = models.ForeignKey(Network, on_delete=models.PROTECT, related_name="jobs_as_black")
    white_network = models.ForeignKey(Network, on_delete=models.PROTECT, related_name="jobs_as_white")
    gate = models.ForeignKey(Gate, on_delete=models.PROTECT, null=True, blank=True, related_name="jobs")
    match = models.ForeignKey(WantedMatch, on_delete=models.PROTECT, null=True, blank=True, related_name="jobs")
    text = models.ForeignKey(
        JobText,
        on_delete=models.PROTECT,
        null=True,
        related_name="jobs",
        help_text="By which its games are played; none for jobs of older versions: the run's.",
    )
    state = models.CharField(max_length=8, choices=JobState.choices, default=JobState.LEASED)
    games = models.PositiveSmallIntegerField(help_text="How many are to be played.")
    seed = models.BigIntegerField(
        null=True, help_text="From which a client of ours draws the seeds of its games; none for KataGo's."
    )
    start_positions = models.JSONField(
        default=list, db_default=[], help_text="Keys of the positions at which its first games begin."
    )
    overrides = models.JSONField(
        default=list, db_default=[], help_text="Of each game, put over the text; empty where no game has any."
    )
    machine = models.CharField(
        max_length=32,
        blank=True,
        default="",
        db_default="",
        help_text="What the client calls the machine that plays them.",
    )
    received = models.PositiveSmallIntegerField(default=0, help_text="Games that arrived, whatever the audit says.")
    client_revision = models.CharField(max_length=80, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(help_text="End of the lease.")

    class Meta:
        constraints = (
            models.CheckConstraint(condition=Q(kind__in=JobKind.values), name="job_kind"),
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="job_state"),
            models.CheckConstraint(condition=Q(games__gte=1), name="job_games"),
            models.CheckConstraint(
                condition=Q(kind=JobKind.SELFPLAY, black_network=F("white_network"))
                | (~Q(kind=JobKind.SELFPLAY) & ~Q(black_network=F("white_network"))),
                name="job_networks",
            ),
            models.CheckConstraint(
                condition=Q(kind=JobKind.GATING, gate__isnull=False) | (~Q(kind=JobKind.GATING) & Q(gate=None)),
                name="job_gate",
            ),
        )
        indexes = (
            models.Index(fields=["contributor", "-id"], name="job_of_contributor"),
            models.Index(fields=["contributor"], condition=Q(state=JobState.LEASED), name="job_held"),
            models.Index(
                fields=["expires_at"], condition=Q(state__in=[JobState.LEASED, JobState.EXPIRED]), name="job_open"
            ),
            models.Index(fields=["gate"], condition=Q(gate__isnull=False), name="job_of_gate"),
        )

    def __str__(self) -> str:
        return f"{self.kind} job {self.pk}"

    @property
    def config(self) -> str:
        """The configuration text of its games."""
        if self.text is not None:
            return self.text.text
        return self.run.selfplay_config if self.kind == JobKind.SELFPLAY else self.run.gating_config

    def configs_of(self, number: int | None) -> list[str]:
        """The text of a game with its overrides; of one that does not tell its ``number``, all that there are."""
        overrides: list[str] = self.overrides
        if not overrides:
            return [self.config]
        if number is not None:
            return [overridden(self.config, overrides[number])] if number < len(overrides) else [self.config]
        return [overridden(self.config, each) for each in dict.fromkeys(overrides)]
