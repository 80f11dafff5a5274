"""Verdicts, the next gate, and the choice of jobs: pure functions, no database."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.wire import PHRASE_ONLY_RATING
from server.errors import OnlyRatingNow
from server.jobs.choice import Asker, Assignment, Draws, Nothing, Player, Situation, choose, rating_pair
from server.jobs.gating import OpenGate, Verdict, candidate_half_points, needed_half_points, next_gate, verdict
from server.jobs.models import JobKind

# ------------------------------------------------------------------------------------------------------------ verdicts


@pytest.mark.parametrize(
    ("games", "required", "half_points"),
    [(200, 0.5, 200), (200, 0.55, 220), (201, 0.5, 201), (3, 0.5, 3), (100, 0.0, 0), (7, 1.0, 14), (10, 0.501, 11)],
)
def test_needed(games: int, required: float, half_points: int) -> None:
    assert needed_half_points(games, required) == half_points


@pytest.mark.parametrize(
    ("played", "half_points", "expected"),
    [
        (0, 0, Verdict.UNDECIDED),
        (100, 200, Verdict.PASSED),  # 100 wins of 200 games: the rest does not matter
        (100, 199, Verdict.UNDECIDED),
        (199, 199, Verdict.UNDECIDED),
        (200, 200, Verdict.PASSED),  # exactly the share passes
        (200, 199, Verdict.FAILED),
        (101, 0, Verdict.FAILED),  # 99 games cannot give 100 points
        (100, 0, Verdict.UNDECIDED),  # 100 games can
        (210, 190, Verdict.FAILED),  # games beyond the match
    ],
)
def test_verdict_of_a_match_of_200(played: int, half_points: int, expected: Verdict) -> None:
    assert verdict(games=200, required=0.5, played=played, half_points=half_points) is expected


@given(
    outcomes=st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=60),
    required=st.floats(0, 1, allow_nan=False),
)
def test_stopping_early_never_changes_the_verdict(outcomes: list[int], required: float) -> None:
    games = len(outcomes)
    final = verdict(games=games, required=required, played=games, half_points=sum(outcomes))
    assert final is not Verdict.UNDECIDED
    for played in range(games):
        early = verdict(games=games, required=required, played=played, half_points=sum(outcomes[:played]))
        assert early in (Verdict.UNDECIDED, final)


@pytest.mark.parametrize(
    ("is_black", "winner", "half_points"),
    [(True, "B", 2), (True, "W", 0), (False, "W", 2), (False, "B", 0), (True, "0", 1), (False, "-", 1)],
)
def test_points_of_a_game(is_black: bool, winner: str, half_points: int) -> None:
    assert candidate_half_points(candidate_is_black=is_black, winner=winner) == half_points


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
