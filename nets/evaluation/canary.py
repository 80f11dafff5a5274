"""Would KataGo's client play self-play games with a network? Before each upload it asks the network for six positions,
and ends itself, with all its games, unless the answers are those of a well-trained one (contribute-protocol.md 8.1).

The positions and limits are that client's; here every symmetry must hold, with a margin, since its device rounds in its
own way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from common.encoders import encoder_of
from common.go import play
from common.go.game import Game
from common.go.points import NUM_POINTS, WHITE, from_vertex, position_of
from common.go.rules import Rules
from common.go.start import GameStart
from common.go.symmetry import NUM_SYMMETRIES
from nets.evaluation.backends import TorchBackend
from nets.evaluation.batch import Batch
from nets.evaluation.evaluator import NetEvaluator
from nets.files.exchange import module_of
from nets.files.records import (
    AttentionRecord,
    BlockRecord,
    ConvRecord,
    FeedForwardRecord,
    NestedRecord,
    NetRecord,
    PoolingRecord,
    TrunkRecord,
)

EDGE: Final = 19
"""Of the tensors in that client, whatever the run's."""
_MARGIN: Final = 0.005
"""Of probabilities, that roundings may use up."""
_POINTS_MARGIN: Final = 0.1
_TRANSFORMER_DEPTH: Final = 2.0
"""What an attention or feed-forward block counts as."""

_FIRST: Final = (
    "Q16 Q4 D16 D4 R6 O3 C3 D3 C4 D5 B6 C17 C16 D17 E17 E18 F18 F17 E16 G18 D18 F19 C18 R5 Q6 O17 R10 R17 R16 Q17 P16 "
    "O16 O15 N15 N14 O14"
)
_SECOND: Final = "R16 D16 Q4 D4 C14 F17 O16 O3 C3 D3 C4 C6 C5 D5 B6 C7 B7 C8 R6 Q3 R3 R2 P3"
_RECTANGLE: Final = "N8 O4 D4 C8 M4 M3 L3"


@dataclass(frozen=True)
class _Limits:
    """What must hold, White's view; None: anything."""

    white_wins: tuple[float, float]
    lead: tuple[float, float]
    score: tuple[float, float]
    no_result: float | None = None
    move: tuple[str, float] | None = None
    """A vertex and the least probability of it."""
    move_is_lenient: bool = True
    passes: float | None = None
    """Most probability of a pass."""


@dataclass(frozen=True)
class _Position:
    size: tuple[int, int]
    rules: str
    komi: float
    moves: str
    turns: int
    limits: _Limits


_EVEN: Final = _Limits((0.30, 0.70), (-2.5, 2.5), (-3.5, 3.5), no_result=0.03, passes=0.005)
_POSITIONS: Final = (
    _Position((19, 19), "chinese", 7.0, _FIRST, 18, replace(_EVEN, move=("E16", 0.95), move_is_lenient=False)),
    _Position((19, 19), "chinese", 7.0, _FIRST, 36, replace(_EVEN, move=("P15", 0.85))),
    _Position((19, 19), "chinese", 7.0, _SECOND, 23, replace(_EVEN, move=("Q2", 0.95), move_is_lenient=False)),
    _Position((19, 19), "chinese", -7.0, _SECOND, 23, _Limits((-1.0, 0.10), (-19.0, -9.0), (-22.0, -8.0))),
    _Position((19, 19), "chinese", 21.0, _SECOND, 23, _Limits((0.90, 2.0), (9.0, 19.0), (8.0, 22.0))),
    _Position(
        (16, 11),
        "japanese",
        6.0,
        _RECTANGLE,
        7,
        _Limits((0.20, 0.80), (-2.5, 2.5), (-3.5, 3.5), no_result=0.06, move=("N3", 0.80)),
    ),
)


@dataclass(frozen=True)
class _Lenience:
    """By how much limits are wider for a small network."""

    move: float = 0.0
    wins: float = 0.0
    lead: float = 0.0
    score: float = 0.0


