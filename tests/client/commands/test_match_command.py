"""``client match`` as a whole: its processes, its folder, and that it goes on where it was stopped."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from client.commands import match
from client.commands.match_players import entrants_of
from client.commands.match_progress import Progress
from client.matches import workers
from client.matches.ledger import LedgerError, MatchResult
from common.parameters import CONFIGS
from common.progress import LOADING
from common.sgf import read_all

TEXT = """
bSizes = 5,6
bSizeRelProbs = 1,1
koRules = POSITIONAL
scoringRules = AREA
komiMean = 4.5
maxVisits = 12
maxVisits1 = 2
maxMovesPerGame = 30
allowResignation = false
"""
PASSES = (
    "import sys\nfor line in sys.stdin:\n    print('= pass' if 'genmove' in line else '=', end='\\n\\n', flush=True)\n"
)


def options_of(folder: Path, *words: object) -> argparse.Namespace:
    config = folder / "match.cfg"
    config.write_text(TEXT)
    parser = argparse.ArgumentParser()
    match.add_arguments(parser)
    rest = (
        "--config",
        config,
        "--output",
        folder / "games",
        "--gpus",
        "cpu",
        "--cpu-streams",
        1,
        "--parallel-games",
        4,
    )
    return parser.parse_args([str(word) for word in (*words, *rest)])


class Child(threading.Thread):
    """What the parent knows of a process, in a thread of this one, where the kernels are loaded already."""

    exitcode = 0

    def __init__(self, main: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        super().__init__(target=main, args=(theirs, *arguments), daemon=True)
        self.start()

    def kill(self) -> None:
        """Let it hear that nobody listens."""
        self.pipe.close()


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of a match are threads; the tests at the end of this file start real ones."""

    def start(main: Callable[..., None], arguments: tuple[Any, ...], name: str) -> tuple[Child, Connection]:
        child = Child(main, arguments)
        return child, child.pipe

    monkeypatch.setattr(workers, "start_child", start)
    monkeypatch.setattr(workers, "begin_child", lambda core: None)


def config_of(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    match.add_arguments(parser)
    return parser.parse_args(["--games", "2", "--output", "games", *words])


@pytest.mark.parametrize("name", ["gating_today", "gating_today.cfg"])
def test_texts_of_ours_have_names(name: str) -> None:
    assert config_of("--config", name).config == CONFIGS / "gating_today.cfg"


@pytest.mark.parametrize(
    ("name", "message"), [("nowhere.cfg", "there is no file nowhere.cfg"), ("FOLDER", "FOLDER is a folder")]
)
def test_what_is_no_text_is_told_with_those_of_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, message: str
) -> None:
    with pytest.raises(SystemExit):
        config_of("--config", name.replace("FOLDER", str(tmp_path)))
    told = " ".join(capsys.readouterr().err.replace(str(tmp_path), "FOLDER").split())
    assert f"{message}; texts of ours are gating, gating_7x7, " in told


def results_in(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "games" / "results.jsonl").read_text().splitlines()]


