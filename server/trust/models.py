"""How far a run trusts its contributors: standings, sums of what their games were like, alarms, decisions.

Invariants are constraints. Tallies change only together with the states of the games that they sum
(`server.games.moving`); standings by `server.trust.services` alone, each with a decision that says why.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from server.accounts.models import Contributor
from server.jobs.models import JobText
from server.networks.models import Network
from server.runs.models import Run


class Trust(models.TextChoices):
    """What becomes of the games that pass their audit."""

    WATCHED = "watched", "watched: a new login, whose first games wait until they have been looked at"
    TRUSTED = "trusted", "trusted: games count"
    QUARANTINED = "quarantined", "quarantined: games wait for a maintainer's decision"


HOLDING = (Trust.WATCHED, Trust.QUARANTINED)
"""Where games wait."""


class Standing(models.Model):
    """How a contributor stands with a run."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="standings")
    contributor = models.ForeignKey(Contributor, on_delete=models.CASCADE, related_name="standings")
    trust = models.CharField(max_length=12, choices=Trust.choices, default=Trust.TRUSTED)
    since = models.DateTimeField(auto_now_add=True)
    reason = models.TextField(blank=True, help_text="For the contributor and for maintainers.")
    games = models.PositiveBigIntegerField(default=0, help_text="That passed their audit, waiting ones included.")
    next_look = models.PositiveBigIntegerField(default=1, help_text="Number of games at which they are compared.")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["run", "contributor"], name="standing_one_per_run"),
            models.CheckConstraint(condition=Q(trust__in=Trust.values), name="standing_trust"),
            models.CheckConstraint(
                condition=~Q(trust=Trust.QUARANTINED) | Q(reason__gt=""), name="standing_quarantine_has_a_reason"
            ),
        )
        indexes = (
            models.Index(fields=["id"], condition=Q(games__gte=models.F("next_look")), name="standing_due_for_a_look"),
        )

    def __str__(self) -> str:
        return f"{self.contributor_id} in run {self.run_id}: {self.trust}"


class Tally(models.Model):
    """Sums of the figures of games that were drawn alike: of one login and machine, or of all that count."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    contributor = models.ForeignKey(
        Contributor, on_delete=models.CASCADE, null=True, related_name="+", help_text="None: all counted games."
    )
    machine = models.CharField(max_length=32, blank=True)
    black_network = models.ForeignKey(Network, on_delete=models.CASCADE, related_name="+")
    white_network = models.ForeignKey(Network, on_delete=models.CASCADE, related_name="+")
    text = models.ForeignKey(JobText, on_delete=models.CASCADE, null=True, related_name="+")
    sums = models.JSONField(default=dict, help_text="By figure: number, sum, sum of squares of all its games.")
    counted = models.JSONField(default=dict, help_text="The same of those that count, which are part of all's.")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["run", "contributor", "machine", "black_network", "white_network", "text"],
                nulls_distinct=False,
                name="tally_one_per_stratum",
            ),
        )
        verbose_name_plural = "tallies"

    def __str__(self) -> str:
        return f"tally {self.pk}"


class Alarm(models.Model):
    """A contributor's games differ from others' by more than chance, or are not their network's."""

    standing = models.ForeignKey(Standing, on_delete=models.CASCADE, related_name="alarms")
    machine = models.CharField(max_length=32, blank=True, help_text="Empty: all of the login's.")
    figure = models.CharField(max_length=24)
    games = models.PositiveBigIntegerField()
    deviations = models.FloatField()
    effect = models.FloatField()
    text = models.TextField()
    raised_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (models.Index(fields=["standing", "-id"], name="alarm_of_standing"),)

    def __str__(self) -> str:
        return self.text


class Decision(models.Model):
    """What was decided about a contributor, by whom and why; never changed."""

    standing = models.ForeignKey(Standing, on_delete=models.CASCADE, related_name="decisions")
    trust = models.CharField(max_length=12, choices=Trust.choices)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        help_text="None: the server itself.",
    )
    reason = models.TextField()
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.CheckConstraint(condition=Q(trust__in=Trust.values), name="decision_trust"),)
        indexes = (models.Index(fields=["standing", "-id"], name="decision_of_standing"),)

    def __str__(self) -> str:
        return f"{self.trust}: {self.reason}"
