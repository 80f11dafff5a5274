"""Gates: the matches that decide about candidates.

Invariants are constraints. Points are kept in half points, since a draw is half a point. Written only by
`server.gates.services`.
"""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from server.networks.models import Network
from server.runs.models import Run


class GateState(models.TextChoices):
    """What has become of a gate."""

    OPEN = "open", "open"
    PASSED = "passed", "passed: the candidate became the current network"
    FAILED = "failed", "failed: the candidate was rejected"
    SUPERSEDED = "superseded", "superseded: another network came first"


class Gate(models.Model):
    """One match of a candidate against the network that was current when the gate was opened."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="gates")
    candidate = models.ForeignKey(Network, on_delete=models.PROTECT, related_name="gates")
    opponent = models.ForeignKey(Network, on_delete=models.PROTECT, related_name="gates_as_opponent")
    state = models.CharField(max_length=10, choices=GateState.choices, default=GateState.OPEN)
    games = models.PositiveIntegerField(help_text="Games of the whole match.")
    required = models.FloatField(help_text="Share of the points that the candidate needs.")
    sprt_elo = models.FloatField(
        null=True,
        blank=True,
        help_text="The advantage that the match tells from none, ending as soon as it can; none: all games are played.",
    )
    replays = models.PositiveSmallIntegerField(
        default=0, db_default=0, help_text="Games that are looked at once more before the candidate is promoted."
    )
    sample_since = models.DateTimeField(
        null=True, blank=True, help_text="Since when the points suffice, and nothing but that look is missing."
    )
    played = models.PositiveIntegerField(default=0, help_text="Counted games.")
    half_points = models.PositiveIntegerField(default=0, help_text="The candidate's, twice over: a win 2, a draw 1.")
    handed_out = models.PositiveIntegerField(default=0, help_text="Jobs given so far; the parity decides the colours.")
    pending = models.PositiveIntegerField(default=0, help_text="Games that arrived and wait for their audit.")
    created_at = models.DateTimeField(auto_now_add=True)
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (
            models.CheckConstraint(condition=Q(state__in=GateState.values), name="gate_state"),
            models.CheckConstraint(condition=~Q(candidate=F("opponent")), name="gate_two_networks"),
            models.CheckConstraint(condition=Q(half_points__lte=2 * F("played")), name="gate_points"),
            models.CheckConstraint(
                condition=Q(state=GateState.OPEN, decided_at=None)
                | (~Q(state=GateState.OPEN) & Q(decided_at__isnull=False)),
                name="gate_decided_at",
            ),
            models.CheckConstraint(condition=Q(sample_since=None) | Q(replays__gte=1), name="gate_sample"),
            models.UniqueConstraint(
                fields=["candidate"], condition=Q(state=GateState.OPEN), name="gate_one_open_per_candidate"
            ),
        )
        indexes = (models.Index(fields=["run"], condition=Q(state=GateState.OPEN), name="gate_open"),)

    @property
    def state_told(self) -> str:
        """The state, for people."""
        if self.sample_since is not None and self.state == GateState.OPEN:
            return "open: has the points; some of its games are being looked at once more"
        return GateState(self.state).label

    def __str__(self) -> str:
        return f"{self.candidate_id} v {self.opponent_id}"

    @property
    def points(self) -> float:
        """The candidate's points so far."""
        return self.half_points / 2
