"""Is a game's beginning, as its record tells it, one of its kind (``gtype``)? Whatever the text of its job says.

Knows what the kinds of games have in common with each other, not the rules nor the rows. Specification: selfplay.md 2,
5, 6, 10.
"""

from __future__ import annotations

from typing import Final

from common.audit_report import Findings, Reason
from common.go.basics import BLACK, FIRST_CLEANUP, MAIN_PHASE
from common.sgf_record import GameRecord, StartInfo

FORKS: Final = ("fork", "hintfork")
"""Kinds that go on with a finished game."""
CLEANUP_TRAINING: Final = "cleanuptraining"
ASYMMETRIC: Final = "asym"
_EVEN: Final = ("normal", "handicap", *FORKS)
"""Kinds without asymmetric playouts: with them, the first two have another name, and forks never have them."""


def check_beginning(record: GameRecord, findings: Findings) -> None:
    """What phase, doublings and origin a game of its kind may have."""
    info = record.info
    assert info is not None
    kind = info.game_type
    _check_phase(info, findings)
    if kind != CLEANUP_TRAINING:  # which may be either
        findings.expect(
            info.used_initial_position == (kind in FORKS),
            Reason.GAME_TYPE,
            f"a {kind} game {'goes on with' if kind in FORKS else 'does not go on with'} a finished game, "
            "which the root comment tells otherwise (usedInitialPosition)",
        )
    doublings = info.white_doublings or 0.0
    if kind in _EVEN:
        findings.expect(doublings == 0.0, Reason.GAME_TYPE, f"a {kind} game has no playout doublings (pdaWhite)")
    if kind == ASYMMETRIC:
        findings.expect(doublings != 0.0, Reason.GAME_TYPE, "an asym game has playout doublings (pdaWhite)")
        has_stones = any(colour == BLACK for colour, _, _ in record.stones)
        findings.expect(
            doublings >= 0.0 or not has_stones, Reason.GAME_TYPE, "in a handicap game White has more playouts, if any"
        )
    if kind == "handicap":
        findings.expect(bool(record.stones), Reason.GAME_TYPE, "a handicap game has stones on the board at its start")


def _check_phase(info: StartInfo, findings: Findings) -> None:
    kind, phase = info.game_type, info.began_in_phase
    if kind == CLEANUP_TRAINING:
        findings.expect(
            phase != MAIN_PHASE and info.start_turn == 0 and info.first_turn == 0,
            Reason.GAME_TYPE,
            f"a {kind} game begins in a clean-up phase, on turn 0, with its first search; this one in phase {phase}, "
            f"on turn {info.first_turn}, after {info.start_turn} moves",
        )
    else:  # what goes on from a clean-up game in its first phase is a fork
        latest = FIRST_CLEANUP if kind == "fork" else MAIN_PHASE
        findings.expect(
            phase <= latest, Reason.GAME_TYPE, f"a {kind} game does not begin in phase {phase} (beganInEncorePhase)"
        )
