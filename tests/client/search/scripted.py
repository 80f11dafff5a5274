"""Evaluators with known answers, and positions to search."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from common.go.board import reset, set_stone
from common.go.play import begin
from common.go.points import BLACK, WHITE, point_at
from common.go.rules import Ko
from common.go.state import new_histories, new_states
from common.inputs import V7, Inputs
from nets.evaluation.batch import Batch, new_batch

Floats = npt.NDArray[np.float32]


@dataclass
class Answer:
    """What a net says of a position, as the player to move sees it; named as in `nets.evaluation.batch.Batch`."""

    policy: Floats
    win_loss: float = 0.0
    score_mean: float = 0.0
    score_stdev: float = 0.0
    lead: float = 0.0
    no_result: float = 0.0
    ownership: Floats | float = 0.0


@dataclass
class ScriptedEvaluator:
    """Asks ``answer(planes, global_inputs, symmetry)`` for each row."""

    length: int
    answer: Callable[[Floats, Floats, int], Answer]
    has_short_term_errors: bool = False
    pass_alive_suicide: bool = False
    lanes: int = 1
    inputs: Inputs = V7
    description: str = "scripted"
    batch_sizes: list[int] = field(default_factory=list)
    symmetries: list[int] = field(default_factory=list)

    def new_batch(self, capacity: int, *, ownership: bool = True) -> Batch:
        return new_batch(capacity, self.length, inputs=self.inputs, ownership=ownership)

    def submit(self, batch: Batch, count: int) -> Callable[[], None]:
        self.run(batch, count)
        return lambda: None

    def close(self) -> None:
        pass

    def run(self, batch: Batch, count: int) -> None:
        self.batch_sizes.append(count)
        for row in range(count):
            self.symmetries.append(int(batch.symmetry[row]))
            found = self.answer(batch.planes[row], batch.global_inputs[row], int(batch.symmetry[row]))
            for output in fields(Answer):
                if output.name != "ownership" or batch.wants_ownership[row]:
                    getattr(batch, output.name)[row] = getattr(found, output.name)


def hashed_answer(planes: Floats, global_inputs: Floats, symmetry: int) -> Answer:
    """Opinions that look random, but depend on the encoded position alone."""
    random = np.random.default_rng(zlib.crc32(planes.tobytes() + global_inputs.tobytes()))
    return Answer(
        policy=random.normal(0, 1.5, planes.shape[1] ** 2 + 1).astype(np.float32),
        win_loss=float(np.float32(random.uniform(-1, 1))),
        score_mean=float(np.float32(random.normal(0, 8))),
        score_stdev=float(np.float32(random.uniform(1, 10))),
        lead=float(np.float32(random.normal(0, 5))),
        ownership=np.tanh(random.normal(0, 3, planes.shape[1:])).astype(np.float32).ravel(),
    )


def sided_answer(planes: Floats, global_inputs: Floats, symmetry: int) -> Answer:
    """Another opinion in every symmetry."""
    answer = hashed_answer(planes, global_inputs, 0)
    return Answer(
        policy=np.roll(answer.policy, symmetry),
        win_loss=answer.win_loss * (1 - symmetry / 10),
        score_mean=answer.score_mean + symmetry,
        score_stdev=answer.score_stdev,
        lead=answer.lead,
    )


def position(
    rows: list[str], *, to_move: int = BLACK, komi: float = 7.5, draw: float = 0.5, ko: Ko = Ko.POSITIONAL
) -> tuple[np.void, np.void]:
    """STATE and HISTORY of a board drawn with X, O and dots, area scoring, suicide not allowed."""
    states, histories = new_states(1), new_histories(1)
    state, history = states[0], histories[0]
    state["ko_rule"] = int(ko)
    state["komi"] = komi
    state["draw_white_wins"] = draw
    reset(state, len(rows[0]), len(rows))
    for y, row in enumerate(rows):
        for x, letter in enumerate(row):
            if letter != ".":
                set_stone(state, point_at(x, y), BLACK if letter == "X" else WHITE)
    begin(state, history, to_move, 0)
    return state, history


def empty(x_size: int, y_size: int | None = None, **options: Any) -> tuple[np.void, np.void]:
    """An empty board."""
    return position(["." * x_size] * (y_size or x_size), **options)
