"""The next gate and the choice of jobs: pure functions, no database."""

from __future__ import annotations

import dataclasses

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
    choose,
    next_gate,
    rating_pair,
)
from server.jobs.models import JobKind

# ---------------------------------------------------------------------------------------------------------- next gate


def gate(id: int = 1, **changes: int) -> OpenGate:
    """A gate of 8 games that has not begun."""
    begin = OpenGate(id=id, candidate=10 + id, opponent=9, games=8, played=0, pending=0, leased=0, handed_out=0)
    return dataclasses.replace(begin, **changes)


def test_games_that_others_play_are_not_given_again() -> None:
    assert gate(played=2, pending=3, leased=2).missing == 1
    assert gate(played=2, pending=3, leased=4).missing == 0
    assert next_gate([gate(played=2, pending=3, leased=3)]) is None


def test_a_gate_that_has_begun_comes_first_then_the_newest() -> None:
    newest, begun = next_gate([gate(1), gate(2), gate(3)]), next_gate([gate(1), gate(2, handed_out=1), gate(3)])
    assert newest is not None
    assert newest.id == 3
    assert begun is not None
    assert begun.id == 2
    assert next_gate([]) is None


# ------------------------------------------------------------------------------------------------------------- choice

ANYTHING = Asker(allow_selfplay=True, allow_rating=True, own_client=True)
CURRENT = Player(id=9, is_random=False, suits_katago_client=True, match_games=50)
RANDOM = Player(id=1, is_random=True, suits_katago_client=False, match_games=50)
QUIET = Situation(gating_share=1.0, rating_share=0.0, current=CURRENT, gates=[], rated=[RANDOM, CURRENT])
LOW = Draws(gating=0.0, rating=0.0, opponent=0.0, colour=0.0)
HIGH = Draws(gating=0.99, rating=0.99, opponent=0.99, colour=0.99)


def kind(situation: Situation, asker: Asker, draws: Draws) -> JobKind:
    found = choose(situation, asker, draws)
    assert isinstance(found, Assignment)
    return found.kind


def test_selfplay_is_the_rule() -> None:
    assert choose(QUIET, ANYTHING, LOW) == Assignment(JobKind.SELFPLAY, black=9, white=9)


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
    found = choose(dataclasses.replace(QUIET, rated=[CURRENT]), only, HIGH)
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


def player(id: int, match_games: int) -> Player:
    return Player(id=id, is_random=False, suits_katago_client=True, match_games=match_games)


def test_rating_pair_prefers_little_data_and_neighbours() -> None:
    rated = [player(1, 9), player(2, 9), player(3, 9), player(4, 2), player(5, 9), player(6, 9), player(7, 9)]
    seen = {rating_pair(rated, Draws(0, 0, share / 8, 0.0)) for share in range(8)}
    assert seen == {(4, 2), (4, 3), (4, 5), (4, 6)}
    assert rating_pair(rated, Draws(0, 0, 0.0, 0.9)) == (2, 4), "the other colours"
    assert rating_pair([player(1, 0), player(2, 0)], LOW) == (2, 1), "of equals the newest"
    assert rating_pair(rated[:1], LOW) is None