@pytest.mark.usefixtures("threads")
def test_a_match_of_two_settings_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--models", "random", "random", "--seed", 3, "--names", "many", "few")
    assert match.run(options_of(tmp_path, *words, "--games", 4)) == 0
    first = (tmp_path / "games" / "results.jsonl").read_bytes()
    assert len(first.splitlines()) == 4
    assert match.run(options_of(tmp_path, *words, "--games", 8)) == 0
    printed = capsys.readouterr().out
    assert f"{tmp_path / 'games'} has 4 games already" in printed
    assert "many against few, 8 games: " in printed
    assert (tmp_path / "games" / "results.jsonl").read_bytes().startswith(first)
    results = results_in(tmp_path)
    assert sorted(int(str(each["number"])) for each in results) == list(range(8))
    games = list(read_all((tmp_path / "games" / "games.sgfs").read_bytes()))
    for each, game in zip(results, games, strict=True):
        black = "many" if each["first_is_black"] else "few"
        assert game.black_name == black
        assert game.result == each["result"]
    sizes: dict[int, set[int]] = {int(str(each["number"])) // 2: set() for each in results}
    for each, game in zip(results, games, strict=True):
        sizes[int(str(each["number"])) // 2].add(game.x_size)
    assert all(len(found) == 1 for found in sizes.values())
    # nothing is left to play
    assert match.run(options_of(tmp_path, *words, "--games", 8)) == 0
    assert len(results_in(tmp_path)) == 8
    assert match.run(options_of(tmp_path, *words, "--games", 8, "--komi", "0.5")) == 1
    assert "holds another match (komi: none there, 0.5 here)" in capsys.readouterr().err


FOUR = TEXT + "numBots = 4\nbotName0 = one\nbotName2 = three\nsecondaryBots = 2,3\nmaxVisits2 = 3\nmaxVisits3 = 4\n"


@pytest.mark.usefixtures("threads")
def test_a_match_of_several_bots_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def options(*words: object) -> argparse.Namespace:
        found = options_of(tmp_path, "--models", "random", *words)
        (tmp_path / "match.cfg").write_text(FOUR)
        return found

    assert match.run(options("--games", 7)) == 0
    assert match.run(options("--games", 20)) == 0
    printed = capsys.readouterr().out
    assert f"{tmp_path / 'games'} has 7 games already: " in printed
    results = results_in(tmp_path)
    assert sorted(int(str(each["number"])) for each in results) == list(range(20))
    pairs = {str(each["number"]): each["players"] for each in results}
    expected = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3]]
    assert [pairs[str(number)] for number in range(20)] == [pair for pair in expected for _ in range(2)] * 2
    table = printed.splitlines()
    names = {line.split()[0] for line in table if " ± " in line and "against" not in line}
    assert {"one", "random-B", "three", "random-D"} <= names
    assert sum(line.startswith("one against ") for line in table) >= 3
    games = list(read_all((tmp_path / "games" / "games.sgfs").read_bytes()))
    openings: dict[int, set[tuple[int, str]]] = {}
    for each, game in zip(results, games, strict=True):
        openings.setdefault(int(str(each["number"])) // 10, set()).add((game.x_size, game.rules.to_short()))
    assert all(len(found) == 1 for found in openings.values()), "a round has one opening"
    assert match.run(options("--games", 20, "--override", "extraPairs=2-3")) == 1
    assert "holds another match (pairs, 6: none there, [2, 3, true] here)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("numBots = 3\n", ("--models", "random", "random"), "numBots = 3, but there are 2 networks"),
        ("numBots = 3\n", (), "numBots = 3, but there are 0 networks"),
        ("secondaryBots = 0,1\n", ("--models", "random", "random"), "nobody plays anybody"),
        ("extraPairs = 0-2\n", ("--models", "random", "random"), "there is no bot 2, the last of 2 is 1"),
        ("extraPairs = 0\n", ("--models", "random", "random"), "is not a pair of bots such as 0-2"),
        ("numBots = 3\n", ("--models", "random"), "players 0 and 2 are alike"),
        ("maxVisits2 = 3\n", ("--models", "random", "random", "random", "--sprt", "0,9"), "a test of two players"),
        ("maxVisits2 = 3\n", ("--models", *["random"] * 3, "--names", "a", "b"), "--names takes 3 different names"),
    ],
)
def test_what_is_no_match_of_several_bots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: tuple[str, ...], message: str
) -> None:
    options = options_of(tmp_path, *words, "--games", 2)
    (tmp_path / "match.cfg").write_text(TEXT.replace("maxVisits1 = 2\n", "maxVisits1 = 2\n" + text))
    assert match.run(options) == 1
    assert message in capsys.readouterr().err


def test_players_are_named_by_text_or_words(tmp_path: Path) -> None:
    nets = [tmp_path / "a.bin.gz", tmp_path / "b.bin.gz"]
    for net in nets:
        net.write_bytes(b"a net")
    text = f"numBots = 3\nbotName0 = strong\nnnModelFile = {nets[0]}\nnnModelFile2 = {nets[1]}\n"
    options = options_of(tmp_path, "--games", 2)
    (tmp_path / "match.cfg").write_text(TEXT + text)
    entrants = entrants_of(options)
    assert entrants.names == ("strong", "a", "b")
    assert [network.path for network in entrants.networks] == [nets[0], nets[0], nets[1]]
    options = options_of(
        tmp_path, "--games", 2, "--against-first", "--names", "x", "y", "z", "--models", *[nets[1]] * 3
    )
    assert entrants_of(options).names == ("x", "y", "z")
    assert entrants_of(options).schedule.meetings == ((0, 1, True), (0, 2, True))
    options = options_of(tmp_path, "--games", 2, "--program", "/bin/gnugo --mode gtp", "--models", nets[0])
    assert entrants_of(options).names == ("a", "gnugo")


