"""Start positions of a run's self-play, each with the weight by which it is drawn.

A position is drawn by one look into an index: `upto` is the sum of the weights up to and with its own. Rows are written
by `server.positions.services` alone, and never deleted, since jobs name them; one that is to be drawn no more is
disabled.
"""

from __future__ import annotations

from django.db import models

from common.wire import MAX_NOTES_LENGTH
from server.runs.models import Run


class Position(models.Model):
    """One start position (contribute-protocol.md 6)."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="positions")
    data = models.JSONField(help_text="As it goes out in tasks.")
    sha256 = models.CharField(max_length=64, help_text="Of the data, so that the same one is kept once.")
    weight = models.FloatField()
    upto = models.FloatField(help_text="Sum of the weights of the run's positions up to and with this one.")
    is_enabled = models.BooleanField(default=True, help_text="Is drawn.")
    notes = models.CharField(max_length=MAX_NOTES_LENGTH, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["run", "sha256"], name="position_once"),
            models.CheckConstraint(condition=models.Q(weight__gt=0), name="position_weight"),
        )
        indexes = (models.Index(fields=["run", "upto"], name="position_drawn"),)

    def __str__(self) -> str:
        return f"position {self.pk}"


class PositionTotal(models.Model):
    """What a run's positions weigh together; whoever adds or changes some locks it."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, primary_key=True, related_name="position_total")
    weight = models.FloatField(default=0.0)

    def __str__(self) -> str:
        return f"positions of {self.run_id}"
