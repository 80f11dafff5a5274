"""Random games per second and the time of one move, on one core.

A random game is uniform over the legal moves that do not fill an own one-point eye, with a pass only if there is
none; ko SIMPLE, no suicide, at most three times the area of turns. Every move goes through the full rules: ko,
repetition hashing, phases, and what later feature planes need of earlier turns.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from common.go import board, playout
from common.go.play import begin, play
from common.go.points import BLACK, NUM_POINTS
from common.go.rules import Rules
from common.go.state import new_histories, new_states

RULES = "koSIMPLEscoreAREAtaxNONEsui0"


@njit(cache=True, nogil=True)
def _games(state: Any, history: Any, random: Any, empty: Any, length: int, games: int) -> int:
    turns = 0
    for _ in range(games):
        board.reset(state, length, length)
        begin(state, history, BLACK, 0)
        turns += playout.play_random_game(state, history, random, empty, 3 * length * length)
    return turns


@njit(cache=True, nogil=True)
def _replays(state: Any, history: Any, moves: Any, counts: Any, length: int) -> None:
    for game in range(len(counts)):
        board.reset(state, length, length)
        begin(state, history, BLACK, 0)
        for turn in range(counts[game]):
            play(state, history, moves[game, turn])


@njit(cache=True, nogil=True)
def _starts(state: Any, history: Any, length: int, games: int) -> None:
    for _ in range(games):
        board.reset(state, length, length)
        begin(state, history, BLACK, 0)


@njit(cache=True, nogil=True)
def _record(state: Any, history: Any, random: Any, empty: Any, length: int, moves: Any, counts: Any) -> None:
    for game in range(len(counts)):
        board.reset(state, length, length)
        begin(state, history, BLACK, 0)
        count = 0
        while count < moves.shape[1] and state["finished"] == 0:
            playout.play_random_game(state, history, random, empty, 1)
            moves[game, count] = state["recent_point"][0]
            count += 1
        counts[game] = count


def _seconds_of(work: Callable[[], object]) -> float:
    """Processor time of one call, after one that compiles; other programs of the machine do not count."""
    work()
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(length: int) -> float:
    """Print the figures of one board size; returns random games per second."""
    state, history = new_states(1)[0], new_histories(1)[0]
    Rules.parse(RULES).write_to(state)
    random, empty = np.array([1], np.uint64), np.zeros(NUM_POINTS, np.int16)
    games = 180_000 // length**2
    turns = _games(state, history, random, empty, length, games)
    seconds = _seconds_of(lambda: _games(state, history, random, empty, length, games))
    print(f"{length}x{length}: {games / seconds:8.0f} random games/s, mean length {turns / games:.1f},", end=" ")
    print(f"{1e6 * seconds / turns:.3f} us per turn with its choice;", end=" ")

    moves, counts = np.zeros((512, 3 * length * length), np.int16), np.zeros(512, np.int64)
    _record(state, history, random, empty, length, moves, counts)
    played = _seconds_of(lambda: _replays(state, history, moves, counts, length))
    started = _seconds_of(lambda: _starts(state, history, length, len(counts)))
    print(f"{1e6 * (played - started) / counts.sum():.3f} us per move played and hashed,", end=" ")
    print(f"{1e6 * started / len(counts):.2f} us to start a game")
    return games / seconds


def _peer_seconds(program: str, games: int) -> float:
    """Processor time of GNU Go for a move on a nearly empty 9x9 board with ``games`` simulations."""
    options = ["--mode", "gtp", "--monte-carlo", "--mc-patterns", "uniform", "--level", "1"]
    commands = "boardsize 9\nplay b A1\nplay w J1\nplay b A9\nplay w J9\ngenmove b\nquit\n"  # stones: no book move
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    arguments = [program, *options, "--mc-games-per-level", str(games)]
    subprocess.run(arguments, input=commands, text=True, check=True, capture_output=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def compare_with_peer(ours: float) -> None:
    """Print our random 9x9 games per second against those of GNU Go, if it is installed."""
    program = shutil.which("gnugo", path=f"{os.environ.get('PATH', '')}:/usr/games")
    if program is None:
        print("no GNU Go on this machine to compare with")
        return
    few, many = 1_000, 21_000
    theirs = (many - few) / (_peer_seconds(program, many) - _peer_seconds(program, few))
    print(
        f"GNU Go 3.8, --mc-patterns uniform: {theirs:.0f} games/s in the same run; ours / theirs = {ours / theirs:.2f}."
    )
    print("  Theirs also walk a UCT tree, weigh moves by a pattern table and score the game; ours also hash every")
    print("  position, keep the repetition history, and remember earlier boards for the network's inputs.")


_FIRST_USE = """
import time; start = time.perf_counter()
import numpy as np
from common.go.game import Game
from common.go.start import GameStart
imported = time.perf_counter()
game = Game(GameStart(9, 9)); game.play("C4"); game.legal_moves(); game.score()
print(f"{imported - start:.2f} s to import, {time.perf_counter() - imported:.2f} s for first use")
"""


def main() -> None:
    """Print random games per second, the time per move, and what a second process waits for."""
    small = measure(9)
    measure(19)
    compare_with_peer(small)
    subprocess.run([sys.executable, "-c", _FIRST_USE], check=True, capture_output=True)
    done = subprocess.run([sys.executable, "-c", _FIRST_USE], check=True, capture_output=True, text=True)
    print(f"second process, compiled code cached: {done.stdout.strip()}")


if __name__ == "__main__":
    main()
