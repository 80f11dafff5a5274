"""Uploaded games: what the contributor told, where the files are, and what the audit made of it.

Invariants are constraints. A game is received, then held, counted or refused; moderation moves it between the last
three. Its state changes only in `server.games.moving`, together with everything that counts it.

The table is meant for 10⁸ games. It is not partitioned: ``(kind, uid)`` has to be unique over all games, whenever they
came, and PostgreSQL holds that in one table only. Every list and every question goes by an index whose last column is
the key, or by one that holds the few games in question; what would have to be counted is in tables of its own.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex, GinIndex
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
    HELD = "held", "held: passed its audit, and waits until its contributor is trusted"
    COUNTED = "counted", "counted"
    REFUSED = "refused", "refused"


PASSED: Final = (GameState.HELD, GameState.COUNTED)
"""States of games that passed their audit."""


class Decided(StrEnum):
    """Codes of refusals that are not the audit's: a game that passes it once more would not be right for that."""

    MODERATED = "moderated"
    EXCLUDED = "excluded"
    REJECTED = "rejected"
    NOT_ITS_NETWORK = "not_its_network"
    NOT_REPLAYED = "not_replayed"


class Game(models.Model):
    """One uploaded game of either kind."""

    kind = models.CharField(max_length=8, choices=GameKind.choices)
    uid = models.CharField(max_length=32, help_text="kg_game_uid: drawn by the client, in upper case.")
    # Each has an index below with the key behind it, by which lists are read; another one would only cost.
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="games", db_index=False)
    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="uploads")
    job_number = models.PositiveSmallIntegerField(
        null=True, help_text="Which game of its job, from 0; with the job's seed it determines the game."
    )
    fork = models.JSONField(null=True, help_text="Of a game that goes on with another: see wire_uploads.ForkOrigin.")
    content = models.UUIDField(
        null=True, help_text="Start, moves and networks: see server.games.identity. None for games of older versions."
    )
    is_proved = models.BooleanField(
        default=False, db_default=False, help_text="It came with the token that its job was given with."
    )
    contributor = models.ForeignKey(Contributor, on_delete=models.PROTECT, related_name="games", db_index=False)
    black_network = models.ForeignKey(Network, on_delete=models.PROTECT, related_name="games_as_black", db_index=False)
    white_network = models.ForeignKey(Network, on_delete=models.PROTECT, related_name="games_as_white", db_index=False)

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
    later_networks = ArrayField(
        models.BigIntegerField(),
        default=list,
        blank=True,
        db_default=[],
        help_text="Keys of the networks of net_changes, in their order.",
    )
    later_rows = ArrayField(
        models.PositiveIntegerField(),
        default=list,
        blank=True,
        db_default=[],
        help_text="Rows that each of them made, as the audit found; the others are the first network's.",
    )
    sgf_file = models.CharField(max_length=200, help_text="Name in the storage.")
    rows_file = models.CharField(max_length=200, blank=True, help_text="Name of the .npz in the storage.")

    is_decisive = models.BooleanField(
        default=True,
        help_text="Counts for gates and ratings. Not so a match game that the move limit stopped, or that comes "
        "without its job's token, if the run says so.",
    )
    figures = models.JSONField(default=dict, blank=True, help_text="What it was like: see server/trust/figures.py.")
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
    moderation = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        help_text="The run's moderations when it was last taken out of the counts or put back. Whoever knows the state "
        "up to a moderation finds what has changed since.",
    )
    exclusion = models.ForeignKey(
        "Exclusion",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="games",
        db_index=False,
        help_text="What took it out, with others; lifted, it puts it back.",
    )

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["kind", "uid"], name="game_uid"),
            models.UniqueConstraint(fields=["run", "number"], name="game_number"),
            models.UniqueConstraint(fields=["job", "job_number"], name="game_of_job_once"),
            models.UniqueConstraint(fields=["run", "kind", "content"], name="game_content"),
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
            models.Index(fields=["contributor", "id"], condition=Q(state=GameState.HELD), name="game_held"),
            models.Index(fields=["contributor", "-id"], condition=Q(state=GameState.REFUSED), name="game_refused_of"),
            models.Index(fields=["black_network", "-id"], name="game_of_black"),
            models.Index(fields=["white_network", "-id"], name="game_of_white"),
            GinIndex(fields=["later_networks"], condition=~Q(later_networks=[]), name="game_of_later"),
            models.Index(fields=["run", "-id"], name="game_of_run"),
            models.Index(fields=["kind", "-id"], name="game_of_kind"),
            models.Index(fields=["-id"], condition=Q(state=GameState.REFUSED), name="game_refused"),
            models.Index(
                fields=["run", "last_row"],
                condition=Q(kind=GameKind.TRAINING, state=GameState.COUNTED),
                name="game_rows_of_run",
            ),
            models.Index(fields=["run", "moderation"], condition=Q(moderation__isnull=False), name="game_moderated"),
            models.Index(fields=["exclusion", "id"], condition=Q(exclusion__isnull=False), name="game_excluded"),
            # Games lie in the order of their arrival, so a few bytes a block of the table find a span of time.
            BrinIndex(fields=["received_at"], autosummarize=True, name="game_by_time"),
        )

    def __str__(self) -> str:
        return f"{self.kind} game {self.uid}"


