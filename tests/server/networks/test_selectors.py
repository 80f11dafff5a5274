"""Of the networks that may be rated, only those are read that a rating game may be given to."""

from __future__ import annotations

import random

import pytest

from server.jobs.choice import RATING_NEIGHBOURS, Draws, Player, rating_pair
from server.networks.models import Network
from server.networks.selectors import least_played, rated_networks
from server.runs.models import Run
from server.upkeep.synthetic import Amounts, synthetic_seed

pytestmark = pytest.mark.django_db


def players(networks: list[Network]) -> list[Player]:
    return [Player(net.pk, net.is_random, net.suits_katago_client, net.match_games) for net in networks]


@pytest.mark.parametrize("seed", range(8))
def test_the_pair_is_that_of_all_rated_networks(run: Run, seed: int) -> None:
    synthetic_seed(run, Amounts(games=20, networks=20))
    rng = random.Random(seed)
    for network in Network.objects.filter(run=run):
        network.match_games = rng.randrange(4)
        network.rating_games_enabled = rng.random() < 0.8
        network.save()
    rated, read = list(rated_networks(run)), least_played(run, RATING_NEIGHBOURS)
    assert len(read) <= 1 + 2 * RATING_NEIGHBOURS < len(rated)
    for opponent in (0.0, 0.3, 0.6, 0.99):
        draws = Draws(gating=0, rating=0, opponent=opponent, colour=rng.random())
        assert rating_pair(players(read), draws) == rating_pair(players(rated), draws)


def test_none_is_rated(run: Run) -> None:
    Network.objects.update(rating_games_enabled=False)
    assert least_played(run, 2) == []
