"""Another program as a player: a process for each table, asked over its standard input in GTP.

Each process has a thread of its own that asks and waits, so that many think at once. What a program does not know of a
game's rules it cannot be told: one that knows ``kata-set-rules`` is, others have to be started with the right rules.
Games are counted by our rules, so under area scoring a program should capture dead stones before it passes.
"""

from __future__ import annotations

import contextlib
import json
import queue
import shlex
import subprocess
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from client.matches.players import Decision, PlayerError
from common.go.game import Game
from common.go.points import BLACK, WHITE, from_vertex, to_vertex
from common.go.start import GameStart

COLOURS: Final = {BLACK: "black", WHITE: "white"}
_SET_RULES: Final = "kata-set-rules"
_SET_STONES: Final = "set_position"
_POLL_S: Final = 0.002
_END_S: Final = 2.0


class GtpProgram:
    """A process that speaks GTP.

    Args:
        command: as in a shell, without one.
        patience_s: how long an answer may take.

    Raises:
        PlayerError: it cannot be started.
    """

    def __init__(self, command: str, patience_s: float) -> None:
        self._command = command
        self._patience_s = patience_s
        try:
            self._process = subprocess.Popen(
                shlex.split(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
                errors="replace",  # comments and names of other programs may be in any encoding
            )
        except (OSError, ValueError) as error:
            raise PlayerError(f"{command!r} cannot be started: {error}") from error
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gtp")
        self.commands: frozenset[str] = frozenset()
        try:
            self.commands = frozenset(self.ask("list_commands").split())
        except PlayerError:
            self.close()
            raise

    def ask(self, words: str) -> str:
        """The answer to a command.

        Raises:
            PlayerError: it refused, ended, or took too long.
        """
        try:
            return self.begin_to_ask(words).result(self._patience_s)
        except TimeoutError:
            raise PlayerError(f"{self._command!r} took more than {self._patience_s:g} s over {words!r}") from None

    def begin_to_ask(self, words: str) -> Future[str]:
        """As `ask`, told later; questions are asked one after the other."""
        return self._thread.submit(self._ask, words)

    def _ask(self, words: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(words + "\n")
            self._process.stdin.flush()
        except (OSError, ValueError) as error:
            raise PlayerError(f"{self._command!r} ended before it was asked {words!r}") from error
        lines = []
        while line := self._process.stdout.readline():
            if line.strip():
                lines.append(line.rstrip())
            elif lines:  # some programs begin with empty lines
                break
        answer = "\n".join(lines)
        if not answer.startswith("="):
            said = f"answered {answer!r}" if answer else f"ended (exit code {self._process.poll()})"
            raise PlayerError(f"{self._command!r}, asked {words!r}, {said}")
        return answer[1:].strip()

    def close(self) -> None:
        """End the process, by ``quit`` if it listens."""
        with contextlib.suppress(OSError, ValueError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.shutdown()
        assert self._process.stdout is not None
        self._process.stdout.close()


class ProgramPlayer:
    """A program at several tables; see `client.matches.players.Player`.

    Args:
        command: of the program.
        name: for records.
        patience_s: how long it may think about a move.
    """

    def __init__(self, command: str, name: str, patience_s: float) -> None:
        self.name = name
        self._command = command
        self._patience_s = patience_s
        self._programs: dict[int, GtpProgram] = {}  # by table; a process plays one game after the other
        self._chosen: dict[int, tuple[int, int]] = {}  # by table: its own move, which it has played already
        self._due: dict[int, tuple[float, int]] = {}  # by table: when it began to think, its colour
        self._answers: queue.SimpleQueue[tuple[int, Future[str]]] = queue.SimpleQueue()
        self._sizes: dict[int, tuple[int, int]] = {}  # of the board, by table

    def warm_up(self, start: GameStart) -> None:
        """Start the program of the first table."""
        self._programs.setdefault(0, GtpProgram(self._command, self._patience_s))

    def begin(self, table: int, game: Game, seed: int) -> None:
        """Tell a program all of a game that GTP can say."""
        if table not in self._programs:
            self._programs[table] = GtpProgram(self._command, self._patience_s)
        program, start = self._programs[table], game.start
        self._sizes[table] = game.x_size, game.y_size
        square = game.x_size == game.y_size
        program.ask(f"boardsize {game.x_size}" if square else f"rectangular_boardsize {game.x_size} {game.y_size}")
        program.ask("clear_board")
        if _SET_RULES in program.commands:
            program.ask(f"{_SET_RULES} {json.dumps(game.rules.to_json(komi=False))}")
        program.ask(f"komi {game.rules.komi:g}")
        if start.stones:
            if _SET_STONES not in program.commands:
                raise PlayerError(f"{self._command!r} has no {_SET_STONES}, and an opening begins with stones")
            words = (f"{COLOURS[colour]} {to_vertex(point, game.y_size)}" for colour, point in start.stones)
            program.ask(f"{_SET_STONES} {' '.join(words)}")
        for colour, point in (*start.moves, *game.moves):
            self.played(table, colour, point, None)

    def think(self, table: int, game: Game) -> None:
        """Ask for a move."""
        self._due[table] = time.monotonic(), game.to_move
        future = self._programs[table].begin_to_ask(f"genmove {COLOURS[game.to_move]}")
        future.add_done_callback(lambda done: self._answers.put((table, done)))

    def poll(self) -> list[tuple[int, Decision]]:
        """The moves that have come."""
        decisions: list[tuple[int, Decision]] = []
        for table, (since, _) in self._due.items():
            if time.monotonic() - since > self._patience_s:
                raise PlayerError(f"{self._command!r} thought more than {self._patience_s:g} s at table {table}")
        while True:
            try:
                table, answer = self._answers.get(timeout=0 if decisions or not self._due else _POLL_S)
            except queue.Empty:
                return decisions
            since, colour = self._due.pop(table)
            point = self._point(table, answer.result())
            if point is not None:
                self._chosen[table] = colour, point
            decisions.append((table, Decision(point, time.monotonic() - since)))

    def played(self, table: int, colour: int, point: int, win_loss: float | None) -> None:
        """Tell a move; what the program chose itself it has played already."""
        if table in self._chosen and self._chosen.pop(table) == (colour, point):
            return
        self._programs[table].ask(f"play {COLOURS[colour]} {to_vertex(point, self._sizes[table][1])}")

    def leave(self, table: int) -> None:
        """The process waits for the next game."""

    def close(self) -> None:
        """End all processes."""
        for program in self._programs.values():
            program.close()
        self._programs.clear()

    def _point(self, table: int, vertex: str) -> int | None:
        if vertex.lower() == "resign":
            return None
        try:
            return from_vertex(vertex, self._sizes[table][0], self._sizes[table][1])
        except ValueError:
            raise PlayerError(f"{self._command!r} answered {vertex!r}, which is no vertex of this board") from None
