"""What a run has come to, read from the database in one look. Needs Django to be set up.

Used by the demo's live display and by the end-to-end tests; asks the apps' selectors and writes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from server.gates import selectors as gates
from server.networks import selectors as networks
from server.networks.models import NetworkState
from server.ratings import selectors as ratings
from server.runs import selectors as runs
from server.training import selectors as training
from server.training.sizes import trained_nets


@dataclass(frozen=True)
class GateStatus:
    """The match that is being played."""

    candidate: str
    points: float
    played: int
    games: int


@dataclass(frozen=True)
class RunStatus:
    """One look at a run. ``elo`` is of the current network, None before it is rated."""

    games: int = 0
    rows: int = 0
    match_games: int = 0
    refused: int = 0
    samples: int = 0
    losses: dict[str, float] = field(default_factory=dict)
    current: str = ""
    elo: float | None = None
    elo_error: float = 0.0
    promoted: int = 0
    candidates: int = 0
    gate: GateStatus | None = None
    trouble: str = ""


def read_status(run_name: str) -> RunStatus:
    """The status of a run that exists."""
    run = runs.run_by_name(run_name)
    assert run is not None, f"there is no run {run_name}"
    current = run.current_network
    strength = ratings.ratings_of([current]).get(current.pk) if current else None
    gate = next(iter(gates.open_gates(run)), None)
    states = [network.state for network in networks.networks(run)]
    return RunStatus(
        games=run.totals.training_games,
        rows=run.totals.training_rows,
        match_games=run.totals.match_games,
        refused=run.totals.refused_games,
        samples=training.samples_trained(run),
        losses=training.latest_losses(trained_nets(run)[0]),
        current=current.name if current else "",
        elo=strength.elo if strength and strength.has_played else None,
        elo_error=strength.elo_error if strength else 0.0,
        promoted=states.count(NetworkState.ACCEPTED),
        candidates=len(states) - states.count(NetworkState.SEED),
        gate=GateStatus(gate.candidate.name, gate.points, gate.played, gate.games) if gate else None,
        trouble=training.trouble(run),
    )
