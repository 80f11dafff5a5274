"""Positions that occur in play, on which a net proves itself on a device: stages of a few games, for every tensor.

The games were played by a trained net of six blocks against itself, 48 visits a move. For an edge between theirs, the
next larger one's moves in the middle are played. Knows games and their encoding, not nets.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from common.encoders import encoder_of
from common.go import play
from common.go.game import Game
from common.go.points import MIN_LENGTH, NO_POINT, NUM_POINTS, PASS, from_vertex, point_at, position_of, x_of, y_of
from common.go.rules import Rules
from common.go.start import GameStart
from common.inputs import Inputs
from nets.evaluation.batch import Batch, new_batch

KNOWN_ROWS: Final = 8
"""Positions for each tensor, one in each symmetry."""
_RULES: Final = ("tromptaylor", "japanese", "aga", "chinese")
"""In turn: with and without the chance of no result, area and territory."""

_GAMES: Final = {
    7: (
        8.5,
        "D4 D3 C4 E3 E4 C3 F3 F2 F4 B3 B4 A4 A5 A3 B5 G2 G3 E2 pass D1 pass E5 F5 F6 E6 pass F7 C2 D5 pass G6 A2 pass "
        "B1 pass pass",
    ),
    9: (
        6.5,
        "D5 F5 D7 E3 D3 D2 E4 F3 F4 G4 G3 C3 D4 G2 C2 H3 E2 F7 E8 F8 E6 F6 F9 C6 D6 B4 B3 C8 C7 B7 B6 A6 B5 A5 C5 D8 "
        "E7 B9 A8 D9 B8 G9 E9 G8 F2 F1 G3 F3 E1 G1 E3 G3 E5 pass C4 pass A4 H5 C9 H6 A7",
    ),
    13: (
        7.5,
        "D4 K4 D10 K10 L11 L10 K11 J10 H12 C3 C4 D3 E3 E2 F3 F2 G3 C11 C10 D11 E10 F12 K6 G11 H11 H10 G10 M11 M12 M10 "
        "F11 G12 E12 E11 F10 E13 N12 K13 K12 H13 J12 M13 J13 L13 L8 D12 L12 J8 H7 H8 G7 L7 K7 M8 M7 L6 M9 K8 N8 M6 L9 "
        "N10 L5 M5 L4 M4 L3 M3 L2 N9 B3 B2 B4 G2 A2 C2 H2 D1 B10 G9 B12 G13 F9 G8 F8 M2 M1 J7 J6 B11 A11 J2 H3 H1 J3 "
        "C12 A12 B13 K2 J1 K1 G1 B1 C1 A3 N2 N13 L13 A1 N1 L1 K9 A10 C13 A13 M8 M13 J11 J4 N11 K5 F1 K3 K13 pass N7 "
        "E4",
    ),
    19: (
        7.5,
        "R16 R4 D17 C4 P16 E4 P3 D16 C16 E17 C17 E16 D15 J16 L17 F14 D13 E15 D14 L3 Q5 R5 Q6 R7 J3 Q7 P7 P8 O7 L5 J5 "
        "O8 N7 G3 N8 K6 R6 S6 S5 S7 J6 Q3 Q4 R3 P2 K7 J7 K8 D5 D4 J8 K9 N10 J9 H9 H10 G9 O5 O4 N5 P5 G10 F9 P11 F10 "
        "G12 R12 C7 C9 O16 O15 P17 N16 O17 Q17 P15 Q16 M16 M15 N17 N15 L16 M17 K17 N18 L15 N12 M14 N13 P13 L14 L13 "
        "K14 M13 N14 K13 R10 Q10 Q9 R9 S9 R8 S11 Q11 Q2 R2 P9 O9 O10 R11 S10 P10 N9 Q8 B6 R14 R13 Q14 S14 S15 T13 R15 "
        "C5 K18 O18 T15 T12 E5 B4 B3 E6 F6 D6 F7 R1 S1 Q1 S3 E8 A4 K11 J11 F12 B5 B7 E7 D7 D18 C18 D8 C6 F13 G11 H12 "
        "G4 G2 K12 J13 G5 F5 F3 F2 E18 F18 D19 E12 F11 E13 D12 E11 H11 J10 D10 L11 L10 L12 K10 J12 M4 N4 M3 O3 N3 P4 "
        "K16 P6 J15 L4 H16 G17 J17 J18 L2 K2 J2 K3 K1 N2 M2 O2 L18 M5 J1 H17 S17 E9 E10 F8 L9 C8 B8 J16 K15 G16 F4 E3 "
        "H15 G6 H3 H8 G8 H7 H6 G7 S16 P12 M11 A6 D9 E8 B9 L8 M7 H14 G15 F15 M8 F19 G14 G13 S8 J14 J17 K19 H18 H19 E2 "
        "D2 L19 G18 T7 T6 T8 A7 J16 E19 A8 D18 A5 A6 E18 L15 L16 D18 C19 M6 D11 H4 T14 H5 J4",
    ),
}
"""By edge: komi, and moves as vertices."""


class KnownPositions(NamedTuple):
    """`KNOWN_ROWS` positions for a tensor of edge L."""

    inputs: Inputs
    batch: Batch
    """Their inputs; outputs are not filled."""
    legal: npt.NDArray[np.bool_]
    """[rows, L·L + 1] what the player to move may play."""


@cache
def known_positions(inputs: Inputs, edge: int, *, full: bool) -> KnownPositions:
    """The positions for tensors of ``edge`` (2 to 19), whose boards all fill it or, but for every fourth, do not.

    The caller must not change them. LookupError if nothing encodes positions as ``inputs``.
    """
    encoder, batch = encoder_of(inputs), new_batch(KNOWN_ROWS, edge, inputs=inputs)
    legal = np.zeros((KNOWN_ROWS, edge * edge + 1), np.bool_)
    for row in range(KNOWN_ROWS):
        width, height = (
            (edge, edge) if full else (max(MIN_LENGTH, edge - row % 2), max(MIN_LENGTH, edge - row // 2 % 2))
        )
        game = _stage(width, height, row)
        encoder(game, batch.planes[row], batch.global_inputs[row])
        batch.symmetry[row] = row
        points = np.zeros(NUM_POINTS, np.int8)
        play.legal_points(game.state, game.history, points)
        legal[row, [position_of(int(point), edge) for point in np.flatnonzero(points)]] = True
    return KnownPositions(inputs, batch, legal)


def repeated(positions: KnownPositions, rows: int) -> Batch:
    """A new batch of as many rows, which hold the positions in turn."""
    known = positions.batch
    batch = new_batch(rows, known.planes.shape[-1], inputs=positions.inputs)
    for name in ("planes", "global_inputs", "symmetry"):
        array = getattr(batch, name)
        array[:] = np.resize(getattr(known, name), array.shape)
    return batch


def _stage(width: int, height: int, row: int) -> Game:
    """A game on a board of that size: as far as ``row`` of `KNOWN_ROWS` parts of its moves."""
    size = min(size for size in _GAMES if size >= max(width, height))
    komi, text = _GAMES[size]
    rules = replace(Rules.parse(_RULES[row % len(_RULES)]), komi=komi)
    moves = [_cut_out(from_vertex(vertex, size, size), size, width, height) for vertex in text.split()]
    moves = [point for point in moves if point != NO_POINT]
    game = Game(GameStart(width, height, rules))
    for point in moves[: len(moves) * row // KNOWN_ROWS]:
        if game.why_illegal(point) is None:  # cut out of a larger game, a few are
            game.play(point)
    return game


def _cut_out(point: int, size: int, width: int, height: int) -> int:
    """Where a move on a board of ``size`` is on one that is its middle part; NO_POINT if it is outside."""
    if point == PASS:
        return PASS
    x, y = x_of(point) - (size - width) // 2, y_of(point) - (size - height) // 2
    return point_at(x, y) if 0 <= x < width and 0 <= y < height else NO_POINT
