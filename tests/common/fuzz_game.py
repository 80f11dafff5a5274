"""Illegal input to the kernels of the game; run by `test_fuzz.py` in a process with bounds checks compiled in.

Every call must come back with a status, whatever it is given, and leave a board whose chains are still sound.
"""

from __future__ import annotations

import random
import sys

import numpy as np

from common.go import board, history, play
from common.go.points import NUM_POINTS
from common.go.rules import Ko, Rules, Scoring
from common.go.state import new_histories, new_states


def any_number(source: random.Random) -> int:
    """A point of the board array most of the time, otherwise anything."""
    return source.choice(
        [
            source.randrange(NUM_POINTS),
            source.randrange(20, 120),
            source.randrange(-500, 1000),
            source.choice([-(2**31), -1, 0, NUM_POINTS - 1, NUM_POINTS, 2**31 - 1]),
        ]
    )


def main(games: int, turns: int) -> None:
    """Play ``games`` games of ``turns`` random calls each; an exception ends the process."""
    source = random.Random(5)
    state, keys = new_states(1)[0], new_histories(1)[0]
    legal = np.zeros(NUM_POINTS, np.int8)
    played = refused = 0
    board.reset(state, 5, 5)
    for _ in range(games):
        Rules(source.choice(list(Ko)), source.choice(list(Scoring)), suicide=source.random() < 0.5, komi=0.5).write_to(
            state
        )
        board.reset(state, source.randint(-1, 21), source.randint(-1, 21))
        if source.random() < 0.5:
            board.reset(state, source.randint(2, 5), source.randint(2, 5))
        for _ in range(source.randint(0, 30)):
            board.set_stone(state, any_number(source), source.randint(-2, 5))
        play.begin(state, keys, source.randint(-1, 4), source.randint(-1, 4))
        play.begin(state, keys, source.randint(1, 2), source.randint(0, 2))
        for _ in range(turns):
            point = any_number(source)
            play.is_legal(state, keys, point)
            if play.play(state, keys, point):
                played += 1
            else:
                refused += 1
            if source.random() < 0.05:
                play.take_turn(state, keys, source.randint(-1, 4))
            if source.random() < 0.1:
                play.legal_points(state, keys, legal)
                play.pass_would_end_game(state, keys)
            if source.random() < 0.01:
                history.rewind(keys, source.choice([-3, 0, int(state["history_count"])]))
        heads = set(state["chain_head"][state["chain_head"] > 0].tolist())
        assert all(state["chain_liberties"][head] > 0 for head in heads), "a chain without liberties stands"
        assert 0 <= keys["count"] <= len(keys["key"])
    print(f"{played} played, {refused} refused")
    assert played
    assert refused


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
