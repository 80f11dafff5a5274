"""A run: one line of networks with its own settings, and what has been counted for it.

Invariants are constraints. The totals are a row of their own, so that counting games does not lock the settings; it is
changed only by `server.games.moving`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from common.go.basics import MAX_LENGTH
from common.wire import INPUTS_VERSION, MAX_LEASE_SECONDS, MAX_SEARCH_THREADS, MIN_DATA_BOARD_LENGTH
from server.names import name_validator

NAME_PATTERN: Final = r"^[A-Za-z0-9]{1,16}$"
"""contribute-protocol.md 3: networks' names begin with it, so it has no hyphen."""
NAME_ALLOWED: Final = "A run's name is 1 to 16 letters (A to Z, a to z) and digits, without blanks or other signs."

MOST: Final = {
    "lease_seconds": MAX_LEASE_SECONDS,
    "gate_lease_seconds": MAX_LEASE_SECONDS,
    "max_search_threads_allowed": MAX_SEARCH_THREADS,
}
"""What the protocol can say; beyond it no client would get a task."""

LONG_TEXTS: Final = (
    *("selfplay_config", "served_selfplay_config", "failed_selfplay_config", "selfplay_overrides"),
    *("gating_config", "served_gating_config", "failed_gating_config", "text_fault"),
    *("client_revisions", "allowed_users", "training_settings"),
)
"""Fields that lists of what belongs to a run leave in the database."""

SHARE: Final = (MinValueValidator(0.0), MaxValueValidator(1.0))

RATING_SHARE: Final = 0.05
"""One job in twenty: the networks that no gate asks for get a few dozen games a day from a handful of volunteers, and
self-play hardly notices."""


class RunState(models.TextChoices):
    """What a run still takes part in."""

    ACTIVE = "active", "active"
    PAUSED = "paused", "paused: no jobs are given; games of earlier jobs are taken"
    CLOSED = "closed", "closed: no jobs, no games"


class UnprovenGames(models.TextChoices):
    """What games are worth that come without the token of their job; KataGo's client never sends one."""

    COUNT = "count", "count as all others"
    TRAIN = "train", "count for training; matches between networks are decided without them"
    REFUSE = "refuse", "refused; only Tengen's own client gets jobs"


class Audience(models.TextChoices):
    """Whose clients are told of a run."""

    ALL = "all", "all clients"
    OWN = "own", "Tengen's client alone: KataGo's keeps to one run for as long as it lives"


class PromotionRule(models.TextChoices):
    """What makes a candidate the current network."""

    GATE = "gate", "a match against the current network"
    SPRT = "sprt", "a match that ends as soon as it is likely enough that the candidate is stronger, or is not"
    ALWAYS = "always", "every candidate is promoted at once"


