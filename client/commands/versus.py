"""``python -m client versus``: plays games against another program that speaks GTP, and prints the score.

Several games run at once, each with a process of the other program; our moves come from one search pool. Area scoring,
so the other program should capture dead stones before it passes (GNU Go: ``--play-out-aftermath --capture-all-dead``).
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from client.commands.local import add_precision, config_of, explained, game_seed, say
from client.commands.match import Score
from client.networks import RANDOM_MODEL, evaluator_loader, network_of
from client.search.parameters import to_record
from client.search.pool import SearchPool
from common.arguments import games_at_once, positive, seed, threads, whole
from common.config_text import ConfigError, overlay
from common.go.basics import MAX_LENGTH, MIN_LENGTH
from common.go.game import Game
from common.go.points import BLACK, WHITE, opponent, to_vertex
from common.go.rules import Rules
from common.go.start import GameStart
from common.parameters import parse_match

MAX_MOVES_PER_POINT: Final = 3
COLOURS: Final = {BLACK: "black", WHITE: "white"}


class EngineError(RuntimeError):
    """The other program failed or does not speak GTP; the text says what it was asked and what it said."""


class GtpEngine:
    """Another program, asked over its standard input."""

    def __init__(self, command: str) -> None:
        try:
            self._process = subprocess.Popen(
                shlex.split(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
                errors="replace",  # comments and names of other programs may be in any encoding
            )
        except OSError as error:
            raise EngineError(f"{command!r} cannot be started: {error.strerror}") from error

    def ask(self, words: str) -> str:
        """The answer to a command.

        Raises:
            EngineError: it refused, or ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(words + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise EngineError(f"the other program ended before it was asked {words!r}") from error
        lines = []
        while (line := self._process.stdout.readline()) not in ("\n", ""):
            lines.append(line.rstrip("\n"))
        answer = "\n".join(lines)
        if not answer.startswith("="):
            raise EngineError(f"{words!r} was answered by {answer!r}")
        return answer[1:].strip()

    def close(self) -> None:
        """End the program."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()


@dataclass
class Encounter:
    """One game under way."""

    number: int
    game: Game
    ours: int
    engine: GtpEngine
    points: float | None = None

    @property
    def our_turn(self) -> bool:
        """Whether we are to move."""
        return self.game.to_move == self.ours

    def opponent_moves(self) -> None:
        """Let the other program play its move."""
        answer = self.engine.ask(f"genmove {COLOURS[opponent(self.ours)]}").lower()
        if answer == "resign":
            self.points = 1.0
            return
        self._played(answer)

    def we_move(self, point: int) -> None:
        """Play our move on both sides."""
        vertex = to_vertex(point, self.game.y_size)
        self.engine.ask(f"play {COLOURS[self.ours]} {vertex}")
        self._played(vertex)

    def _played(self, vertex: str) -> None:
        try:
            self.game.play(vertex)
        except ValueError as error:
            raise EngineError(f"game {self.number}: {vertex} is illegal here: {error}") from error
        area = self.game.x_size * self.game.y_size
        if self.game.finished or len(self.game.moves) > MAX_MOVES_PER_POINT * area:
            score = self.game.score()
            self.points = 0.5 if score == 0 else float((score > 0) == (self.ours == WHITE))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--model", required=True, help=f"network file, or {RANDOM_MODEL}")
    parser.add_argument("--engine", required=True, help="command of the other program, in one word")
    parser.add_argument("--config", type=Path, required=True, help="KataGo configuration text of our search")
    parser.add_argument("--games", type=positive, default=100, help="how many games (default 100); colours alternate")
    parser.add_argument("--size", type=whole(MIN_LENGTH, MAX_LENGTH), default=19, help="board size (default 19)")
    parser.add_argument("--komi", type=float, default=7.5)
    parser.add_argument("--rules", default="koPOSITIONALscoreAREAtaxNONEsui0", help="rules string, area scoring")
    parser.add_argument("--visits", type=positive, help="visits per move (default: the configuration's)")
    parser.add_argument("--parallel-games", type=games_at_once, default=8)
    parser.add_argument("--seed", type=seed, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=threads, default=1)
    add_precision(parser)


def run(options: argparse.Namespace) -> int:
    """Play; returns the exit code."""
    try:
        score = play_all(options, lambda line: say(line))
    except BrokenPipeError:  # whoever reads has enough: no fault to be told (`common.pipes`)
        raise
    except (ConfigError, EngineError, OSError, ValueError) as error:
        sys.stderr.write(f"versus: {error}\n")
        return 1
    say(f"{Path(options.model).name} against {options.engine!r}: {score.describe()}")
    return 0


def play_all(options: argparse.Namespace, report: Callable[[str], None]) -> Score:
    """Play all games; the score is ours."""
    text = config_of(options.config, "gating")
    if options.visits:
        text = overlay(text, f"maxVisits = {options.visits}\n")
    with explained(options.config):
        search = parse_match(text).bots[0]
    rules = Rules.parse(f"{options.rules}komi{options.komi:g}")
    load = evaluator_loader(options.device, options.threads, options.use_fp16)
    evaluator = load(network_of(options.model), options.size)
    slots = min(options.parallel_games, options.games)
    pool = SearchPool(evaluator, slots=slots, max_visits=search.max_visits)
    record = to_record(search)
    score, waiting = Score(), iter(range(options.games))
    running: dict[int, Encounter] = {}
    try:
        while True:
            for slot in range(slots):
                if slot not in running and (number := next(waiting, None)) is not None:
                    running[slot] = _begin(number, options, rules)
            if not running:
                return score
            _let_opponents_move(running)
            for slot, point in _our_moves(pool, running, record, search.max_visits, options.seed).items():
                running[slot].we_move(point)
            for slot, encounter in list(running.items()):
                if encounter.points is not None:
                    score.add(encounter.points)
                    encounter.engine.close()
                    del running[slot]
                    report(f"game {encounter.number + 1}: {encounter.points:g} points; so far {score.describe()}")
    finally:
        for encounter in running.values():
            encounter.engine.close()
        evaluator.close()


def _begin(number: int, options: argparse.Namespace, rules: Rules) -> Encounter:
    game = Game(GameStart(options.size, options.size, rules))
    engine = GtpEngine(options.engine)
    try:
        for words in (f"boardsize {options.size}", "clear_board", f"komi {options.komi:g}"):
            engine.ask(words)
    except EngineError:
        engine.close()
        raise
    return Encounter(number, game, BLACK if number % 2 == 0 else WHITE, engine)


def _let_opponents_move(running: dict[int, Encounter]) -> None:
    for encounter in running.values():
        if encounter.points is None and not encounter.our_turn:
            encounter.opponent_moves()


def _our_moves(pool: SearchPool, running: dict[int, Encounter], record: Any, visits: int, seed: int) -> dict[int, int]:
    """Search every game in which we are to move, all together; point to play by slot."""
    found: dict[int, int] = {}
    for slot, encounter in running.items():
        if encounter.points is None and encounter.our_turn:
            game = encounter.game
            move_seed = game_seed(game_seed(seed, encounter.number), len(game.moves))
            pool.start(slot, game.state, game.history, parameters=record, visits=visits, seed=move_seed)
    while pool.running():
        for slot in pool.step():
            found[slot] = pool.choose_move(slot)
    return found
