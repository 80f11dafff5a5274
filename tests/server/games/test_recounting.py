"""Counters are set right whatever they said, and what is counted meanwhile is kept."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from django.db.models import F

from server.accounts.models import Contributor
from server.games.models import Game, GameState, MatchScore
from server.games.moderation import games_refuse
from server.games.recounting import counters_drift, counters_rebuild
from server.networks.models import Network
from server.runs.models import Run, RunTotals
from server.upkeep.synthetic import Amounts, synthetic_seed
from tests.server.factories import FAULT

pytestmark = pytest.mark.django_db


def everything() -> list[object]:
    """All that counts games."""
    names = ("training_games", "training_rows", "match_games")
    found: list[object] = [
        sorted(model.objects.values_list("pk", *names)) for model in (RunTotals, Contributor, Network)
    ]
    found.append(sorted(RunTotals.objects.values_list("refused_games")))
    scores = MatchScore.objects.filter(games__gt=0)
    found.append(sorted(scores.values_list("black_network", "white_network", "games", "black_half_points")))
    return found


@pytest.fixture
def right(run: Run) -> list[object]:
    """What the counters of a run of 400 games should say."""
    synthetic_seed(run, Amounts(games=400, networks=4, contributors=3, match_every=3))
    return everything()


def test_wrong_counters_are_set_right(right: list[object]) -> None:
    RunTotals.objects.update(training_games=5, refused_games=F("refused_games") + 7)
    Contributor.objects.update(training_rows=0)
    Network.objects.filter(is_random=False).update(match_games=F("match_games") + 3)
    MatchScore.objects.order_by("pk")[0].delete()
    MatchScore.objects.update(games=F("games") + 2, black_half_points=F("black_half_points") + 1)
    told = StringIO()
    call_command("rebuild_counters", "--dry-run", stdout=told)
    assert "refused_games -7" in told.getvalue()
    assert "are wrong" in told.getvalue()
    assert everything() != right, "only told"
    call_command("rebuild_counters", stdout=told)
    assert everything() == right
    call_command("rebuild_counters", stdout=told)
    assert told.getvalue().endswith("0 counters were set right\n")


def test_a_difference_is_added_to_what_is_counted_meanwhile(right: list[object]) -> None:
    Contributor.objects.update(training_games=F("training_games") + 9)
    drift = counters_drift()
    counted = Game.objects.filter(state=GameState.COUNTED).order_by("pk")
    games_refuse([game.pk for game in counted[:50]], FAULT)
    drift.apply()
    after = everything()
    counters_rebuild()
    assert everything() == after
    assert after != right


def test_scores_follow_moderation(right: list[object]) -> None:
    keys = list(Game.objects.filter(state=GameState.COUNTED).values_list("pk", flat=True))
    games_refuse(keys, FAULT)
    assert not MatchScore.objects.filter(games__gt=0).exists()
    drift = counters_drift()
    assert not any((drift.runs, drift.contributors, drift.networks, drift.scores))
