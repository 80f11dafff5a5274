"""Ratings of a run: from its scores, only where these changed, and the same as if computed anew."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from server.games.models import Game, GameKind, GameState
from server.games.moderation import games_refuse
from server.networks.models import Network
from server.ratings.models import Rating
from server.ratings.selectors import newest_rated, rating_curve, ratings_of, strongest
from server.ratings.services import ratings_compute
from server.runs.models import Run
from server.upkeep.synthetic import Amounts, synthetic_seed
from tests.server.factories import FAULT, make_network

pytestmark = pytest.mark.django_db


@pytest.fixture
def big(run: Run) -> Run:
    """A run of 12 networks that have played each other."""
    synthetic_seed(run, Amounts(games=3000, networks=12, contributors=3, match_every=2))
    return run


def values(run: Run) -> np.ndarray:
    found = Rating.objects.filter(run=run).order_by("pk").values_list("log_gamma", "error", "games")
    return np.array(list(found), dtype=float)


def test_nothing_is_computed_where_nothing_changed(big: Run) -> None:
    assert ratings_compute(big) == 12
    with CaptureQueriesContext(connection) as queries:
        assert ratings_compute(big) == 0
    assert len(queries) == 3, [query["sql"] for query in queries.captured_queries]
    assert ratings_compute(big, anew=True) == 0, "and anew they are the same"


def test_a_changed_pair_gives_what_the_whole_computation_gives(big: Run, tmp_path: Path) -> None:
    ratings_compute(big)
    before = values(big)
    match = Game.objects.filter(kind=GameKind.RATING, state=GameState.COUNTED)
    first = match.order_by("pk")[0]
    pair = match.filter(black_network=first.black_network, white_network=first.white_network)
    assert games_refuse(list(pair.values_list("pk", flat=True)), FAULT) > 3
    newest = make_network(big, tmp_path, parent=Network.objects.order_by("-pk")[0])
    assert ratings_compute(big) >= 3
    changed = values(big)
    assert len(changed) == 13
    assert np.abs(changed[:12] - before).max() > 1e-3
    assert Rating.objects.get(pk=newest.pk).games == 0
    Rating.objects.all().delete()
    ratings_compute(big, anew=True)
    np.testing.assert_allclose(values(big), changed, atol=3e-6)


def test_games_are_those_that_each_has_played(big: Run) -> None:
    ratings_compute(big)
    counted = Game.objects.filter(kind=GameKind.RATING, state=GameState.COUNTED)
    for rating in Rating.objects.all():
        network = rating.network
        games = counted.filter(black_network=network).count() + counted.filter(white_network=network).count()
        assert rating.games == games == network.match_games


def test_a_training_game_changes_no_rating(big: Run) -> None:
    ratings_compute(big)
    games_refuse([Game.objects.filter(kind=GameKind.TRAINING, state=GameState.COUNTED)[0].pk], FAULT)
    assert ratings_compute(big) == 0


def test_curves_and_the_newest(big: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert newest_rated(big, 5) == []
    ratings_compute(big)
    names = list(Network.objects.filter(run=big).order_by("pk").values_list("name", flat=True))
    assert [net.name for net in rating_curve(big)] == names
    assert [net.name for net in newest_rated(big, 5)] == names[::-1][:5]
    monkeypatch.setattr("server.ratings.selectors.MAX_POINTS", 4)
    assert [net.name for net in rating_curve(big)] == names[::-1][::3][::-1]
    some = list(Network.objects.order_by("pk")[:3])
    assert [ratings_of(some)[net.pk].name for net in some] == names[:3]


def test_the_strongest_is_the_one_that_surely_is(run: Run, tmp_path: Path) -> None:
    first = Network.objects.get(run=run)
    sure, unsure, away = (make_network(run, tmp_path) for _ in range(3))
    assert strongest(run) is None
    Rating.objects.create(network=first, run=run, log_gamma=0.0, error=0.0, games=50)
    assert strongest(run) is None, "the zero of the scale is no measurement"
    Rating.objects.create(network=sure, run=run, log_gamma=1.0, error=0.1, games=50)
    Rating.objects.create(network=unsure, run=run, log_gamma=1.3, error=0.3, games=5)
    Rating.objects.create(network=away, run=run, log_gamma=9.0, error=0.1, games=50)
    Network.objects.filter(pk=away.pk).update(rating_games_enabled=False)
    assert strongest(run) == sure
    Rating.objects.filter(pk=unsure.pk).update(log_gamma=2.0)
    assert strongest(run) == unsure
    Rating.objects.filter(pk=unsure.pk).update(log_gamma=5.0, error=0.6)
    assert strongest(run) == sure, "too little is known of it"


def test_the_command_rates_one_run_or_all(big: Run) -> None:
    told = StringIO()
    call_command("compute_ratings", stdout=told)
    call_command("compute_ratings", "seven", "--anew", stdout=told)
    assert told.getvalue() == "seven: 12 ratings changed\nseven: 0 ratings changed\n"
    with pytest.raises(CommandError, match="no run"):
        call_command("compute_ratings", "none")
