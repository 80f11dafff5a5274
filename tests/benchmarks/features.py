"""V7 encodings of 19x19 positions on one core, their parts, and replay plus encoding of whole games.

Positions are those of the oracle's ``rawnet`` on 19x19 (about 220 stones on average, half of them of games by a net,
half random); without the oracle, random games after 150 turns, which hold more ladders than people's games. A time is
the least of many passes over all positions, because other programs on the machine only ever add.

What an encoding does, counted: the area floods 22 regions as rows of bits; the ladder search of such a position counts
what a stone would have for liberties 101 times and plays 34 stones, each on some 100 words; the planes are 22 x 361
numbers from one word per point, 31.8 kB as floats and 1.0 kB packed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from common import features
from common.features import FeatureOptions, encode, encode_packed
from common.go import board, playout
from common.go.game import Game
from common.go.ladders import ladder_map
from common.go.play import begin, play
from common.go.points import BLACK, NUM_POINTS, from_vertex
from common.go.rules import Rules
from common.go.scoring import area_now
from common.go.start import GameStart
from common.go.state import HISTORY, STATE, new_histories, new_states
from tests.common.recorded import COLOURS, start_of
from tests.oracles import records

LENGTH = 19
PASSES = 300
RANDOM_TURNS = 150
OPTIONS = FeatureOptions()


def positions() -> list[tuple[Any, Any, list[int]]]:
    """STATE, HISTORY and moves of middle-game positions."""
    root = Path(os.environ.get("TENGEN_ORACLES") or Path(__file__).resolve().parents[3] / "shared")
    return _recorded() if root.is_dir() else [_random(seed) for seed in range(20)]


def _recorded() -> list[tuple[Any, Any, list[int]]]:
    found = []
    for record in records("rawnet"):
        if record["xSize"] == record["ySize"] == LENGTH:
            game = start_of(record)
            points = [from_vertex(vertex, LENGTH, LENGTH) for _, vertex in record["moves"]]
            for (colour, _), point in zip(record["moves"], points, strict=True):
                game.play(point, COLOURS[colour])
            found.append((game.state, game.history, points))
    return found


def _random(seed: int) -> tuple[Any, Any, list[int]]:
    state, history = new_states(1)[0], new_histories(1)[0]
    board.reset(state, LENGTH, LENGTH)
    Rules().write_to(state)
    begin(state, history, BLACK, 0)
    random = np.array([seed + 1], np.uint64)
    playout.play_random_game(state, history, random, np.zeros(NUM_POINTS, np.int16), RANDOM_TURNS)
    return state, history, []


@njit(cache=True, nogil=True)
def _encode_all(
    states: Any, histories: Any, options: Any, planes: Any, global_inputs: Any, scratch: Any, forget: int
) -> None:
    for index in range(len(states)):
        if forget:
            states[index]["ladder_known"][0] = 0
        encode(states[index], histories[index], LENGTH, options, planes[index], global_inputs[index], scratch)


@njit(cache=True, nogil=True)
def _pack_all(
    states: Any, histories: Any, options: Any, packed: Any, global_inputs: Any, scratch: Any, forget: int
) -> None:
    for index in range(len(states)):
        if forget:
            states[index]["ladder_known"][0] = 0
        encode_packed(states[index], histories[index], LENGTH, options, packed[index], global_inputs[index], scratch)


@njit(cache=True, nogil=True)
def _area_all(states: Any, area: Any, scratch: Any) -> None:
    for index in range(len(states)):
        area_now(states[index], area, scratch["area"])


@njit(cache=True, nogil=True)
def _ladders_all(states: Any, ladder: Any, scratch: Any) -> None:
    for index in range(len(states)):
        ladder_map(states[index], ladder, scratch["ladder"])


@njit(cache=True, nogil=True)
def _replay(state: Any, history: Any, points: Any, options: Any, packed: Any, global_inputs: Any, scratch: Any) -> None:
    for turn in range(len(points)):
        encode_packed(state, history, LENGTH, options, packed[turn], global_inputs[turn], scratch)
        play(state, history, points[turn])


def least_seconds(work: Callable[[], None], passes: int = PASSES) -> float:
    """Least time of one pass."""
    work()
    times = []
    for _ in range(passes):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def _replayed(points: list[int]) -> float:
    """Seconds to play a game on an empty board and encode every position packed."""
    moves = np.array(points, np.int16)
    packed = np.zeros((len(points), features.NUM_PLANES, (LENGTH * LENGTH + 7) // 8), np.uint8)
    global_inputs = np.zeros((len(points), features.NUM_GLOBAL_INPUTS), np.float32)
    scratch = features.new_scratch()

    def work() -> None:
        game = Game(GameStart(LENGTH, LENGTH))
        _replay(game.state, game.history, moves, OPTIONS, packed, global_inputs, scratch)

    return least_seconds(work, 20)


def main() -> None:
    """Print microseconds per encoding and per part, and milliseconds per game."""
    found = positions()
    count = len(found)
    states = np.array([state for state, _, _ in found], STATE)
    histories = np.array([history for _, history, _ in found], HISTORY)
    planes = np.zeros((count, features.NUM_PLANES, LENGTH, LENGTH), np.float32)
    packed = np.zeros((count, features.NUM_PLANES, (LENGTH * LENGTH + 7) // 8), np.uint8)
    global_inputs = np.zeros((count, features.NUM_GLOBAL_INPUTS), np.float32)
    scratch = features.new_scratch()
    area = np.zeros(NUM_POINTS, np.int8)
    parts: list[tuple[str, Callable[[], None]]] = [
        ("encoding, float32", lambda: _encode_all(states, histories, OPTIONS, planes, global_inputs, scratch, 1)),
        (
            "  with the ladder map known",
            lambda: _encode_all(states, histories, OPTIONS, planes, global_inputs, scratch, 0),
        ),
        ("encoding, packed", lambda: _pack_all(states, histories, OPTIONS, packed, global_inputs, scratch, 1)),
        ("ladder map alone", lambda: _ladders_all(states, area, scratch)),
        ("area alone", lambda: _area_all(states, area, scratch)),
    ]
    for name, work in parts:
        microseconds = least_seconds(work) / count * 1e6
        print(f"{name:32} {microseconds:7.1f} us   {1e6 / microseconds:9,.0f} a second   ({count} positions)")
    longest = max((points for _, _, points in found), key=len)
    if longest:
        seconds = _replayed(longest)
        print(
            f"replay and packed encoding of a game of {len(longest)} turns: {seconds * 1e3:.1f} ms, "
            f"{seconds / len(longest) * 1e6:.1f} us a turn"
        )


if __name__ == "__main__":
    main()
