"""Matches: scores with their errors, resignation, alternating colours, and the commands that play into a folder."""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from client.commands import local, match
from client.commands import selfplay as command
from client.commands.match import Score, elo
from common.rows import read_npz
from common.sgf import read, read_all
from tests.client.games.evaluators import OpinionatedEvaluator
from tests.client.games.games import NET, OTHER, match_text, orders, play, selfplay_text
from tests.client.search.scripted import Answer, ScriptedEvaluator


def test_scores_and_their_errors() -> None:
    score = Score(wins=60, draws=20, losses=20)
    assert score.share == pytest.approx(0.7)
    # 61 wins, 20 draws, 21 losses: mean 71/102, mean square 66/102
    assert score.standard_error == pytest.approx(math.sqrt((66 / 102 - (71 / 102) ** 2) / 102))
    assert "60 won, 20 drawn, 20 lost: 70.0 ± 4.0 %, Elo +147" in score.describe()
    assert elo(0.5) == 0
    assert elo(1.0) == math.inf
    assert elo(10 / 11) == pytest.approx(400)


class OneSided(ScriptedEvaluator):
    """Believes that Black, whose first stone it sees, wins or loses for certain."""

    def __init__(self, length: int, black_wins: float) -> None:
        def answer(planes: Any, global_inputs: Any, symmetry: int) -> Answer:
            is_black = global_inputs[5] < 0  # komi is positive for White
            wins = black_wins if is_black else -black_wins
            return Answer(policy=np.zeros(length * length + 1, np.float32), win_loss=wins, score_stdev=1.0)

        super().__init__(length, answer)

    pass_alive_suicide = False

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("black_wins", "result"), [(0.97, "B+R"), (-0.97, "W+R")])
def test_who_sees_no_hope_resigns(black_wins: float, result: str) -> None:
    text = match_text(bSizes=7, resignThreshold=-0.9, resignConsecTurns=3, komiMean=7, komiStdev=0)
    game = play(orders(1, text, NET, OTHER), load=lambda network, length: OneSided(length, black_wins))[0]
    record = read(game.sgf)
    assert record.result == result
    assert game.facts.resigned
    assert game.facts.winner == result[0]
    assert game.facts.score == 0
    # on 49 points resignation begins with the searched move 10 (from 0); the loser's own move has to come
    first = 11 if result == "W+R" else 12
    assert game.facts.game_length == first
    assert len(record.moves) == first - 1
    assert record.resignation is not None


def test_nobody_resigns_where_that_is_off() -> None:
    text = match_text(bSizes=4, allowResignation=False)
    game = play(orders(1, text, NET, OTHER), load=lambda network, length: OneSided(length, 0.97))[0]
    assert not game.facts.resigned


def options_of(module: Any, *words: object) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    return parser.parse_args([str(word) for word in words])


@pytest.fixture
def no_net(monkeypatch: pytest.MonkeyPatch) -> None:
    """Games are played by scripted evaluators, whatever the network."""

    def loader(device: str, threads: int, precision: object) -> Any:
        assert (device, threads) == ("cpu", 1)
        return lambda network, length: OpinionatedEvaluator(length)

    monkeypatch.setattr(local, "evaluator_loader", loader)


