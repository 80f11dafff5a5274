"""Gates from a candidate's registration to the verdict, and what the verdict changes.

Rows are locked in this order wherever several are: run totals, run, gates by key. Locks are ``FOR NO KEY UPDATE``, so
that inserting a row that points to a locked one does not wait. A candidate is older than another if its key is less.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from server.gates.models import Gate, GateState
from server.gates.verdicts import Verdict, verdict
from server.hints import Hint
from server.networks.models import Network, NetworkState
from server.networks.services import NewNetwork, network_register
from server.runs.models import PromotionRule, Run

logger = logging.getLogger(__name__)

SAMPLE: Final = Hint("server.inspection.tasks.replay")
"""Some games of a gate are to be looked at once more."""


# ---------------------------------------------------------------------------------------------------------- candidates


def candidate_register(new: NewNetwork) -> Network:
    """Store a candidate's file, make its row and admit it; see `network_register`.

    Raises:
        InvalidSettings, Unavailable: nothing was stored.
    """
    return network_register(new, NetworkState.CANDIDATE, candidate_admit)


def accepted_register(new: NewNetwork) -> Network:
    """Store a network that a maintainer has judged, and make it the current one at once; see `network_register`.

    Raises:
        InvalidSettings, Unavailable: nothing was stored.
    """
    return network_register(new, NetworkState.ACCEPTED, _promote_now)


def _promote_now(network: Network) -> None:
    _promote(Run.objects.select_for_update(no_key=True).get(pk=network.run_id), network)


def candidate_admit(candidate: Network) -> Gate | None:
    """Do with a new candidate what the run's rule says: open a gate, or promote it at once.

    Candidates whose gate has not begun give way to the new one. Inside the caller's transaction.
    """
    run = Run.objects.select_for_update(no_key=True).get(pk=candidate.run_id)
    current = run.current_network
    if run.promotion_rule == PromotionRule.ALWAYS or current is None:
        _promote(run, candidate)
        return None
    for gate in Gate.objects.select_for_update(no_key=True).filter(run=run, state=GateState.OPEN).order_by("pk"):
        if gate.handed_out == 0:
            _close_gate(gate, GateState.SUPERSEDED)
            _reject(gate.candidate_id)
    return _open_gate(run, current, candidate)


def _open_gate(run: Run, opponent: Network, candidate: Network) -> Gate:
    gate = Gate(
        run=run,
        candidate=candidate,
        opponent=opponent,
        games=run.gate_games,
        required=run.gate_required,
        sprt_elo=run.sprt_elo if run.promotion_rule == PromotionRule.SPRT else None,
        replays=run.gate_replays,
    )
    gate.save(force_insert=True)
    logger.info("gate of %s against %s: %d games", candidate.name, opponent.name, gate.games)
    return gate


# ----------------------------------------------------------------------------------------------------------- its games


def open_gates_lock(run: Run, *, wait: bool) -> list[Gate]:
    """The open gates, locked so that no two requests hand out the same missing games; in the caller's transaction.

    Not those that have the points for a promotion, and wait for a look at some of their games.
    Who may play anything does not ``wait`` for a gate that another request has locked, and gets another job.
    """
    gates = Gate.objects.select_for_update(no_key=True, skip_locked=not wait)
    return list(gates.filter(run=run, state=GateState.OPEN, sample_since=None).order_by("pk"))


def gate_handed_out(key: int) -> None:
    """Note that a job for the gate was given."""
    Gate.objects.filter(pk=key).update(handed_out=F("handed_out") + 1)


def gate_game_arrived(key: int) -> None:
    """Note that one of its games arrived and waits for its audit."""
    Gate.objects.filter(pk=key).update(pending=F("pending") + 1)


@dataclass
class GateChange:
    """What a batch of judged games changes at one gate; negative where moderation takes games back."""

    pending: int = 0
    played: int = 0
    half_points: int = 0


def gates_change(changes: dict[int, GateChange]) -> None:
    """Apply ``changes`` by gate, and decide the gates that are decided by them; inside the caller's transaction.

    A gate that is closed keeps the points with which it was decided.
    """
    if not changes:
        return
    runs = Gate.objects.filter(pk__in=changes).values("run")
    list(Run.objects.select_for_update(no_key=True).filter(pk__in=runs).order_by("pk"))
    for key in sorted(changes):
        gate = Gate.objects.select_for_update(no_key=True).get(pk=key)
        change = changes[key]
        gate.pending = max(0, gate.pending + change.pending)
        if gate.state == GateState.OPEN:
            gate.played += change.played
            gate.half_points += change.half_points
        gate.save(update_fields=["pending", "played", "half_points"])
        _conclude(gate)


# --------------------------------------------------------------------------------------------------------- its verdict


def gate_confirm(key: int, is_confirmed: Callable[[Gate], bool]) -> bool:
    """Promote the candidate of a gate that waits for a look at some of its games, if that ``is_confirmed``.

    It is asked with the gate locked, so that no game of it is taken out meanwhile.
    """
    with transaction.atomic():
        runs = Gate.objects.filter(pk=key).values("run")
        run = Run.objects.select_for_update(no_key=True).get(pk__in=runs)
        gate = Gate.objects.select_for_update(no_key=True).get(pk=key)
        waits = gate.state == GateState.OPEN and gate.sample_since is not None
        if not waits or _verdict(gate) is not Verdict.PASSED or not is_confirmed(gate):
            return False
        _pass(gate, run)
    return True


def _verdict(gate: Gate) -> Verdict:
    return verdict(
        games=gate.games,
        required=gate.required,
        played=gate.played,
        half_points=gate.half_points,
        sprt_elo=gate.sprt_elo,
    )


def _conclude(gate: Gate) -> None:
    """Promote or reject the candidate of an open gate whose games decide it; or let it wait for a look at some."""
    if gate.state != GateState.OPEN:
        return
    outcome = _verdict(gate)
    if outcome is Verdict.PASSED:
        if gate.replays == 0:
            _pass(gate, Run.objects.get(pk=gate.run_id))
        elif gate.sample_since is None:
            gate.sample_since = timezone.now()
            gate.save(update_fields=["sample_since"])
            transaction.on_commit(SAMPLE.send)
        return
    if gate.sample_since is not None:  # a game was taken out, or more came
        gate.sample_since = None
        gate.save(update_fields=["sample_since"])
    if outcome is Verdict.FAILED:
        _close_gate(gate, GateState.FAILED)
        _reject(gate.candidate_id)
        _log(gate)


def _pass(gate: Gate, run: Run) -> None:
    _close_gate(gate, GateState.PASSED)
    _promote(run, Network.objects.get(pk=gate.candidate_id))
    _log(gate)


def _log(gate: Gate) -> None:
    logger.info("gate of %s %s: %g of %d points", gate.candidate.name, gate.state, gate.points, gate.played)


def _promote(run: Run, network: Network) -> None:
    """Make ``network`` current, with the run locked; one of the next size makes that the run's size.

    Other open gates are over: older candidates are rejected, younger ones get a gate against the new network.
    """
    network.state = NetworkState.ACCEPTED
    network.training_games_enabled = True
    network.save(update_fields=["state", "training_games_enabled"])
    run.previous_network, run.current_network, run.current_since = run.current_network, network, timezone.now()
    if network.architecture and network.architecture == run.next_architecture:
        run.architecture, run.next_architecture = run.next_architecture, ""
        logger.info("run %s goes on with the size %s", run.name, run.architecture)
    fields = ["current_network", "previous_network", "current_since", "architecture", "next_architecture"]
    run.save(update_fields=fields)
    logger.info("network %s is now the current one of run %s", network.name, run.name)
    for other in Gate.objects.select_for_update(no_key=True).filter(run=run, state=GateState.OPEN).order_by("pk"):
        _close_gate(other, GateState.SUPERSEDED)
        if other.candidate_id < network.pk:
            _reject(other.candidate_id)
        else:
            _open_gate(run, network, Network.objects.get(pk=other.candidate_id))


def _close_gate(gate: Gate, state: GateState) -> None:
    gate.state = state
    gate.decided_at = timezone.now()
    gate.save(update_fields=["state", "decided_at"])


def _reject(network: int) -> None:
    Network.objects.filter(pk=network).update(state=NetworkState.REJECTED)
