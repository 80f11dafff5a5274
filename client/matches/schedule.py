"""Who plays whom in a match, with which colours: a round of meetings, played again and again.

A round has every two players that are to meet; its games all have the opening of the round, so that the results of the
players differ by nothing else. Two players who meet have two games, with colours swapped, one after the other.
Specification: selfplay.md 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from common.parameter_classes import PairingParameters


class Meeting(NamedTuple):
    """Two players of a round."""

    first: int
    second: int
    swaps: bool = True  # they play twice, each with Black once; else the first has Black


class ScheduledGame(NamedTuple):
    """What a game's number says of it."""

    first: int
    second: int
    first_is_black: bool
    opening: int  # which one: number of the round
    unit: int  # the games of one meeting share it


@dataclass(frozen=True)
class Schedule:
    """The games of a match by their numbers."""

    meetings: tuple[Meeting, ...]  # of each round

    @cached_property
    def _round(self) -> list[tuple[int, bool]]:
        """Meeting of each game of a round, and whether its first player has Black."""
        return [
            (number, first_is_black)
            for number, meeting in enumerate(self.meetings)
            for first_is_black in ((True, False) if meeting.swaps else (True,))
        ]

    def game(self, number: int) -> ScheduledGame:
        """Game ``number``, from 0."""
        opening, place = divmod(number, len(self._round))
        meeting, first_is_black = self._round[place]
        first, second, _ = self.meetings[meeting]
        return ScheduledGame(first, second, first_is_black, opening, opening * len(self.meetings) + meeting)


TWO_PLAYERS: Final = Schedule((Meeting(0, 1),))


def schedule_of(pairing: PairingParameters, count: int) -> Schedule:
    """The schedule of ``count`` players.

    Raises:
        ValueError: it names a player that there is not, nobody plays, or players are not connected by games.
    """
    for key, bots in (
        ("includeBots", pairing.include_bots),
        ("secondaryBots", pairing.secondary_bots),
        ("extraPairs", tuple(bot for pair in pairing.extra_pairs for bot in pair)),
    ):
        if any(bot >= count for bot in bots):
            raise ValueError(f"{key}: there is no bot {max(bots)}, the last of {count} is {count - 1}")
    included = sorted(set(pairing.include_bots)) or list(range(count))
    secondary = set(pairing.secondary_bots)
    meetings = [
        Meeting(first, second)
        for first in included
        for second in included
        if first < second and not {first, second} <= secondary
    ]
    meetings += [Meeting(*pair, not pairing.extra_pairs_are_one_sided) for pair in pairing.extra_pairs]
    if any(meeting.first == meeting.second for meeting in meetings):
        raise ValueError("extraPairs: a bot does not play itself")
    if not meetings:
        raise ValueError("nobody plays anybody: see includeBots, secondaryBots and extraPairs")
    if len(_connected(meetings)) < len({player for meeting in meetings for player in meeting[:2]}):
        raise ValueError("some bots have no games against the others, not even by way of third ones: play two matches")
    return Schedule(tuple(meetings))


def _connected(meetings: Sequence[Meeting]) -> set[int]:
    """The players that the first one has games with, by way of others too."""
    found = {meetings[0].first}
    for _ in meetings:
        for first, second, _swaps in meetings:
            if first in found or second in found:
                found |= {first, second}
    return found
