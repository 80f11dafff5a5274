"""How far the training of each run and size is, who trains it now, and what it measured.

Invariants are constraints. Written only by `server.training.services`. The state names a checkpoint in the storage, so
that a trainer on another host can take over.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from server.runs.models import Run


class TrainingState(models.Model):
    """The training of one of a run's sizes. A checkpoint and the numbers beside it are always of the same moment."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="training")
    architecture = models.CharField(max_length=64)
    from_seed = models.BooleanField(
        default=True, help_text="It began with the run's first network, if that has a file; not with random weights."
    )
    samples = models.PositiveBigIntegerField(default=0, help_text="Trained up to the checkpoint.")
    checkpoint = models.CharField(max_length=200, blank=True, help_text="Name in the storage.")
    previous_checkpoint = models.CharField(max_length=200, blank=True, help_text="Kept until the next one is safe.")
    saved_at = models.DateTimeField(null=True, blank=True)
    last_candidate_samples = models.PositiveBigIntegerField(default=0, help_text="Samples of the newest candidate.")
    activity = models.CharField(max_length=200, blank=True, help_text="What the trainer does, for people.")
    trouble = models.TextField(blank=True, help_text="Why it does not train, for people.")
    lease_owner = models.CharField(max_length=100, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True, help_text="No other process trains until then.")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["run", "architecture"], name="training_once"),
            models.CheckConstraint(
                condition=Q(checkpoint="", samples=0) | Q(checkpoint__gt=""), name="training_samples_need_checkpoint"
            ),
        )

    def __str__(self) -> str:
        return f"training of {self.run_id}, {self.architecture}"


class TrainingMetric(models.Model):
    """Mean losses over the steps that ended at ``samples``; trained again after a kill, they are written again."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="metrics", db_index=False)
    architecture = models.CharField(max_length=64)
    samples = models.PositiveBigIntegerField()
    rows = models.PositiveBigIntegerField()
    losses = models.JSONField(help_text="Term -> mean.")
    validation = models.JSONField(
        default=dict, blank=True, help_text="Term -> mean on rows that are not trained on, where an epoch ended."
    )
    samples_per_second = models.FloatField()
    waiting_share = models.FloatField(help_text="Share of the time spent waiting for data.")
    created_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["run", "architecture", "samples"], name="metric_once"),)
        indexes = (
            models.Index(
                fields=["run", "architecture", "samples"], condition=~Q(validation={}), name="metric_of_validation"
            ),
        )

    def __str__(self) -> str:
        return f"losses of {self.run_id}, {self.architecture}, at {self.samples}"
