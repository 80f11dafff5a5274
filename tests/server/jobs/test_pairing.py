"""Who plays whom in rating games: the draws by themselves, then over HTTP."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from server.accounts.models import Contributor
from server.jobs.models import Job, JobKind, WantedMatch
from server.jobs.pairing import (
    RATED,
    PairDraws,
    Rated,
    Way,
    drawn_first,
    drawn_second,
    drawn_way,
    strength_as_met,
)
from server.jobs.selectors import rating_pair
from server.networks.models import Network
from server.ratings.models import Rating
from server.runs.models import Run
from tests.server.factories import ask, game_form, make_network, make_run, upload

EVEN = (np.arange(4000) + 0.5) / 4000
"""Draws that stand for all."""
ELO = math.log(10.0) / 400.0


def rated_of(strengths: list[float]) -> Rated:
    """Networks of these strengths, whose keys are their places."""
    return np.array([(number, strength, 0.1, 5) for number, strength in enumerate(strengths)], RATED)


def shares(found: list[Any]) -> dict[Any, float]:
    return {each: found.count(each) / len(found) for each in found}


def test_ways_are_drawn_by_their_weights() -> None:
    found = shares([drawn_way((1.0, 0.0, 3.0), draw) for draw in EVEN])
    assert found == pytest.approx({Way.STRENGTH: 0.25, Way.DATA: 0.75})
    assert shares([drawn_way((0.0, 0.0, 0.0), draw) for draw in EVEN]) == pytest.approx(
        dict.fromkeys(Way, 1 / 3), abs=1e-3
    )


def test_the_head_of_a_list_is_drawn_by_falling_weights() -> None:
    head = rated_of([0.0] * 10)
    found = shares([int(drawn_first(head, draw)["id"]) for draw in EVEN])
    weights = [math.exp(-place / 2.0) for place in range(10)]
    assert found == pytest.approx({place: weight / sum(weights) for place, weight in enumerate(weights)}, abs=5e-4)


def test_opponents_are_drawn_by_what_their_games_tell() -> None:
    differences = (-1300, -800, -100, 0, 200, 1100, 1201)
    others = rated_of([elo * ELO for elo in differences])
    for variability in (1.0, 2.0):
        found = []
        for draw in EVEN:
            second = drawn_second(0.0, others, draw, variability)
            assert second is not None
            found.append(int(second["id"]))
        expected = {}
        for number, elo in enumerate(differences):
            if abs(elo) <= 1200:
                chance = 1.0 / (1.0 + 10.0 ** (elo / 400.0 / variability))
                expected[number] = chance * (1.0 - chance)
        total = sum(expected.values())
        for number, weight in expected.items():
            assert shares(found).get(number, 0.0) == pytest.approx(weight / total, abs=5e-4)
        assert not {0, 6} & set(found), "out of range"


def test_with_few_in_range_the_nearest_are_drawn_evenly() -> None:
    others = rated_of([elo * ELO for elo in (-9000, -5000, -4000, 2000, 3000, 4000)])
    found = set()
    for draw in EVEN:
        second = drawn_second(0.0, others, draw, 1.0)
        assert second is not None
        found.add(int(second["id"]))
    assert found == {1, 2, 3, 4}
    assert drawn_second(0.0, rated_of([]), 0.5, 1.0) is None


def test_far_differences_overflow_nothing() -> None:
    others = rated_of([2.7 - number * 1e-9 for number in range(5)])
    assert drawn_second(0.0, others, 0.5, 0.01) is not None


def test_an_uncertain_network_meets_others_of_many_strengths() -> None:
    assert strength_as_met(np.array([(1, 2.0, 0.5, 9)], RATED)[0], -1.5, 2.0) == pytest.approx(0.5)


# ----------------------------------------------------------------------------------------------------------- over HTTP

pytestmark = pytest.mark.django_db


def rate(network: Network, log_gamma: float, error: float, games: int) -> None:
    Rating.objects.create(network=network, run=network.run, log_gamma=log_gamma, error=error, games=games)


def draws(**changes: float) -> PairDraws:
    return PairDraws(**{"way": 0.0, "first": 0.0, "noise": 0.0, "second": 0.0, "colour": 0.0} | changes)


@pytest.fixture
def rated(run: Run, tmp_path: Path) -> list[Network]:
    """The random network and three more, whose strengths are known."""
    found = [Network.objects.get(is_random=True)]
    found += [make_network(run, tmp_path, is_candidate=False) for _ in range(3)]
    for network, values in zip(found, [(0.0, 0.0, 90), (3.0, 0.1, 80), (2.5, 1.0, 70), (2.9, 0.2, 3)], strict=True):
        rate(network, *values)
    return found


def test_first_networks_by_each_way(run: Run, rated: list[Network]) -> None:
    for way, expected in ((0.1, rated[2]), (0.5, rated[2]), (0.9, rated[3])):
        pair = rating_pair(run, draws(way=way))
        assert pair is not None
        assert pair[0] == expected.pk
    pair = rating_pair(run, draws(way=0.9, colour=0.7))
    assert pair is not None
    assert pair[1] == rated[3].pk, "colours are drawn"


def test_a_network_without_rating_is_uncertain_and_as_strong_as_its_parent(
    run: Run, rated: list[Network], tmp_path: Path
) -> None:
    new = make_network(run, tmp_path, is_candidate=False, parent=rated[1])
    for way in (0.1, 0.5, 0.9):
        pair = rating_pair(run, draws(way=way))
        assert pair is not None
        assert pair[0] == new.pk


def test_networks_that_may_not_play_do_not(run: Run, rated: list[Network], tmp_path: Path) -> None:
    make_network(run, tmp_path)  # a candidate
    Network.objects.filter(pk=rated[2].pk).update(rating_games_enabled=False)
    make_network(make_run("other"), tmp_path, is_candidate=False)
    seen = {network for draw in EVEN[::40] for network in rating_pair(run, draws(first=draw, second=draw)) or ()}
    assert seen <= {rated[0].pk, rated[1].pk, rated[3].pk}


def test_a_network_that_was_taken_out_a_moment_ago_does_not_play(run: Run, rated: list[Network]) -> None:
    def pairs() -> set[int]:
        drawn = [rating_pair(run, draws(way=0.9, first=draw, second=draw)) for draw in EVEN[::40]]
        return {network for pair in drawn if pair is not None for network in pair}

    assert rated[3].pk in pairs()
    Network.objects.filter(pk=rated[3].pk).update(rating_games_enabled=False)
    assert pairs() == {network.pk for network in rated[:3]}
    Network.objects.filter(pk__in=[rated[1].pk, rated[2].pk]).update(rating_games_enabled=False)
    assert pairs() == set()


def test_one_network_has_nobody_to_play(run: Run) -> None:
    assert rating_pair(run, draws()) is None


def test_rating_tasks_name_two_networks(client: Client, anna: Contributor, run: Run, rated: list[Network]) -> None:
    Run.objects.update(rating_share=1.0)
    for _ in range(10):
        task = ask(client, anna).json()
        assert task["kind"] == "rating"
        assert task["black_network"]["name"] != task["white_network"]["name"]
    assert set(Job.objects.values_list("kind", flat=True)) == {JobKind.RATING}


# ------------------------------------------------------------------------------------------------------ wanted matches


def test_a_wanted_match_is_played_to_its_end(client: Client, anna: Contributor, run: Run, rated: list[Network]) -> None:
    wanted = WantedMatch(run=run, first=rated[1], second=rated[3], games=6)
    wanted.full_clean()
    wanted.save()
    first, second, third = (ask(client, anna).json() for _ in range(3))
    assert [(task["kind"], task["games"]) for task in (first, second, third)] == [
        ("rating", 4),
        ("rating", 2),
        ("selfplay", 4),
    ]
    assert first["black_network"]["name"] == rated[1].name
    assert second["black_network"]["name"] == rated[3].name, "colours alternate"
    for task in (first, second):
        job = Job.objects.get(pk=task["job_id"])
        assert job.match == wanted
        for _ in range(task["games"]):
            assert upload(client, anna, game_form(job)).status_code == 201
    wanted.refresh_from_db()
    assert (wanted.received, wanted.handed_out) == (6, 2)
    assert ask(client, anna).json()["kind"] == "selfplay"


def test_matches_that_cannot_be_played_are_not_asked_for(run: Run, rated: list[Network], tmp_path: Path) -> None:
    elsewhere = make_network(make_run("other"), tmp_path, is_candidate=False)
    for first, second, field in (
        (rated[0], rated[0], "second"),
        (rated[0], elsewhere, "second"),
        (elsewhere, rated[0], "first"),
    ):
        with pytest.raises(ValidationError) as caught:
            WantedMatch(run=run, first=first, second=second, games=2).full_clean()
        assert field in caught.value.message_dict
    with pytest.raises(ValidationError):
        WantedMatch(run=run, first=rated[0], second=rated[1], games=0).full_clean()
