"""Synthetic runs hold what they say, and their counters agree with their games."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Count, Max, Sum

from server.accounts.models import Contributor
from server.errors import InvalidSettings
from server.games.models import Game, GameKind, GameState
from server.games.recounting import counters_drift
from server.networks.models import Network
from server.runs.models import Run, RunTotals
from server.training.models import TrainingMetric
from server.upkeep.synthetic import Amounts, synthetic_seed

pytestmark = pytest.mark.django_db

AMOUNTS = Amounts(games=1000, networks=7, contributors=3, metrics=400, match_every=4, waiting=10)


def test_a_synthetic_run_holds_what_it_says(run: Run) -> None:
    told: list[str] = []
    synthetic_seed(run, AMOUNTS, told.append)
    games = Game.objects.filter(run=run)
    assert games.count() == AMOUNTS.games
    assert games.filter(state=GameState.RECEIVED).count() == AMOUNTS.waiting
    assert set(games.values_list("state", flat=True)) == set(GameState.values) - {GameState.HELD}
    assert games.values("kind", "uid").distinct().count() == AMOUNTS.games
    assert 200 <= games.filter(kind=GameKind.RATING).count() <= 300
    counted = games.filter(state=GameState.COUNTED).order_by("number")
    assert [game.number for game in counted] == list(range(1, counted.count() + 1))
    rows = 0
    for game in counted:
        rows += game.num_training_rows
        assert game.last_row == rows
    assert Network.objects.filter(run=run).count() == AMOUNTS.networks
    assert games.values("contributor").distinct().count() == AMOUNTS.contributors
    assert TrainingMetric.objects.filter(run=run).exclude(validation={}).count() == 2
    assert "1000 games" in told


def test_its_counters_agree_with_its_games(run: Run) -> None:
    synthetic_seed(run, AMOUNTS)
    totals = RunTotals.objects.get(run=run)
    counted = Game.objects.filter(state=GameState.COUNTED)
    assert totals.training_games == counted.filter(kind=GameKind.TRAINING).count() > 0
    assert totals.training_rows == counted.aggregate(rows=Sum("num_training_rows"))["rows"] == totals.last_row
    assert totals.last_number == counted.aggregate(newest=Max("number"))["newest"]
    sent = counted.values_list("contributor").annotate(games=Count("pk"))
    for contributor in Contributor.objects.filter(games__isnull=False).distinct():
        assert contributor.training_games + contributor.match_games == dict(sent)[contributor.pk]
    drift = counters_drift()
    assert not any((drift.runs, drift.contributors, drift.networks))


def test_only_a_new_run_is_filled(run: Run) -> None:
    synthetic_seed(run, Amounts(games=10))
    with pytest.raises(InvalidSettings, match="not a new one"):
        synthetic_seed(run, Amounts(games=10))
    with pytest.raises(InvalidSettings, match="at least"):
        synthetic_seed(run, Amounts(games=10, networks=1))


def test_the_command_makes_a_paused_run() -> None:
    call_command("seed_synthetic", "made", "--games", "50", "--networks", "3", "--metrics", "5", "--contributors", "2")
    assert Run.objects.get(name="made").state == "paused"
    assert Game.objects.filter(run__name="made").count() == 50
    with pytest.raises(CommandError, match="already"):
        call_command("seed_synthetic", "made")
