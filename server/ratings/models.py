"""The strength of each network, as last computed from all counted match games of its run.

Derived data: may be thrown away and computed again. Written only by `server.ratings.services`.
"""

from __future__ import annotations

from django.db import models

from server.networks.models import Network
from server.runs.models import Run


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

    def __str__(self) -> str:
        return f"rating of {self.network_id}"
