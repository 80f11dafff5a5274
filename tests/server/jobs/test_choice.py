"""The next gate and the choice of jobs: pure functions, no database."""

from __future__ import annotations

import dataclasses

import pytest

from common.wire import PHRASE_ONLY_RATING
from server.errors import OnlyRatingNow
from server.jobs.choice import (
    Asker,
    Assignment,
    Draws,
    Nothing,
    OpenGate,
    Player,
    Situation,
    WantedMatch,
    choose,
    next_gate,
)
from server.jobs.models import JobKind

# ---------------------------------------------------------------------------------------------------------- next gate


ANYTHING = Asker(allow_selfplay=True, allow_rating=True, own_client=True, games=4)


def gate(id: int = 1, **changes: int) -> OpenGate:
    """A gate of 8 games that has not begun."""
    begin = OpenGate(
        id=id, candidate=10 + id, opponent=9, games=8, played=0, pending=0, leased=0, handed_out=0, left_to_asker=8
    )
    return dataclasses.replace(begin, **changes)


def test_games_that_others_play_are_not_given_again() -> None:
    assert gate(played=2, pending=3, leased=2).missing == 1
    assert gate(played=2, pending=3, leased=4).missing == 0
    assert next_gate([gate(played=2, pending=3, leased=3)], ANYTHING) is None


def test_a_gate_that_has_begun_comes_first_then_the_newest() -> None:
    newest = next_gate([gate(1), gate(2), gate(3)], ANYTHING)
    begun = next_gate([gate(1), gate(2, handed_out=1), gate(3)], ANYTHING)
    assert newest is not None
    assert newest.id == 3
    assert begun is not None
    assert begun.id == 2
    assert next_gate([], ANYTHING) is None


@pytest.mark.parametrize(
    ("changes", "own_client", "games"),
    [
        ({}, True, 4),
        ({"leased": 6}, True, 2),
        ({"left_to_asker": 3}, True, 3),
        ({"left_to_asker": 0}, True, 0),
        ({"left_to_asker": -2}, True, 0),
        ({"leased": 8}, True, 0),
        ({}, False, 4),
        ({"leased": 6}, False, 4),  # KataGo's client plays all that it asked for
        ({"left_to_asker": 4}, False, 4),
        ({"left_to_asker": 3}, False, 0),
        ({"leased": 8}, False, 0),
    ],
)
def test_what_one_login_is_offered_of_a_gate(changes: dict[str, int], own_client: bool, games: int) -> None:
    asker = dataclasses.replace(ANYTHING, own_client=own_client)
    assert gate(**changes).offer(asker) == games
    assert (next_gate([gate(**changes)], asker) is not None) == (games > 0)


def test_whose_games_decide_nothing_gets_no_matches() -> None:
    asker = dataclasses.replace(ANYTHING, may_decide=False)
    assert kind(dataclasses.replace(QUIET, gates=[gate()], rating_share=1.0), asker, LOW) == JobKind.SELFPLAY


# ------------------------------------------------------------------------------------------------------------- choice

CURRENT = Player(id=9, is_random=False, suits_katago_client=True)
RANDOM = Player(id=1, is_random=True, suits_katago_client=False)
QUIET = Situation(gating_share=1.0, rating_share=0.0, current=CURRENT, gates=[], matches=[], pair=lambda: (1, 9))
LOW = Draws(gating=0.0, rating=0.0)
HIGH = Draws(gating=0.99, rating=0.99)


def kind(situation: Situation, asker: Asker, draws: Draws) -> JobKind:
    found = choose(situation, asker, draws)
    assert isinstance(found, Assignment)
    return found.kind


def test_selfplay_is_the_rule() -> None:
    assert choose(QUIET, ANYTHING, LOW) == Assignment(JobKind.SELFPLAY, black=9, white=9, games=4)


def test_colours_alternate_over_the_jobs_of_a_gate() -> None:
    pairs = []
    for handed_out in range(4):
        found = choose(dataclasses.replace(QUIET, gates=[gate(handed_out=handed_out)]), ANYTHING, HIGH)
        assert isinstance(found, Assignment)
        assert (found.kind, found.gate) == (JobKind.GATING, 1)
        pairs.append((found.black, found.white))
    assert pairs == [(11, 9), (9, 11), (11, 9), (9, 11)]


def test_gating_share_leaves_jobs_to_selfplay() -> None:
    half = dataclasses.replace(QUIET, gates=[gate()], gating_share=0.5)
    assert kind(half, ANYTHING, dataclasses.replace(HIGH, gating=0.49)) == JobKind.GATING
    assert kind(half, ANYTHING, dataclasses.replace(HIGH, gating=0.51)) == JobKind.SELFPLAY


def test_gating_comes_before_rating() -> None:
    both = dataclasses.replace(QUIET, gates=[gate()], rating_share=1.0)
    assert kind(both, ANYTHING, LOW) == JobKind.GATING
    assert kind(dataclasses.replace(both, gates=[]), ANYTHING, LOW) == JobKind.RATING


def test_only_matches_ignores_the_shares() -> None:
    only = dataclasses.replace(ANYTHING, allow_selfplay=False)
    assert kind(dataclasses.replace(QUIET, gates=[gate()], gating_share=0.0), only, HIGH) == JobKind.GATING
    assert kind(QUIET, only, HIGH) == JobKind.RATING
    found = choose(dataclasses.replace(QUIET, pair=lambda: None), only, HIGH)
    assert found == Nothing("no match has games to give at the moment", only_rating=False)


def test_no_matches_means_none() -> None:
    never = dataclasses.replace(ANYTHING, allow_rating=False)
    assert kind(dataclasses.replace(QUIET, gates=[gate()], rating_share=1.0), never, LOW) == JobKind.SELFPLAY


def test_a_run_without_a_network() -> None:
    found = choose(dataclasses.replace(QUIET, current=None), ANYTHING, LOW)
    assert isinstance(found, Nothing)
    assert "no network" in found.reason


def test_katagos_client_and_weak_networks() -> None:
    katago = dataclasses.replace(ANYTHING, own_client=False)
    assert kind(QUIET, katago, HIGH) == JobKind.SELFPLAY
    for weak in (RANDOM, dataclasses.replace(CURRENT, suits_katago_client=False)):
        found = choose(dataclasses.replace(QUIET, current=weak), katago, HIGH)
        assert isinstance(found, Nothing)
        assert found.only_rating
        assert PHRASE_ONLY_RATING in str(OnlyRatingNow(found.reason))


def test_matches_that_were_asked_for_come_after_gates_and_before_ratings() -> None:
    wanted = WantedMatch(id=3, first=4, second=5, missing=3, handed_out=0)
    asked = dataclasses.replace(QUIET, matches=[wanted], rating_share=1.0)
    assert choose(asked, ANYTHING, LOW) == Assignment(JobKind.RATING, black=4, white=5, games=3, match=3)
    later = dataclasses.replace(asked, matches=[dataclasses.replace(wanted, handed_out=1, missing=9)])
    assert choose(later, ANYTHING, LOW) == Assignment(JobKind.RATING, black=5, white=4, games=4, match=3)
    katago = choose(asked, dataclasses.replace(ANYTHING, own_client=False), LOW)
    assert isinstance(katago, Assignment)
    assert katago.games == 4, "KataGo's client plays all that it asked for"
    assert kind(dataclasses.replace(asked, gates=[gate()]), ANYTHING, LOW) == JobKind.GATING
    assert kind(dataclasses.replace(asked, gating_share=0.5, rating_share=0.0), ANYTHING, HIGH) == JobKind.SELFPLAY
