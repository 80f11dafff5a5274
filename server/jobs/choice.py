"""Which job a client gets: a pure function over what a selector loaded.

1. A client that takes no kind of job gets none.
2. An open gate with games to give comes first, for the run's share of jobs.
3. Then matches that a maintainer has asked for, for the same share; then rating games between networks of the run, for
   their share of the other jobs (`server.jobs.pairing`).
4. Then self-play with the current network, if this client can play it.
5. Else nothing, with the reason.

A client that takes only match games gets them whatever the shares say. Nobody gets more of a gate's games than the
run lets one login play, so that no gate belongs to whoever asks first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from server.jobs.models import JobKind


@dataclass(frozen=True)
class Asker:
    """What the choice needs to know of the client that asks."""

    allow_selfplay: bool
    allow_rating: bool
    own_client: bool
    """Our own program: it plays networks that KataGo's client would crash with (contribute-protocol.md 8.1), and as
    many games as it is told to."""
    games: int = 1
    """How many it wants; KataGo's client plays all of them or none."""
    may_decide: bool = True
    """Its games count in matches."""


@dataclass(frozen=True)
class Player:
    """A network, as the choice of jobs sees it."""

    id: int
    is_random: bool
    suits_katago_client: bool


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
    left_to_asker: int
    """Games that the login which asks may play besides those that it holds or has sent."""

    @property
    def missing(self) -> int:
        """Games that nobody plays yet."""
        return max(0, self.games - self.played - self.pending - self.leased)

    def offer(self, asker: Asker) -> int:
        """How many games the asker gets; 0: none."""
        if self.missing == 0:
            return 0
        if asker.own_client:
            return max(0, min(asker.games, self.missing, self.left_to_asker))
        return asker.games if asker.games <= self.left_to_asker else 0

    @property
    def candidate_is_black(self) -> bool:
        """Colours alternate from job to job."""
        return self.handed_out % 2 == 0


@dataclass(frozen=True)
class WantedMatch:
    """A match that a maintainer has asked for, with games to give."""

    id: int
    first: int
    second: int
    missing: int
    """Games that nobody plays yet."""
    handed_out: int
    """Jobs given so far; colours alternate from job to job."""


@dataclass(frozen=True)
class Situation:
    """What a run offers at this moment."""

    gating_share: float
    rating_share: float
    current: Player | None
    gates: Sequence[OpenGate]
    matches: Sequence[WantedMatch]
    """The oldest first."""
    pair: Callable[[], tuple[int, int] | None]
    """Draws the networks, Black's first, of a rating game; asked only where one is to be played."""


@dataclass(frozen=True)
class Draws:
    """Random numbers in [0, 1) that decide."""

    gating: float
    rating: float


@dataclass(frozen=True)
class Assignment:
    """The job to give. Networks and gate by their keys."""

    kind: JobKind
    black: int
    white: int
    games: int
    gate: int | None = None
    match: int | None = None


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
    if asker.allow_rating and asker.may_decide:
        gate = next_gate(situation.gates, asker)
        if gate is not None and (only_matches or draws.gating < situation.gating_share):  # 2
            return _gating(gate, asker)
        if situation.matches and (only_matches or draws.gating < situation.gating_share):  # 3
            return _wanted(situation.matches[0], asker)
        if only_matches or draws.rating < situation.rating_share:  # 3
            pair = situation.pair()
            if pair is not None:
                return Assignment(JobKind.RATING, black=pair[0], white=pair[1], games=asker.games)
    if only_matches:  # 5
        return Nothing("no match has games to give at the moment", only_rating=False)
    return _selfplay(situation.current, asker)  # 4, 5


def _gating(gate: OpenGate, asker: Asker) -> Assignment:
    black, white = gate.candidate, gate.opponent
    if not gate.candidate_is_black:
        black, white = white, black
    return Assignment(JobKind.GATING, black=black, white=white, games=gate.offer(asker), gate=gate.id)


def _wanted(match: WantedMatch, asker: Asker) -> Assignment:
    black, white = match.first, match.second
    if match.handed_out % 2:
        black, white = white, black
    games = min(asker.games, match.missing) if asker.own_client else asker.games
    return Assignment(JobKind.RATING, black=black, white=white, games=games, match=match.id)


def _selfplay(current: Player | None, asker: Asker) -> Assignment | Nothing:
    if current is None:
        return Nothing("the run has no network to play with yet", only_rating=False)
    if not asker.own_client and (current.is_random or not current.suits_katago_client):
        reason = "the current network is too weak for the self-test of KataGo's client; Tengen's client can play it"
        return Nothing(reason, only_rating=True)
    return Assignment(JobKind.SELFPLAY, black=current.id, white=current.id, games=asker.games)


def next_gate(gates: Sequence[OpenGate], asker: Asker) -> OpenGate | None:
    """The gate whose games are played next: one that has begun, else that of the newest candidate.

    None where every game that a gate needs is being played already, or is to be played by others than the asker.
    """
    wanting = [gate for gate in gates if gate.offer(asker) > 0]
    return max(wanting, key=lambda gate: (gate.handed_out > 0, gate.id), default=None)