def canary_fault(net: NetRecord) -> str:
    """Why KataGo's client would end with a network, in one sentence; empty: it would not. Evaluates it on the CPU."""
    module = module_of(net)
    evaluator = NetEvaluator(module, TorchBackend(module, EDGE, 1, (NUM_SYMMETRIES,)), EDGE)
    lenience = _lenience_of(net)
    batch = evaluator.new_batch(NUM_SYMMETRIES, ownership=False)
    batch.wants_ownership[:] = False
    for number, position in enumerate(_POSITIONS, start=1):
        game = _game_of(position, pass_alive_suicide=evaluator.pass_alive_suicide)
        for row in range(NUM_SYMMETRIES):
            encoder_of(evaluator.inputs)(game, batch.planes[row], batch.global_inputs[row])
            batch.symmetry[row] = row
        evaluator.run(batch, NUM_SYMMETRIES)
        for row in range(NUM_SYMMETRIES):
            fault = _fault(game, batch, row, position.limits, lenience)
            if fault:
                return f"position {number} of the self-test of KataGo's client, symmetry {row}: {fault}"
    return ""


def _game_of(position: _Position, *, pass_alive_suicide: bool) -> Game:
    rules = replace(Rules.parse(position.rules), komi=position.komi)
    x_size, y_size = position.size
    game = Game(GameStart(x_size, y_size, rules))
    if pass_alive_suicide:
        game.state["pass_alive_suicide"] = 1
    for vertex in position.moves.split()[: position.turns]:
        game.play(from_vertex(vertex, x_size, y_size))
    return game


def _fault(game: Game, batch: Batch, row: int, limits: _Limits, lenience: _Lenience) -> str:
    sign = 1.0 if game.to_move == WHITE else -1.0
    no_result = float(batch.no_result[row])
    wins = (1.0 - no_result + sign * float(batch.win_loss[row])) / 2.0
    for what, value, (low, high), slack in (
        ("White's chance", wins, limits.white_wins, lenience.wins - _MARGIN),
        ("White's lead", sign * float(batch.lead[row]), limits.lead, lenience.lead - _POINTS_MARGIN),
        ("White's score", sign * float(batch.score_mean[row]), limits.score, lenience.score - _POINTS_MARGIN),
    ):
        if not low - slack < value < high + slack:
            return f"{what} is {value:.3f}, and must lie between {low - slack:.3f} and {high + slack:.3f}"
    if limits.no_result is not None and not no_result < limits.no_result - _MARGIN:
        return f"the chance of no result is {no_result:.3f}"
    probabilities = _probabilities(game, batch, row)
    if limits.passes is not None and not probabilities[-1] <= limits.passes:
        return f"a pass has the probability {probabilities[-1]:.4f}"
    if limits.move is not None:
        vertex, least = limits.move
        least += _MARGIN - (lenience.move if limits.move_is_lenient else 0.0)
        found = probabilities[position_of(from_vertex(vertex, game.x_size, game.y_size), EDGE)]
        if not found >= least:
            return f"{vertex} has the probability {found:.3f}, and must have {least:.3f}"
    return ""


def _probabilities(game: Game, batch: Batch, row: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """[EDGE² + 1] of the legal moves, the pass last."""
    points = np.zeros(NUM_POINTS, np.int8)
    play.legal_points(game.state, game.history, points)
    legal = [position_of(int(point), EDGE) for point in np.flatnonzero(points)]
    logits = np.full(EDGE * EDGE + 1, -np.inf)
    logits[legal] = batch.policy[row, legal]
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum())


def _lenience_of(net: NetRecord) -> _Lenience:
    depth = trunk_depth(net.trunk)
    if depth <= 21:
        return _Lenience(0.05, 0.12, 2.0, 3.0)
    if depth <= 31 or net.name.startswith(("rect15", "special")):
        return _Lenience(0.15, 0.05, 1.0, 1.5)
    return _Lenience()


def trunk_depth(trunk: TrunkRecord) -> float:
    """How many convolutions of 3 by 3 a signal passes in a trunk; larger ones count more."""
    return _depth_of(trunk.conv_planes) + sum(_block_depth(block) for block in trunk.blocks)


def _block_depth(block: BlockRecord) -> float:
    if isinstance(block, (AttentionRecord, FeedForwardRecord)):
        return _TRANSFORMER_DEPTH
    if isinstance(block, NestedRecord):
        return _depth_of(block.conv_in) + sum(map(_block_depth, block.blocks)) + _depth_of(block.conv_out)
    first = block.conv_regular if isinstance(block, PoolingRecord) else block.conv1
    return _depth_of(first) + _depth_of(block.conv2)


def _depth_of(conv: ConvRecord) -> float:
    return (conv.kernel_x + conv.kernel_y - 2) / 4.0
