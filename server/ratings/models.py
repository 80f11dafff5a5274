"""The strength of each network, as last computed from all counted match games of its run.

Derived data: may be thrown away and computed again. Written only by `server.ratings.services`.
"""

from __future__ import annotations

from django.db import models
from django.db.models import F

from server.networks.models import Network
from server.runs.models import Run

LOWER_BOUND = F("log_gamma") - 2 * F("error")
"""What a strength is surely above: two standard errors below its estimate."""


class Rating(models.Model):
    """One network's Bradley-Terry strength in units of log gamma; the run's first network is 0."""

    network = models.OneToOneField(Network, on_delete=models.CASCADE, primary_key=True, related_name="rating")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="ratings")
    log_gamma = models.FloatField()
    error = models.FloatField(help_text="Standard error of log_gamma.")
    games = models.PositiveIntegerField(help_text="Match games that it played.")
    computed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (models.CheckConstraint(condition=models.Q(error__gte=0), name="rating_error"),)
        indexes = (models.Index(F("run"), LOWER_BOUND.desc(), name="rating_by_bound"),)

    def __str__(self) -> str:
        return f"rating of {self.network_id}"


class RatingState(models.Model):
    """Of what the ratings of a run were computed; while it has not changed, there is nothing to compute."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, primary_key=True, related_name="+")
    match_changes = models.PositiveBigIntegerField(help_text="See runs.RunTotals.match_changes.")
    networks = models.PositiveIntegerField(help_text="How many the run had.")

    def __str__(self) -> str:
        return f"state of the ratings of {self.run_id}"
