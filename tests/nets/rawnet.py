"""Records of raw net outputs, as a real KataGo printed them, against what our evaluator says of the same planes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from nets.evaluation.batch import Batch, Evaluator, new_batch
from nets.evaluation.outputs import score_mean_square

Record = Mapping[str, Any]
Differences = dict[str, float]
"""Largest difference seen, by quantity; absolute for probabilities and ownership, relative above 1 for the others."""


def fill_row(batch: Batch, row: int, record: Record) -> None:
    """Write the inputs of one record."""
    x_size, y_size = record["xSize"], record["ySize"]
    board = np.zeros((22, y_size, x_size), np.float32)
    board[0] = 1.0
    for plane, positions in record["planes"].items():
        board[int(plane)].flat[positions] = 1.0
    batch.planes[row] = 0.0
    batch.planes[row, :, :y_size, :x_size] = board
    batch.global_inputs[row] = record["globals"]
    if record["pda"]:
        batch.global_inputs[row, [15, 16]] = 1.0, record["pda"] / 2
    batch.optimism[row] = record.get("policyOptimism", 0.0)


def relative(found: float, wanted: float) -> float:
    return abs(found - wanted) / max(1.0, abs(wanted))


def differences(batch: Batch, row: int, record: Record, answer: Record) -> Differences:
    """How far a row is from an answer (the ``nn`` object of a record)."""
    length = batch.planes.shape[2]
    board = np.s_[: record["ySize"], : record["xSize"]]
    sign = 1 if record["nextPlayer"] == "W" else -1
    wanted = np.array([[np.nan if value is None else value for value in line] for line in answer["policy"]])
    legal = ~np.isnan(wanted)
    logits = batch.policy[row, :-1].reshape(length, length)[board]
    chosen = np.append(logits[legal], batch.policy[row, -1]).astype(np.float64)
    policy = np.exp(chosen - chosen.max())
    policy /= policy.sum()
    void = float(batch.no_result[row])
    mean, deviation = float(batch.score_mean[row]), float(batch.score_stdev[row])
    ownership = sign * batch.ownership[row].reshape(length, length)[board]
    return {
        "policy": float(np.abs(policy - np.append(wanted[legal], answer["policyPass"])).max()),
        "ownership": float(np.abs(ownership - np.array(answer["whiteOwnership"])).max()),
        "win": abs((1 - void + sign * float(batch.win_loss[row])) / 2 - answer["whiteWin"]),
        "no result": abs(void - answer["noResult"]),
        "lead": relative(sign * float(batch.lead[row]), answer["whiteLead"]),
        "score": relative(sign * mean, answer["whiteScoreSelfplay"]),
        "score square": relative(score_mean_square(mean, deviation, void), answer["whiteScoreSelfplaySq"]),
        "variance time": relative(float(batch.variance_time[row]), answer["varTimeLeft"]),
        "win-loss error": abs(float(batch.short_term_win_loss_error[row]) - answer["shorttermWinlossError"]),
        "score error": relative(float(batch.short_term_score_error[row]), answer["shorttermScoreError"]),
    }


def compare(
    records: Iterable[Record], evaluator_of: Callable[[str, int], Evaluator], default_net: str, length: int = 0
) -> tuple[int, Differences]:
    """Evaluate records in batches by net and tensor edge; how many there were, and the largest differences.

    ``length`` is the tensor's edge, 0 for the smallest that holds the board.
    """
    groups: dict[tuple[str, int], list[Record]] = defaultdict(list)
    for record in records:
        edge = length or max(record["xSize"], record["ySize"])
        groups[record.get("net", default_net), edge].append(record)
    largest: Differences = defaultdict(float)
    for (net, edge), group in groups.items():
        batch = new_batch(len(group), edge)
        for row, record in enumerate(group):
            fill_row(batch, row, record)
        evaluator_of(net, edge).run(batch, len(group))
        for row, record in enumerate(group):
            for quantity, difference in differences(batch, row, record, record["nn"]).items():
                largest[quantity] = max(largest[quantity], difference)
    return sum(map(len, groups.values())), dict(largest)
