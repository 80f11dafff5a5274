"""Points and strengths of several players."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from client.matches.ledger import MatchResult
from client.matches.schedule import Meeting, Schedule, schedule_of
from client.matches.score import elo
from client.matches.standings import Standing, Standings
from common.parameters import PairingParameters

NAMES = ("first", "second", "third", "fourth")


def played(schedule: Schedule, count: int, points: dict[tuple[int, int], list[float]]) -> Standings:
    """The first games of a schedule; ``points`` of the lower of two players, in turn."""
    standings = Standings(NAMES, schedule)
    waiting = {pair: iter(values) for pair, values in points.items()}
    for number in range(count):
        game = schedule.game(number)
        pair = min(game.first, game.second), max(game.first, game.second)
        lower = next(waiting[pair])
        own = lower if game.first < game.second else 1.0 - lower
        players = (game.first, game.second)
        standings.add(MatchResult(number, game.first_is_black, own, "B+R", 40, (1.0, 3.0), "(;)", players))
    return standings


def by_name(standings: Standings) -> dict[str, Standing]:
    return {each.name: each for each in standings.table()}


def test_two_players_differ_as_their_score_says_with_a_draw_more() -> None:
    standings = played(schedule_of(PairingParameters(), 2), 20, {(0, 1): [1.0] * 4 + [0.5] * 2 + [0.0] * 14})
    first, second = by_name(standings)["first"], by_name(standings)["second"]
    assert (first.games, first.points, second.points) == (20, 5.0, 15.0)
    assert (first.elo, first.error) == (0.0, 0.0)
    assert second.elo == pytest.approx(elo(15.5 / 21))
    # information of 21 games of one probability p: 21 p (1 - p)
    assert second.error == pytest.approx(1.959964 * 400 / math.log(10) / math.sqrt(21 * (15.5 / 21) * (5.5 / 21)))
    assert [each.name for each in standings.table()] == ["second", "first"]


def test_strengths_make_what_was_gained_what_was_to_be_expected() -> None:
    """At the greatest likelihood everybody has as many points as the strengths expect, the draws more included."""
    schedule = schedule_of(PairingParameters(), 4)
    random = np.random.default_rng(5)
    pairs = list(itertools.combinations(range(4), 2))
    points = {pair: random.choice([0.0, 0.5, 1.0], 24, p=[0.2, 0.1, 0.7]).tolist() for pair in pairs}
    standings = played(schedule, 12 * 11 + 5, points)
    table = by_name(standings)
    strength = [table[name].elo for name in NAMES]
    assert strength[0] == 0.0
    for player in range(4):
        expected, gained = 0.0, 0.0
        for one, other in pairs:
            if player in (one, other):
                opponent = other if player == one else one
                score = standings.scores[one, other]
                lower = score.share * score.games + 0.5
                gained += lower if player == one else score.games + 1 - lower
                expected += (score.games + 1) / (1 + 10 ** ((strength[opponent] - strength[player]) / 400))
        assert gained == pytest.approx(expected, abs=1e-6)
        assert table[NAMES[player]].points == pytest.approx(gained - 1.5)
    assert sum(each.points for each in table.values()) == 137 == standings.games
    assert sum(each.games for each in table.values()) == 2 * 137
    assert table["first"].moves == 20 * table["first"].games


def test_errors_are_those_of_the_likelihoods_curvature() -> None:
    schedule = schedule_of(PairingParameters(secondary_bots=(1, 2)), 3)
    points = {(0, 1): [1.0, 0.0] * 10, (0, 2): [1.0, 1.0, 1.0, 0.0] * 5}
    table = by_name(played(schedule, 40, points))
    for name, share in (("second", 0.5), ("third", 5.5 / 21)):
        assert table[name].elo == pytest.approx(elo(share))
        assert table[name].error == pytest.approx(1.959964 * 400 / math.log(10) / math.sqrt(21 * share * (1 - share)))


def test_nobody_is_infinitely_strong_nor_missing() -> None:
    standings = played(schedule_of(PairingParameters(), 3), 2, {(0, 1): [0.0, 0.0]})
    table = by_name(standings)
    # 2 ½ points in three games against the first and half a point in one against the third, who stands halfway
    ahead = table["second"].elo
    assert table["third"].elo == pytest.approx(ahead / 2)
    assert 3 / (1 + 10 ** (-ahead / 400)) + 1 / (1 + 10 ** (-ahead / 800)) == pytest.approx(3.0)
    assert (table["third"].games, table["third"].points) == (0, 0.0)
    lines = standings.describe()
    assert [line.split()[0] for line in lines[1:4]] == [each.name for each in standings.table()]
    assert "first against second, 2 games: 0 won, 0 drawn, 2 lost" in lines[4]


def test_times_and_colours_are_each_players_own() -> None:
    standings = Standings(NAMES, Schedule((Meeting(0, 1), Meeting(1, 0, swaps=False))))
    for number, players in enumerate([(0, 1), (0, 1), (1, 0)]):
        standings.add(MatchResult(number, number != 1, 1.0, "B+R", 10, (2.0, 5.0), "(;)", players))
    table = by_name(standings)
    assert (table["first"].points, table["second"].points) == (2.0, 1.0)
    assert (table["first"].seconds, table["second"].seconds) == (9.0, 12.0)
    assert sorted(standings.scores[0, 1].units()) == [(1, 0.0), (2, 2.0)]
