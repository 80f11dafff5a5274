"""Other programs as players: what they are told, what they answer, those that do not play along."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from client.matches.players import Decision, PlayerError
from client.matches.programs import GtpProgram, ProgramPlayer
from common.go.game import Game
from common.go.points import BLACK, PASS, WHITE, from_vertex
from common.go.rules import Rules
from common.go.start import GameStart

PROGRAM = """
import sys, time
moves, told, refused, knows = iter(sys.argv[1].split(",")), sys.argv[2], sys.argv[3], sys.argv[4]
print(flush=True)
for line in sys.stdin:
    words = line.split()
    with open(told, "a") as file:
        file.write(line)
    if words[0] == refused:
        print("? no", end="\\n\\n", flush=True)
    elif words[0] == "list_commands":
        print("= play\\ngenmove\\n" + knows, end="\\n\\n", flush=True)
    elif words[0] == "genmove":
        move = next(moves, "pass")
        if move == "die":
            sys.exit(3)
        if move == "sleep":
            time.sleep(60)
        print("=", move, end="\\n\\n", flush=True)
    else:
        print("=", end="\\n\\n", flush=True)
"""
RULES = Rules.parse("chinese").with_komi(7.5)


class Program:
    """A player with a scripted program, and what that was told."""

    def __init__(
        self, folder: Path, moves: str, refused: str = "-", knows: str = "-", patience_s: float = 20.0
    ) -> None:
        script, self._told = folder / "program.py", folder / "told"
        script.write_text(PROGRAM)
        words = [sys.executable, "-u", str(script), moves, str(self._told), refused, knows]
        self.player = ProgramPlayer(shlex.join(words), "it", patience_s)

    def told(self) -> list[str]:
        return self._told.read_text().splitlines()

    def decision(self) -> tuple[int, Decision]:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if found := self.player.poll():
                (one,) = found
                return one
        raise AssertionError("no decision")


Make = Callable[..., Program]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Program] = []

    def program(*words: str, **options: float | str) -> Program:
        made.append(Program(tmp_path, *words, **options))  # type: ignore[arg-type]
        return made[-1]

    yield program
    for each in made:
        each.player.close()


def game(**fields: object) -> Game:
    return Game(GameStart(**{"x_size": 9, "y_size": 9, "rules": RULES} | fields))  # type: ignore[arg-type]


def test_it_is_told_the_game(make: Make) -> None:
    it = make("C3,resign", knows="kata-set-rules\nset_position")
    start = GameStart(9, 7, RULES, stones=((BLACK, from_vertex("D4", 9, 7)), (WHITE, from_vertex("E5", 9, 7))))
    played = Game(start.followed_by([(BLACK, from_vertex("A1", 9, 7)), (WHITE, PASS)]))
    it.player.begin(2, played, 0)
    it.player.think(2, played)
    table, decision = it.decision()
    assert (table, decision.point) == (2, from_vertex("C3", 9, 7))
    assert decision.win_loss is None
    assert 0 <= decision.seconds < 60
    it.player.played(2, BLACK, from_vertex("C3", 9, 7), None)  # its own
    it.player.played(2, WHITE, from_vertex("J7", 9, 7), 0.5)
    it.player.think(2, played)
    assert it.decision()[1].point is None
    told = it.told()
    assert told[:3] == ["list_commands", "rectangular_boardsize 9 7", "clear_board"]
    assert told[3].startswith('kata-set-rules {"')
    assert '"scoring": "AREA"' in told[3]
    assert told[4:6] == ["komi 7.5", "set_position black D4 white E5"]
    assert told[6:] == ["play black A1", "play white pass", "genmove black", "play white J7", "genmove black"]


def test_the_next_game_is_played_by_the_same_process(make: Make) -> None:
    it = make("pass,pass")
    for _ in range(2):
        board = game()
        it.player.begin(0, board, 0)
        it.player.think(0, board)
        assert it.decision()[1].point == PASS
        it.player.leave(0)
    assert it.told().count("list_commands") == 1
    assert it.told().count("clear_board") == 2
    assert not any(line.startswith("kata-set-rules") for line in it.told())


def test_it_plays_what_it_chose_once_though_the_other_plays_there_later(make: Make) -> None:
    it = make("A1,A1")
    board = game()
    point = from_vertex("A1", 9, 9)
    it.player.begin(0, board, 0)
    it.player.think(0, board)
    it.decision()
    it.player.played(0, BLACK, point, None)
    it.player.played(0, WHITE, point, None)
    assert it.told()[-1] == "play white A1"


@pytest.mark.parametrize(
    ("moves", "options", "words"),
    [
        ("Z9", {}, "answered 'Z9', which is no vertex of this board"),
        ("die", {}, r"asked 'genmove black', ended \(exit code"),
        ("C3", {"refused": "komi"}, r"asked 'komi 7\.5', answered '\? no'"),
        ("C3", {"refused": "genmove"}, r"asked 'genmove black', answered '\? no'"),
        ("sleep", {"patience_s": 1.0}, "thought more than 1 s at table 0"),
    ],
)
def test_a_program_that_does_not_play_along_is_told(
    make: Make, moves: str, options: dict[str, str], words: str
) -> None:
    it = make(moves, **options)
    board = game()

    def play() -> None:
        it.player.begin(0, board, 0)
        it.player.think(0, board)
        it.decision()

    with pytest.raises(PlayerError, match=words):
        play()


def test_stones_that_cannot_be_told(make: Make) -> None:
    it = make("C3")
    with pytest.raises(PlayerError, match="has no set_position"):
        it.player.begin(0, game(stones=((BLACK, from_vertex("D4", 9, 9)),)), 0)


@contextmanager
def started(command: str) -> Iterator[GtpProgram]:
    program = GtpProgram(command, 5.0)
    try:
        yield program
    finally:
        program.close()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("/nowhere/gnugo", "cannot be started"),
        ("'unclosed", "cannot be started"),
        (shlex.join([sys.executable, "-c", "pass"]), r"ended"),
        (shlex.join([sys.executable, "-c", "print('hello', end='\\n\\n')"]), "answered 'hello'|ended"),
    ],
)
def test_a_program_that_is_none_is_told(command: str, words: str) -> None:
    with pytest.raises(PlayerError, match=words), started(command):
        pass
