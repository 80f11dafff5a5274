"""Which job a client gets: a pure function over what a selector loaded.

1. A client that takes no kind of job gets none.
2. An open gate with games to give comes first, for the run's share of jobs.
3. Then rating games between networks of the run, for their share of the other jobs.
4. Then self-play with the current network, if this client can play it.
5. Else nothing, with the reason.

A client that takes only match games gets them whatever the shares say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from server.jobs.models import JobKind

RATING_NEIGHBOURS: Final = 2
"""How far, in the order of creation, the opponent of a rating game may be."""


@dataclass(frozen=True)
class Asker:
    """What the choice needs to know of the client that asks."""

    allow_selfplay: bool
    allow_rating: bool
    own_client: bool
    """Our own program: it plays networks that KataGo's client would crash with (contribute-protocol.md 8.1)."""


@dataclass(frozen=True)
class Player:
    """A network, as the choice of jobs sees it."""

    id: int
    is_random: bool
    suits_katago_client: bool
    match_games: int


@dataclass(frozen=True)
class OpenGate:
    """One undecided gate, as the choice of jobs sees it."""

    id: int
    candidate: int
    opponent: int
    games: int
    played: int
    pending: int
    """Games that arrived and wait for their audit."""
    leased: int
    """Games that contributors hold under a lease that has not run out."""
    handed_out: int
    """Jobs given so far."""

    @property
    def missing(self) -> int:
        """Games that nobody plays yet."""
        return max(0, self.games - self.played - self.pending - self.leased)

    @property
    def candidate_is_black(self) -> bool:
        """Colours alternate from job to job."""
        return self.handed_out % 2 == 0


@dataclass(frozen=True)
class Situation:
    """What a run offers at this moment."""

    gating_share: float
    rating_share: float
    current: Player | None
    gates: Sequence[OpenGate]
    rated: Sequence[Player]
    """Networks that may play rating games, in the order of creation; at least those that `rating_pair` looks at."""


@dataclass(frozen=True)
class Draws:
    """Random numbers in [0, 1) that decide."""

    gating: float
    rating: float
    opponent: float
    colour: float


@dataclass(frozen=True)
class Assignment:
    """The job to give. Networks and gate by their keys."""

    kind: JobKind
    black: int
    white: int
    gate: int | None = None


@dataclass(frozen=True)
class Nothing:
    """No job; ``only_rating`` if match games are all that could be had later."""

    reason: str
    only_rating: bool


def choose(situation: Situation, asker: Asker, draws: Draws) -> Assignment | Nothing:
    """The job for this client; see the steps in the module's docstring."""
    if not asker.allow_selfplay and not asker.allow_rating:  # 1
        return Nothing("this client takes no jobs at the moment", only_rating=True)
    only_matches = not asker.allow_selfplay
    if asker.allow_rating:
        gate = next_gate(situation.gates)
        if gate is not None and (only_matches or draws.gating < situation.gating_share):  # 2
            return _gating(gate)
        if only_matches or draws.rating < situation.rating_share:  # 3
            pair = rating_pair(situation.rated, draws)
            if pair is not None:
                return Assignment(JobKind.RATING, black=pair[0], white=pair[1])
    if only_matches:  # 5
        return Nothing("no match has games to give at the moment", only_rating=False)
    return _selfplay(situation.current, asker)  # 4, 5


def _gating(gate: OpenGate) -> Assignment:
    black, white = gate.candidate, gate.opponent
    if not gate.candidate_is_black:
        black, white = white, black
    return Assignment(JobKind.GATING, black=black, white=white, gate=gate.id)


def _selfplay(current: Player | None, asker: Asker) -> Assignment | Nothing:
    if current is None:
        return Nothing("the run has no network to play with yet", only_rating=False)
    if not asker.own_client and (current.is_random or not current.suits_katago_client):
        reason = "the current network is too weak for the self-test of KataGo's client; Tengen's client can play it"
        return Nothing(reason, only_rating=True)
    return Assignment(JobKind.SELFPLAY, black=current.id, white=current.id)


def next_gate(gates: Sequence[OpenGate]) -> OpenGate | None:
    """The gate whose games are played next: one that has begun, else that of the newest candidate.

    None where every game that a gate needs is being played already.
    """
    wanting = [gate for gate in gates if gate.missing > 0]
    return max(wanting, key=lambda gate: (gate.handed_out > 0, gate.id), default=None)


def rating_pair(rated: Sequence[Player], draws: Draws) -> tuple[int, int] | None:
    """Two networks for a rating game: the one with the fewest games (of those the newest), and a neighbour of it."""
    if len(rated) < 2:
        return None
    first = min(range(len(rated)), key=lambda index: (rated[index].match_games, -index))
    window = range(max(0, first - RATING_NEIGHBOURS), min(len(rated), first + RATING_NEIGHBOURS + 1))
    others = [index for index in window if index != first]
    second = others[int(draws.opponent * len(others))]
    pair = rated[first].id, rated[second].id
    return pair if draws.colour < 0.5 else pair[::-1]