class UploadDay(models.Model):
    """What one contributor has sent on a day (UTC); for the quotas of `server.games.quotas`."""

    contributor = models.ForeignKey(Contributor, on_delete=models.CASCADE, related_name="upload_days")
    day = models.DateField(db_index=True)
    games = models.PositiveIntegerField(default=0)
    bytes = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["contributor", "day"], name="uploadday_once"),)

    def __str__(self) -> str:
        return f"{self.games} games on {self.day}"


class MatchScore(models.Model):
    """How two networks stand against each other: the decisive counted match games of a pairing, summed up.

    Kept by `server.games.moving` in the transaction that moves a game, so that ratings need not read games.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+", db_index=False)
    black_network = models.ForeignKey(Network, on_delete=models.CASCADE, related_name="+", db_index=False)
    white_network = models.ForeignKey(Network, on_delete=models.CASCADE, related_name="+")
    games = models.PositiveIntegerField(default=0)
    black_half_points = models.PositiveIntegerField(default=0, help_text="A win 2, a draw or no result 1.")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["black_network", "white_network"], name="score_once"),
            models.CheckConstraint(condition=~Q(black_network=F("white_network")), name="score_two_networks"),
            models.CheckConstraint(condition=Q(black_half_points__lte=2 * F("games")), name="score_points"),
        )
        indexes = (models.Index(fields=["run"], name="score_of_run"),)

    def __str__(self) -> str:
        return f"{self.black_network_id} v {self.white_network_id}"


class GameBlock(models.Model):
    """How many games of a kind have their keys in one block of keys, in which none can appear any more.

    Written by `server.games.blocks`; with them the tenth or the last page of a list is found without a scan.
    """

    kind = models.CharField(max_length=8, choices=GameKind.choices)
    block = models.PositiveBigIntegerField(help_text="Keys from BLOCK times this number on.")
    games = models.PositiveIntegerField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["kind", "block"], name="block_once"),)

    def __str__(self) -> str:
        return f"{self.kind} games of block {self.block}"


class ExclusionKind(models.TextChoices):
    """What the games have in common that are taken out."""

    CONTRIBUTOR = "user", "a contributor"
    MACHINE = "machine", "a machine, as its client names it"
    BUILD = "build", "a client's build"
    NETWORK = "network", "a network"
    WINDOW = "window", "a span of time"


class Exclusion(models.Model):
    """Games that a maintainer has disabled together; see `server.games.exclusions`.

    While it stands, games that still arrive are taken out too. Lifted, it puts back what it took.
    """

    kind = models.CharField(max_length=11, choices=ExclusionKind.choices)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, null=True, blank=True, help_text="Empty: all runs.")
    contributor = models.ForeignKey(Contributor, on_delete=models.PROTECT, null=True, blank=True)
    network = models.ForeignKey(Network, on_delete=models.PROTECT, null=True, blank=True)
    name = models.CharField(max_length=80, blank=True, help_text="Of the machine or the build.")
    since = models.DateTimeField(null=True, blank=True, help_text="Only games that arrived from then on.")
    until = models.DateTimeField(null=True, blank=True, help_text="Only games that arrived before.")
    reason = models.CharField(max_length=500, help_text="Told to the contributors.")
    took_away = models.JSONField(
        default=list,
        blank=True,
        help_text="Fields of its contributor or network that were true before, and will be once it is lifted.",
    )
    made_at = models.DateTimeField(auto_now_add=True)
    lifted_at = models.DateTimeField(null=True, blank=True)
    looked_at = models.PositiveBigIntegerField(default=0, help_text="Games with keys up to this have been looked at.")
    is_done = models.BooleanField(default=False, help_text="No game is left to be taken out, or to be put back.")

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(kind=ExclusionKind.CONTRIBUTOR, contributor__isnull=False, network=None, name="")
                | Q(kind=ExclusionKind.NETWORK, contributor=None, network__isnull=False, name="")
                | Q(kind__in=[ExclusionKind.MACHINE, ExclusionKind.BUILD], contributor=None, network=None, name__gt="")
                | Q(kind=ExclusionKind.WINDOW, contributor=None, network=None, name="", since__isnull=False),
                name="exclusion_kind",
            ),
            models.CheckConstraint(condition=Q(reason__gt=""), name="exclusion_reason"),
        )
        indexes = (models.Index(fields=["id"], condition=Q(is_done=False), name="exclusion_at_work"),)

    def __str__(self) -> str:
        return f"exclusion {self.pk} of {self.get_kind_display()}"


class ReplayOutcome(models.TextChoices):
    """What a further look at a match game came to."""

    EQUAL = "equal", "equal: it was played again from its seed, move for move"
    CONSISTENT = "consistent", "consistent: its moves and values are like those of its networks"
    DIFFERENT = "different", "different: its networks have not played it so"
    UNKNOWN = "unknown", "unknown: it could not be looked at"


HOLDS: Final = (ReplayOutcome.EQUAL, ReplayOutcome.CONSISTENT)
"""Outcomes that speak for a game."""


class Replay(models.Model):
    """A match game that was drawn to be played again before its gate's candidate is promoted."""

    game = models.OneToOneField(Game, on_delete=models.CASCADE, related_name="replay")
    drawn_at = models.DateTimeField(auto_now_add=True)
    claimed_until = models.DateTimeField(null=True, blank=True, help_text="A worker is at it until then.")
    tries = models.PositiveSmallIntegerField(default=0)
    done_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=10, choices=ReplayOutcome.choices, blank=True)
    text = models.TextField(blank=True, help_text="What was found, for people.")

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(outcome="", done_at=None) | Q(outcome__in=ReplayOutcome.values, done_at__isnull=False),
                name="replay_outcome",
            ),
        )
        indexes = (models.Index(fields=["id"], condition=Q(done_at=None), name="replay_waiting"),)

    def __str__(self) -> str:
        return f"replay of game {self.game_id}"


class Recheck(models.Model):
    """A game of self-play that was drawn so that some of its rows are evaluated again with its network."""

    game = models.OneToOneField(Game, on_delete=models.CASCADE, related_name="recheck")
    drawn_at = models.DateTimeField(auto_now_add=True)
    claimed_until = models.DateTimeField(null=True, blank=True, help_text="A worker is at it until then.")
    tries = models.PositiveSmallIntegerField(default=0)
    done_at = models.DateTimeField(null=True, blank=True)
    rows = models.PositiveSmallIntegerField(default=0, help_text="That were evaluated.")
    misfits = models.PositiveSmallIntegerField(default=0, help_text="Rows whose columns are not the network's.")
    text = models.TextField(blank=True, help_text="What was found, for people.")

    class Meta:
        indexes = (models.Index(fields=["id"], condition=Q(done_at=None), name="recheck_waiting"),)

    def __str__(self) -> str:
        return f"recheck of game {self.game_id}"