@pytest.mark.usefixtures("no_net")
def test_the_selfplay_command_fills_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "tiny.cfg"
    config.write_text(selfplay_text())
    folders = [tmp_path / "first", tmp_path / "second", tmp_path / "third"]
    for folder, seed in zip(folders, (7, 7, 8), strict=True):
        words = ("--model", "random", "--config", config, "--games", 5, "--seed", seed, "--output", folder)
        assert command.run(options_of(command, *words)) == 0
    assert "5 games" in capsys.readouterr().out
    contents = [
        {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in folders
    ]
    assert contents[0] == contents[1]
    assert not contents[0].keys() & contents[2].keys()
    (sgfs,) = (folders[0] / "sgfs").glob("*.sgfs")
    (tdata,) = (folders[0] / "tdata").glob("*.npz")
    assert len(list(read_all(sgfs.read_bytes()))) == 5
    assert read_npz(tdata, length=5).count > 0
    assert "_" not in tdata.name


@pytest.mark.usefixtures("no_net")
def test_the_match_command_prints_a_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "tiny.cfg"
    config.write_text(match_text())
    file = tmp_path / "a-net.bin.gz"
    file.write_bytes(b"")
    words = ("--models", file, "random", "--config", config, "--games", 6, "--output", tmp_path / "games")
    assert match.run(options_of(match, *words)) == 0
    printed = capsys.readouterr().out
    assert "a-net against random: " in printed
    (sgfs,) = (tmp_path / "games" / "sgfs").glob("*.sgfs")
    games = list(read_all(sgfs.read_bytes()))
    assert sorted(game.black_name for game in games) == ["a-net"] * 3 + ["random"] * 3
    won = sum((game.result or "").startswith("B" if game.black_name == "a-net" else "W") for game in games)
    assert f"{won} won" in printed
    assert not (tmp_path / "games" / "tdata").exists()


@pytest.mark.parametrize(
    ("module", "words", "message"),
    [
        (command, ("--model", "nowhere.bin.gz"), "there is no network file nowhere.bin.gz"),
        (match, ("--models", "random", "random"), "two different networks"),
    ],
)
def test_what_cannot_be_played_is_told(
    module: Any, words: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "tiny.cfg"
    config.write_text(selfplay_text())
    rest = ("--config", config, "--games", 1, "--output", tmp_path / "games")
    assert module.run(options_of(module, *words, *rest)) == 1
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("no_net")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_file_that_only_changes_some_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], encoding: str
) -> None:
    config = tmp_path / "small.cfg"
    config.write_text(
        "bSizes = 5\nbSizeRelProbs = 1\nmaxVisits = 4\ncheapSearchVisits = 2\nreducedVisitsMin = 2\n"
        "maxMovesPerGame = 10\n",
        encoding=encoding,
    )
    rest = ("--config", config, "--games", 1, "--output", tmp_path / "games")
    assert command.run(options_of(command, "--model", "random", *rest)) == 0
    printed = capsys.readouterr().out
    assert f"{config} gives what differs from selfplay.cfg" in printed
    assert len(list((tmp_path / "games" / "sgfs").glob("*.sgfs"))) == 1


@pytest.mark.parametrize(
    ("module", "text", "message"),
    [
        (command, "maxVisit = 4", "line 1: unknown key maxVisit; is it maxVisits?"),
        (command, "\nbSizes = 99", "line 2: bSizes: 99 is not within 2 to 19"),
        (command, "maxVisits = 20", "cheapSearchVisits = 100 is more than maxVisits = 20"),
        (match, "resignTreshold = 0", "line 1: unknown key resignTreshold; is it resignThreshold?"),
        (match, "cheapSearchVisits = 5", "line 1: unknown key cheapSearchVisits"),
    ],
)
def test_changes_that_do_not_hold(
    module: Any, text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    models = ("--model", "random") if module is command else ("--models", "random", str(tmp_path / "a.bin.gz"))
    (tmp_path / "a.bin.gz").write_bytes(b"")
    config = tmp_path / "small.cfg"
    config.write_text(text)
    rest = ("--config", config, "--games", 1, "--output", tmp_path / "games")
    assert module.run(options_of(module, *models, *rest)) == 1
    error = capsys.readouterr().err
    assert f"{config}: {message}" in error
    assert "is missing" not in error


@pytest.mark.parametrize("count", ["0", "-1", "1.5", "nan", "many", "1" + "0" * 30, "9" * 5000])
def test_a_count_is_a_whole_number_from_one(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--games", "--parallel-games", "--threads"):
        with pytest.raises(SystemExit):
            options_of(command, "--model", "random", "--config", "c", "--output", "o", "--games", "1", option, count)
        told = capsys.readouterr().err
        assert re.search(f"argument {option}: must be a whole number from 1 to [0-9,]+, not '{count[:40]}'", told)


@pytest.mark.usefixtures("no_net")
def test_the_same_folder_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "tiny.cfg"
    config.write_text(selfplay_text())
    words = ("--model", "random", "--config", config, "--games", 1, "--output", tmp_path / "games")
    assert command.run(options_of(command, *words)) == 0
    assert command.run(options_of(command, *words)) == 1
    assert "take another --seed or --output" in capsys.readouterr().err