@pytest.mark.usefixtures("threads")
def test_a_match_against_a_program_is_stopped_by_its_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who only passes loses every game, and a sequential test says so long before all are played."""
    script = tmp_path / "passes.py"
    script.write_text(PASSES)
    program = shlex.join([sys.executable, str(script)])
    words = ("--models", "random", "--program", program, "--games", 400, "--sprt", "0,200", "--size", 5)
    assert match.run(options_of(tmp_path, *words, "--rules", "tromp-taylor", "--policy-moves", 2)) == 0
    printed = capsys.readouterr().out
    assert "Elo +200 accepted" in printed
    results = results_in(tmp_path)
    assert 20 <= len(results) < 200
    assert {each["points"] for each in results} == {1.0}
    openings = {game.moves[:2] for game in read_all((tmp_path / "games" / "games.sgfs").read_bytes())}
    assert len(openings) > 5


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--program", "/nowhere/gnugo"), "cannot be started"),
        (("--program", shlex.join([sys.executable, "-c", "pass"])), "ended"),
        (("--program", "gnugo", "--rules", "japanese"), "games against a program are played under area scoring"),
    ],
)
def test_programs_that_cannot_play_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    assert match.run(options_of(tmp_path, "--models", "random", *words, "--games", 2)) == 1
    assert message in capsys.readouterr().err


def test_openings_are_read_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "openings").mkdir()
    words = ("--models", "random", "random", "--games", 2, "--openings", tmp_path / "openings")
    assert match.run(options_of(tmp_path, *words)) == 1
    assert "holds no game in SGF" in capsys.readouterr().err
    (tmp_path / "openings" / "bad.sgf").write_text("(;GM[1]SZ[5];B[aa];W[aa])")
    assert match.run(options_of(tmp_path, *words)) == 1
    assert "bad.sgf: " in capsys.readouterr().err
    (tmp_path / "openings" / "bad.sgf").write_text("(;GM[1]SZ[5]KM[2.5];B[aa];W[bb];B[cc])")
    (tmp_path / "openings" / "more.sgf").write_text("(;GM[1]SZ[7]KM[2.5];B[aa])")
    setup = match.setup_of(options_of(tmp_path, *words, "--opening-length", 2, "--komi", "6.5"))
    starts = [setup.openings.start_of(pair) for pair in range(3)]
    assert [(start.x_size, len(start.moves), start.rules.komi) for start in starts] == [
        (5, 2, 6.5),
        (7, 1, 6.5),
        (5, 2, 6.5),
    ]


@pytest.mark.parametrize("bots", [2, 3])
def test_games_that_repeat_others_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], bots: int) -> None:
    third = ("--override", "maxVisits2=3") if bots == 3 else ()
    options = options_of(tmp_path, "--models", *["random"] * bots, "--games", 9, *third)
    progress = Progress.of(match.setup_of(options), None)

    def add(number: int, moves: str, root: str = "SZ[5]KM[4.5]RU[Chinese]", result: str = "B+1.5") -> None:
        sgf = f"(;GM[1]FF[4]{root}PB[{number}]PW[b]RE[{result}]{moves})"
        progress.add(MatchResult(number, number % 2 == 0, 1.0, result, 2, (1.0, 1.0), sgf))

    add(0, ";B[cc];W[dd]")
    add(1, ";B[cc];W[dd]", root="SZ[6]KM[4.5]RU[Chinese]")
    add(2, ";B[cc];W[dd]", root="SZ[5]KM[5.5]RU[Chinese]")
    add(3, ";B[cc];W[dd]", root="SZ[5]KM[4.5]RU[Chinese]AB[aa]")
    add(4, ";B[cc];W[dc]")
    progress.report()
    assert "move by move" not in capsys.readouterr().out
    add(5, ";B[cc]C[0.55 0.45 0.00 1.1 v=24];W[dd]", result="W+R")
    add(6, ";B[cc];W[dd]")
    progress.report()
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("2 games repeat another one move by move, and the errors above are too small: give --open")


def test_what_is_guessed_of_openings_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = {
        "a": "SZ[5]KM[2.5]RU[Chinese];B[aa]",
        "b": "SZ[5]KM[2.5]RU[house rules]",
        "c": "SZ[5]",
        "d": "SZ[5]RU[chinese]KM[3.75]",
        "e": "SZ[5]",
    }
    (tmp_path / "openings").mkdir()
    for name, body in records.items():
        (tmp_path / "openings" / f"{name}.sgf").write_text(f"(;GM[1]{body})")

    def said(*words: object) -> list[str]:
        folder = tmp_path / "openings"
        match.setup_of(options_of(tmp_path, "--models", "random", "random", "--games", 2, "--openings", folder, *words))
        lines = capsys.readouterr().out.splitlines()
        return [line.removeprefix(f"{folder}, ") for line in lines if line.startswith(f"{folder}, ")]

    of_rules = [
        "2 of 5 games: RU is missing; Tromp-Taylor rules were taken",
        "1 of 5 games: RU[house rules] is not a known rule set; Tromp-Taylor rules were taken",
    ]
    of_komi = [
        "2 of 5 games: KM is missing; the usual komi of the rules, 7.5, was taken",
        "1 of 5 games: KM[3.75] was read as 7.5 points",
    ]
    assert sorted(said()) == sorted(of_rules + of_komi)
    assert sorted(said("--komi", "6.5")) == sorted(of_rules)
    assert sorted(said("--rules", "chinese")) == sorted(of_komi)
    assert said("--rules", "chinese", "--komi", "6.5") == []


def begun(folder: Path, *words: object) -> subprocess.Popen[str]:
    """The command as a process that has finished its first game."""
    (folder / "match.cfg").write_text(TEXT)
    rest = ("--config", folder / "match.cfg", "--output", folder / "games", "--gpus", "cpu", "--cpu-streams", 1)
    command = [sys.executable, "-m", "client", "match", "--models", "random", "random", *words, *rest]
    process = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    results = folder / "games" / "results.jsonl"
    while not (results.exists() and results.read_bytes().endswith(b"\n")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    return process


@pytest.mark.e2e
def test_one_signal_ends_a_match_whose_games_have_not_begun(tmp_path: Path) -> None:
    """Its processes load, compile, or wait for a program: there is nothing to finish."""
    program = shlex.join([sys.executable, "-c", "import sys; sys.stdin.read()"])
    options = options_of(tmp_path, "--models", "random", "--program", program, "--rules", "chinese", "--games", 2)
    words = ("--models", "random", "--program", program, "--rules", "chinese", "--games", 2, "--config", options.config)
    rest = ("--output", options.output, "--gpus", "cpu", "--cpu-streams", 2)
    command = [sys.executable, "-m", "client", "match", *map(str, (*words, *rest))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == f"{LOADING} …\n"
        process.send_signal(signal.SIGTERM)
        printed, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert printed.splitlines()[-1] == "stopped after 0 of 2 games; the same command goes on from there"


@pytest.mark.e2e
@pytest.mark.parametrize("interrupts", [1, 2])
def test_interrupts_end_a_match_and_keep_its_games(
    tmp_path: Path, interrupts: int, capsys: pytest.CaptureFixture[str]
) -> None:
    process = begun(tmp_path, "--games", 100_000, "--parallel-games", 4)
    with pytest.raises(LedgerError, match="the match is being played"):
        match._run(options_of(tmp_path, "--models", "random", "random", "--games", 4))
    for _ in range(interrupts):
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)  # two at once are one to the system
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == 0, printed
    assert "Traceback" not in printed
    results = results_in(tmp_path)
    assert f"{len(results)} games: " in printed.splitlines()[-3]
    assert f"stopped after {len(results)} of 100000 games; the same command goes on from there" in printed
    records = (tmp_path / "games" / "games.sgfs").read_bytes()
    assert len(list(read_all(records))) == len(results)
    # the same command plays those that are missing, each once
    more = max(int(str(each["number"])) for each in results) + 3
    assert match.run(options_of(tmp_path, "--models", "random", "random", "--games", more)) == 0
    assert f"{tmp_path / 'games'} has {len(results)} games already: " in capsys.readouterr().out
    assert results_in(tmp_path)[: len(results)] == results
    assert sorted(int(str(each["number"])) for each in results_in(tmp_path)) == list(range(more))
    assert (tmp_path / "games" / "games.sgfs").read_bytes().startswith(records)
    assert len(list(read_all((tmp_path / "games" / "games.sgfs").read_bytes()))) == more
