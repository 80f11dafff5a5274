"""Who plays whom: rounds, colours and openings, as KataGo's matches have them."""

from __future__ import annotations

from collections import Counter

import pytest

from client.matches.schedule import TWO_PLAYERS, Meeting, Schedule, schedule_of
from common.parameters import PairingParameters, parse_bots


def pairs_of(schedule: Schedule, games: int) -> Counter[str]:
    """(Black, White) of the first games, as letters."""
    found = Counter[str]()
    for number in range(games):
        game = schedule.game(number)
        colours = (game.first, game.second) if game.first_is_black else (game.second, game.first)
        found["".join("abcdef"[player] for player in colours)] += 1
    return found


KATAGO: dict[str, tuple[str, Counter[str]]] = {
    "extra pairs": (
        "numBots = 4\nsecondaryBots = 2,3\nextraPairs = 2-3,3-0\nextraPairsAreOneSidedBW = true",
        Counter(ab=3, ac=3, ad=3, ba=3, bc=3, bd=3, ca=3, cb=3, cd=3, da=6, db=3),
    ),
}
"""Colours in three rounds of ``katago match`` 1.17.2 under these keys, counted in its records."""


@pytest.mark.parametrize("name", KATAGO)
def test_three_rounds_have_the_games_of_katagos(name: str) -> None:
    text, expected = KATAGO[name]
    pairing, bots = parse_bots(text)
    assert len(bots) == 4
    assert pairs_of(schedule_of(pairing, 4), expected.total()) == expected


def test_two_players_alternate_over_openings() -> None:
    games = [TWO_PLAYERS.game(number) for number in range(4)]
    assert [(game.first, game.second, game.first_is_black, game.opening, game.unit) for game in games] == [
        (0, 1, True, 0, 0),
        (0, 1, False, 0, 0),
        (0, 1, True, 1, 1),
        (0, 1, False, 1, 1),
    ]
    assert schedule_of(PairingParameters(), 2) == TWO_PLAYERS


def test_everybody_plays_everybody_from_the_opening_of_the_round() -> None:
    schedule = schedule_of(PairingParameters(), 4)
    assert len(schedule.meetings) == 6
    for opening in range(3):
        games = [schedule.game(12 * opening + number) for number in range(12)]
        assert {game.opening for game in games} == {opening}
        assert Counter((game.first, game.second) for game in games) == Counter(
            {(i, j): 2 for i in range(4) for j in range(i + 1, 4)}
        )
        by_unit = Counter(game.unit for game in games)
        assert by_unit == Counter({6 * opening + unit: 2 for unit in range(6)})


def test_secondary_bots_do_not_meet_and_some_bots_stay_away() -> None:
    against_first = schedule_of(PairingParameters(secondary_bots=(1, 2, 3)), 4)
    assert against_first.meetings == (Meeting(0, 1), Meeting(0, 2), Meeting(0, 3))
    some = schedule_of(PairingParameters(include_bots=(3, 1), extra_pairs=((3, 1),)), 4)
    assert some.meetings == (Meeting(1, 3), Meeting(3, 1))
    assert {some.game(number).unit for number in range(4)} == {0, 1}


@pytest.mark.parametrize(
    ("pairing", "message"),
    [
        (PairingParameters(secondary_bots=(4,)), "secondaryBots: there is no bot 4, the last of 4 is 3"),
        (PairingParameters(include_bots=(0, 9)), "includeBots: there is no bot 9"),
        (PairingParameters(extra_pairs=((0, 5),)), "extraPairs: there is no bot 5"),
        (PairingParameters(extra_pairs=((1, 1),)), "a bot does not play itself"),
        (PairingParameters(secondary_bots=(0, 1, 2, 3)), "nobody plays anybody"),
        (PairingParameters(include_bots=(2,)), "nobody plays anybody"),
        (
            PairingParameters(secondary_bots=(0, 1, 2, 3), extra_pairs=((0, 1), (2, 3))),
            "some bots have no games against the others",
        ),
    ],
)
def test_what_is_no_match(pairing: PairingParameters, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        schedule_of(pairing, 4)


def test_players_may_be_connected_by_third_ones() -> None:
    pairing = PairingParameters(secondary_bots=(0, 1, 2, 3), extra_pairs=((2, 3), (0, 1), (1, 2)))
    assert len(schedule_of(pairing, 4).meetings) == 3
