"""Random games of every kind of rules, with everything encoded and scored.

`python -m tests.common.fuzz_features GAMES LARGEST TURNS` is run by `test_features_processes.py` with bounds checks
compiled in, and as plain Python. Prints how many positions it saw and a checksum of all that was computed.
"""

from __future__ import annotations

import itertools
import sys
import zlib

import numpy as np

from common import features
from common.features import FeatureOptions, encode, encode_packed
from common.go import scoring
from common.go.game import Game
from common.go.points import NUM_POINTS, PASS
from common.go.rules import Ko, Rules, Scoring, Tax
from common.go.start import GameStart
from common.rows import packed_bytes

KINDS = list(itertools.product(Ko, Scoring, Tax, (False, True)))


def fuzz(games: int, largest: int, turns: int) -> tuple[int, int]:
    """Plays ``games`` random games of ``turns`` on boards of at most ``largest`` lines; (positions, checksum)."""
    scratch = features.new_scratch()
    area, values = np.zeros(NUM_POINTS, np.int8), np.zeros(NUM_POINTS, np.float32)
    positions = checksum = 0
    for number in range(games):
        rng = np.random.default_rng(number)
        ko, score, tax, suicide = KINDS[number % len(KINDS)]
        x_size, y_size = (int(size) for size in rng.integers(2, largest + 1, 2))
        length = int(rng.integers(max(x_size, y_size), largest + 1))
        game = Game(GameStart(x_size, y_size, Rules(ko, score, tax, suicide, komi=float(rng.integers(-8, 9)))))
        planes = np.zeros((features.NUM_PLANES, length, length), np.float32)
        packed = np.zeros((features.NUM_PLANES, packed_bytes(length)), np.uint8)
        global_inputs = np.zeros(features.NUM_GLOBAL_INPUTS, np.float32)
        for _ in range(turns):
            advantage = float(rng.integers(-1, 2))
            conservative, hacks = (bool(b) for b in rng.integers(0, 2, 2))
            options = FeatureOptions(advantage, conservative, hacks, 5)
            encode(game.state, game.history, length, options, planes, global_inputs, scratch)
            checksum = zlib.crc32(planes.tobytes() + global_inputs.tobytes(), checksum)
            encode_packed(game.state, game.history, length, options, packed, global_inputs, scratch)
            final = scoring.score(game.state, area, scratch["area"])
            scoring.scoring_values(game.state, area, values, scratch["area"])
            checksum = zlib.crc32(packed.tobytes() + np.float64(final).tobytes() + values.tobytes(), checksum)
            scoring.all_pass_alive(game.state, area, scratch["area"])
            checksum = zlib.crc32(area.tobytes(), checksum)
            positions += 1
            if game.finished:
                break
            moves = game.legal_moves()
            game.play(PASS if rng.random() < 0.1 else int(rng.choice(moves)))
    return positions, checksum


if __name__ == "__main__":
    print(*fuzz(*map(int, sys.argv[1:])))