class Run(models.Model):
    """Settings of one run. Configuration texts are checked when they are saved through `server.runs.services`."""

    name = models.CharField(max_length=16, unique=True, validators=[name_validator(NAME_PATTERN, NAME_ALLOWED)])
    state = models.CharField(max_length=8, choices=RunState.choices, default=RunState.ACTIVE)
    state_since = models.DateTimeField(default=timezone.now, editable=False)
    opens_at = models.DateTimeField(null=True, blank=True, help_text="Before it, the run is paused. Empty: at once.")
    closes_at = models.DateTimeField(null=True, blank=True, help_text="From then on the run is closed. Empty: never.")
    created_at = models.DateTimeField(auto_now_add=True)
    audience = models.CharField(max_length=4, choices=Audience.choices, default=Audience.ALL)
    allowed_users = models.TextField(
        blank=True,
        help_text="Names of the users who may play for the run, one a line; '#' starts a comment. Empty: everybody.",
    )
    current_network = models.ForeignKey(
        "networks.Network",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="Plays self-play games.",
    )
    previous_network = models.ForeignKey(
        "networks.Network", on_delete=models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )
    current_since = models.DateTimeField(null=True, blank=True, editable=False)
    rollout_minutes = models.PositiveIntegerField(
        default=0,
        help_text="Over so many minutes clients change over to a new network, each at a moment of its own, so that "
        "they do not all fetch it at once. 0: all at once.",
    )

    data_board_len = models.PositiveSmallIntegerField(
        validators=[MinValueValidator(MIN_DATA_BOARD_LENGTH), MaxValueValidator(MAX_LENGTH)],
        help_text="Edge of the tensors in training rows, whatever the size of the board.",
    )
    inputs_version = models.PositiveSmallIntegerField(default=INPUTS_VERSION)
    max_search_threads_allowed = models.PositiveSmallIntegerField(
        default=8,
        validators=[MinValueValidator(1)],
        help_text="Promise to clients: no configuration text asks for more numSearchThreads.",
    )
    selfplay_config = models.TextField(help_text="KataGo configuration text of self-play games.")
    gating_config = models.TextField(help_text="KataGo configuration text of gating and rating games.")
    prove_texts = models.BooleanField(
        default=False,
        help_text="A changed text is served only once a short game has been played by it; until then, the last one "
        "that was proved is. It takes a worker of the queue 'ratings'.",
    )
    served_selfplay_config = models.TextField(blank=True, editable=False)
    served_gating_config = models.TextField(blank=True, editable=False)
    failed_selfplay_config = models.TextField(blank=True, editable=False)
    failed_gating_config = models.TextField(blank=True, editable=False)
    text_fault = models.TextField(blank=True, editable=False, help_text="Why the last changed text is not served.")
    client_revisions = models.TextField(
        blank=True,
        help_text="One per line: REVISION, 'REVISION until 2030-01-31', or 'REVISION refused REASON'. "
        "'#' starts a comment. Empty: every client may play.",
    )
    gating_share = models.FloatField(
        default=1.0, validators=SHARE, help_text="Share of jobs that go to a waiting gate, 0 to 1."
    )
    rating_share = models.FloatField(
        default=RATING_SHARE,
        validators=SHARE,
        help_text="Share of the other jobs that are rating games, 0 to 1. Without "
        "them seed and random network are hardly played, and strengths have no zero to stand on.",
    )
    pairing_strength = models.FloatField(
        default=1.0,
        db_default=1.0,
        validators=[MinValueValidator(0.0)],
        help_text="Relative weight, among three, of rating games of networks that may be the strongest.",
    )
    pairing_uncertainty = models.FloatField(
        default=1.0,
        db_default=1.0,
        validators=[MinValueValidator(0.0)],
        help_text="The same of networks whose strength is the least certain.",
    )
    pairing_data = models.FloatField(
        default=1.0,
        db_default=1.0,
        validators=[MinValueValidator(0.0)],
        help_text="The same of networks with the fewest games.",
    )
    pairing_variability = models.FloatField(
        default=1.0,
        db_default=1.0,
        validators=[MinValueValidator(0.01)],
        help_text="How far the opponents of rating games may be in strength; 1 is usual.",
    )
    lease_seconds = models.PositiveIntegerField(
        default=4 * 3600,
        validators=[MinValueValidator(1)],
        help_text="After this time a job's missing games may be given to somebody else.",
    )
    gate_lease_seconds = models.PositiveIntegerField(
        default=3600,
        db_default=3600,
        validators=[MinValueValidator(1)],
        help_text="The same for games of a gate, which all wait for its verdict, if it is shorter.",
    )
    job_seconds = models.PositiveIntegerField(
        default=600,
        db_default=600,
        validators=[MinValueValidator(1)],
        help_text="A client that tells its speed is given so many games as it plays in this time.",
    )
    most_open_games = models.PositiveIntegerField(
        default=32_768,
        db_default=32_768,
        validators=[MinValueValidator(1)],
        help_text="Games that one login may hold under leases. A GPU plays hundreds at once.",
    )
    most_open_games_of_machine = models.PositiveIntegerField(
        default=8_192,
        db_default=8_192,
        validators=[MinValueValidator(1)],
        help_text="The same for one machine of a login, if its client names it.",
    )
    gate_login_share = models.FloatField(
        default=0.34,
        db_default=0.34,
        validators=SHARE,
        help_text="Share of a gate's games that one login may play, above 0, up to 1. While fewer contributors are "
        "active than that needs, each may play an equal part.",
    )
    start_position_prob = models.FloatField(
        default=0.0,
        db_default=0.0,
        validators=SHARE,
        help_text="Share of games of self-play that begin at a start position, if the run has any.",
    )
    selfplay_overrides = models.TextField(
        blank=True,
        default="",
        db_default="",
        help_text="Settings that hold for a share of the games of self-play, a line each: "
        "'0.1 cpuctExploration=1.2,rootNoiseEnabled=false'. '#' starts a comment.",
    )
    unproven_games = models.CharField(
        max_length=6,
        choices=UnprovenGames.choices,
        default=UnprovenGames.COUNT,
        db_default=UnprovenGames.COUNT.value,
        help_text="Games without the token that binds login, job, networks and text; KataGo's client sends none.",
    )

    promotion_rule = models.CharField(max_length=8, choices=PromotionRule.choices, default=PromotionRule.GATE)
    gate_games = models.PositiveIntegerField(default=200, validators=[MinValueValidator(1)])
    gate_required = models.FloatField(
        default=0.5, validators=SHARE, help_text="Share of the points that a candidate needs, 0 to 1."
    )
    sprt_elo = models.FloatField(
        default=30.0,
        validators=[MinValueValidator(1.0), MaxValueValidator(400.0)],
        help_text="With the rule 'sprt': the match decides between this advantage and none, with 5 % chance of either "
        "error; after gate_games without a decision, the required share of the points does.",
    )

    gate_replays = models.PositiveSmallIntegerField(
        default=4,
        db_default=4,
        validators=[MaxValueValidator(64)],
        help_text="So many of a gate's games are looked at once more before its candidate is promoted: played again, "
        "or held against their networks. 0: none. It takes a worker of the queue 'recheck'. Holds for new gates.",
    )
    unfinished_games_count = models.BooleanField(
        default=True,
        help_text="Match games that the move limit stopped are half a point each for gates and ratings. "
        "Otherwise they do not decide anything. Holds for games that are audited from now on.",
    )

    watch_games = models.PositiveIntegerField(
        default=0,
        help_text="So many first games of a login wait, outside counts, ratings and training, until they have been "
        "looked at. 0: a new login's games count at once.",
    )
    quarantines = models.BooleanField(
        default=False,
        help_text="A login about whose games there is an alarm is quarantined: its games wait for a maintainer. "
        "Otherwise maintainers only see the alarm.",
    )
    recheck_share = models.FloatField(
        default=0.02,
        validators=SHARE,
        help_text="Share of the games of self-play of which some rows are evaluated again with their network, 0 to 1; "
        "of watched and quarantined logins all are. It takes a worker of the queue 'recheck'.",
    )
    recheck_rows = models.PositiveSmallIntegerField(
        default=8, validators=[MinValueValidator(1), MaxValueValidator(256)], help_text="Rows of such a game."
    )

    architecture = models.CharField(max_length=64, help_text="Name of the network's architecture, such as b10c128.")
    next_architecture = models.CharField(
        max_length=64,
        blank=True,
        help_text="The next size, trained beside the current one on the same rows. It offers candidates once its "
        "losses have caught up, and takes the current one's place when one of them is promoted. Empty: none.",
    )
    training_settings = models.JSONField(
        default=dict,
        blank=True,
        help_text='Settings of the trainer that differ from the recipe\'s, such as {"batch": 128, "bucket": '
        '{"samples_per_epoch": 20000}}. The names are listed in docs/training.md, "Settings of a run". The trainer '
        "takes new ones up before its next slice; optimizer.kind cannot change in a training that has begun.",
    )

    class Meta:
        constraints = (
            models.CheckConstraint(condition=Q(name__regex=NAME_PATTERN), name="run_name"),
            models.CheckConstraint(condition=Q(state__in=RunState.values), name="run_state"),
            models.CheckConstraint(condition=Q(audience__in=Audience.values), name="run_audience"),
            models.CheckConstraint(condition=Q(sprt_elo__gte=1, sprt_elo__lte=400), name="run_sprt_elo"),
            models.CheckConstraint(condition=Q(promotion_rule__in=PromotionRule.values), name="run_promotion_rule"),
            models.CheckConstraint(
                condition=Q(data_board_len__gte=MIN_DATA_BOARD_LENGTH, data_board_len__lte=MAX_LENGTH),
                name="run_data_board_len",
            ),
            models.CheckConstraint(condition=Q(inputs_version=INPUTS_VERSION), name="run_inputs_version"),
            models.CheckConstraint(condition=Q(max_search_threads_allowed__gte=1), name="run_search_threads"),
            models.CheckConstraint(condition=Q(gating_share__gte=0, gating_share__lte=1), name="run_gating_share"),
            models.CheckConstraint(condition=Q(rating_share__gte=0, rating_share__lte=1), name="run_rating_share"),
            models.CheckConstraint(condition=Q(lease_seconds__gte=1), name="run_lease_seconds"),
            models.CheckConstraint(condition=Q(gate_games__gte=1), name="run_gate_games"),
            models.CheckConstraint(condition=Q(gate_lease_seconds__gte=1), name="run_gate_lease_seconds"),
            models.CheckConstraint(
                condition=Q(
                    pairing_strength__gte=0,
                    pairing_uncertainty__gte=0,
                    pairing_data__gte=0,
                    pairing_variability__gte=0.01,
                ),
                name="run_pairing",
            ),
            models.CheckConstraint(condition=Q(job_seconds__gte=1), name="run_job_seconds"),
            models.CheckConstraint(
                condition=Q(most_open_games__gte=1, most_open_games_of_machine__gte=1), name="run_open_games"
            ),
            models.CheckConstraint(
                condition=Q(gate_login_share__gt=0, gate_login_share__lte=1), name="run_gate_login_share"
            ),
            models.CheckConstraint(
                condition=Q(start_position_prob__gte=0, start_position_prob__lte=1), name="run_start_position_prob"
            ),
            models.CheckConstraint(condition=Q(unproven_games__in=UnprovenGames.values), name="run_unproven_games"),
            models.CheckConstraint(condition=Q(recheck_share__gte=0, recheck_share__lte=1), name="run_recheck_share"),
            models.CheckConstraint(condition=~Q(next_architecture=F("architecture")), name="run_next_architecture"),
            models.CheckConstraint(condition=Q(gate_required__gte=0, gate_required__lte=1), name="run_gate_required"),
        )

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, update_fields: Iterable[str] | None = None, **options: Any) -> None:
        """Write it; where its state is among what is written, since when it is so too."""
        if update_fields is not None and "state" in update_fields:
            self.state_since = timezone.now()
            update_fields = {*update_fields, "state_since"}
        super().save(*args, update_fields=update_fields, **options)

    def state_at(self, now: datetime) -> RunState:
        """What the run takes part in at a moment, its dates considered."""
        state = RunState(self.state)
        if state == RunState.CLOSED or (self.closes_at is not None and now >= self.closes_at):
            return RunState.CLOSED
        return RunState.PAUSED if self.opens_at is not None and now < self.opens_at else state

    @property
    def state_now(self) -> RunState:
        """What the run takes part in at this moment."""
        return self.state_at(timezone.now())

    def clean(self) -> None:
        """Say what is allowed where a constraint would only say its name.

        Raises:
            ValidationError: by field.
        """
        shares = (
            *("gating_share", "rating_share", "gate_required", "gate_login_share", "start_position_prob"),
            *("recheck_share", "sprt_elo"),
        )
        wrong = {
            field: "This is no number; give one from 0 to 1."
            for field in shares
            if isinstance(value := getattr(self, field), float) and math.isnan(value)  # passes every comparison
        }
        wrong |= {
            field: f"The protocol has at most {most:,}."
            for field, most in MOST.items()
            if isinstance(value := getattr(self, field), int) and value > most
        }
        if self.gate_login_share == 0:
            wrong["gate_login_share"] = "Nobody could play a gate's games; give a share above 0."
        if self.next_architecture and self.next_architecture == self.architecture:
            wrong["next_architecture"] = "This is the architecture itself; name another, or leave it empty."
        if self.opens_at is not None and self.closes_at is not None and self.opens_at >= self.closes_at:
            wrong["closes_at"] = "This is before the run opens."
        if wrong:
            raise ValidationError(wrong)


class RunTotals(models.Model):
    """What a run has counted.

    `last_number`, `last_row`, `moderations` and `match_changes` only grow; the others follow moderation.
    """

    run = models.OneToOneField(Run, on_delete=models.CASCADE, primary_key=True, related_name="totals")
    training_games = models.PositiveBigIntegerField(default=0)
    training_rows = models.PositiveBigIntegerField(default=0)
    match_games = models.PositiveBigIntegerField(default=0)
    refused_games = models.PositiveBigIntegerField(default=0)
    last_number = models.PositiveBigIntegerField(default=0, help_text="See games.Game.number.")
    last_row = models.PositiveBigIntegerField(default=0, help_text="See games.Game.last_row.")
    moderations = models.PositiveBigIntegerField(
        default=0, help_text="How often games that have a number were taken out of the counts or put back."
    )
    match_changes = models.PositiveBigIntegerField(
        default=0, db_default=0, help_text="How often the results of its matches have changed; only grows."
    )

    class Meta:
        verbose_name_plural = "run totals"

    def __str__(self) -> str:
        return f"totals of {self.run_id}"
