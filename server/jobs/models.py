"""Jobs handed out under a lease.

Invariants are constraints. A job is done when its games have arrived; one whose lease has run out still takes them for
a while. Written only by `server.jobs.services`.
"""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

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


class JobText(models.Model):
    """A configuration text as it was handed out; games of a job are held against it, whatever the run says by then."""

    sha256 = models.CharField(max_length=64, unique=True)
    text = models.TextField()

    def __str__(self) -> str:
        return self.sha256[:12]


class Job(models.Model):
    """A batch of games that one contributor was asked to play. On the wire it is called a task."""

    kind = models.CharField(max_length=8, choices=JobKind.choices)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="jobs")
    contributor = models.ForeignKey(Contributor, on_delete=models.PROTECT, related_name="jobs")
    black_network = models.ForeignKey(Network, on_delete=models.PROTECT, related_name="jobs_as_black")
    white_network = models.ForeignKey(Network, on_delete=models.PROTECT, related_name="jobs_as_white")
    gate = models.ForeignKey(Gate, on_delete=models.PROTECT, null=True, blank=True, related_name="jobs")
    text = models.ForeignKey(
        JobText,
        on_delete=models.PROTECT,
        null=True,
        related_name="jobs",
        help_text="By which its games are played; none for jobs of older versions: the run's.",
    )
    state = models.CharField(max_length=8, choices=JobState.choices, default=JobState.LEASED)
    games = models.PositiveSmallIntegerField(help_text="Games asked for: the request's task_rep_factor.")
    received = models.PositiveSmallIntegerField(default=0, help_text="Games that arrived, whatever the audit says.")
    client_revision = models.CharField(max_length=80, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

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
            models.Index(fields=["expires_at"], condition=Q(state=JobState.LEASED), name="job_leased"),
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
