"""Games against another program: who won, and what is said of a program that does not play along."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

import pytest

from client.commands import versus
from client.commands.versus import GtpEngine

PROGRAM = """
import sys
moves = iter(sys.argv[1].split(","))
for line in sys.stdin:
    words = line.split()
    with open(sys.argv[2], "a") as told:
        told.write(line)
    if words[0] == "genmove":
        print("=", next(moves, "pass"), end="\\n\\n", flush=True)
    elif words[0] == sys.argv[3]:
        print("? no", end="\\n\\n", flush=True)
    else:
        print("=", end="\\n\\n", flush=True)
"""


def play(
    folder: Path, capsys: pytest.CaptureFixture[str], moves: str, *options: str, refused: str = "-"
) -> tuple[int, str, list[str]]:
    """Exit code, what was printed, and what the other program, which plays ``moves``, then passes, was asked."""
    (folder / "program.py").write_text(PROGRAM)
    (folder / "match.cfg").write_text("maxVisits = 8\n")
    told = folder / "told"
    engine = shlex.join([sys.executable, str(folder / "program.py"), moves, str(told), refused])
    parser = argparse.ArgumentParser()
    versus.add_arguments(parser)
    chosen = ["--model", "random", "--engine", engine, "--config", str(folder / "match.cfg"), "--size", "5", *options]
    code = versus.run(parser.parse_args(chosen))
    printed = capsys.readouterr()
    return code, printed.out + printed.err, told.read_text().splitlines() if told.exists() else []


def test_a_program_that_resigns_has_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, printed, asked = play(tmp_path, capsys, "resign", "--games", "3", "--parallel-games", "2", "--komi", "0.5")
    assert code == 0
    assert "3 won, 0 drawn, 0 lost" in printed
    assert asked.count("boardsize 5") == asked.count("clear_board") == asked.count("komi 0.5") == 3
    # colours alternate: in games 1 and 3 we are Black and move first
    assert asked.count("genmove white") == 2
    assert asked.count("genmove black") == 1


@pytest.mark.parametrize(("komi", "result"), [("-30.5", "1 won, 0 drawn, 1 lost"), ("30.5", "1 won, 0 drawn, 1 lost")])
def test_games_are_counted_on_the_board(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], komi: str, result: str
) -> None:
    """A komi beyond the board decides: who is White, or Black, in one game of two has lost or won before it began."""
    code, printed, asked = play(tmp_path, capsys, "pass", "--games", "2", "--komi", komi, "--visits", "2")
    assert code == 0
    assert result in printed
    assert {line.split()[1] for line in asked if line.startswith("play")} == {"black", "white"}


def test_the_same_seed_plays_the_same_game(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        asked.append(play(folder, capsys, "c3", "--games", "1", "--seed", "7")[2])
    assert asked[0] == asked[1]
    assert len(asked[0]) > 5


@pytest.mark.parametrize(
    ("moves", "refused", "words"),
    [
        ("a1,a1", "-", "a1 is illegal here"),
        ("z9", "-", "z9 is illegal here"),
        ("pass", "komi", "'komi 7.5' was answered by '? no'"),
        ("pass", "play", "was answered by '? no'"),
    ],
)
def test_a_program_that_does_not_play_along_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], moves: str, refused: str, words: str
) -> None:
    code, printed, _ = play(tmp_path, capsys, moves, "--games", "1", refused=refused)
    assert code == 1
    assert words in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("/nowhere/gnugo", "cannot be started"),
        (shlex.join([sys.executable, "-c", "pass"]), "ended before|answered by ''"),
    ],
)
def test_a_program_that_is_not_there_is_told(command: str, words: str) -> None:
    def ask() -> None:
        engine = GtpEngine(command)
        try:
            for _ in range(2):
                engine.ask("name")
        finally:
            engine.close()

    with pytest.raises(versus.EngineError, match=words):
        ask()
