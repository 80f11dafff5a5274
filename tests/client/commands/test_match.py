"""The commands that play on this machine: folders of self-play, matches, and what is said of texts that do not hold."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import pytest

from client.commands import match
from client.commands import selfplay as command
from client.selfplay.ledger import lock_run
from common.precision import Precision
from common.rows import read_npz
from common.sgf import read_all
from tests.client.games.games import match_text, selfplay_text
from tests.client.selfplay.threads import threads

__all__ = ["threads"]


def options_of(module: Any, *words: object) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    return parser.parse_args([str(word) for word in words])


HERE = ("--gpus", "cpu", "--cpu-streams", 1)


@pytest.mark.usefixtures("threads")
def test_the_selfplay_command_fills_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "tiny.cfg"
    config.write_text(selfplay_text())
    folders = [tmp_path / "first", tmp_path / "second", tmp_path / "third"]
    for folder, seed in zip(folders, (7, 7, 8), strict=True):
        words = ("--model", "random", "--config", config, "--games", 5, "--seed", seed, "--output", folder, *HERE)
        assert command.run(options_of(command, *words)) == 0
    assert "5 games" in capsys.readouterr().out
    contents = [
        {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("random/*/*")} for folder in folders
    ]
    assert contents[0] == contents[1]
    assert not contents[0].keys() & contents[2].keys()
    (sgfs,) = (folders[0] / "random" / "sgfs").glob("*.sgfs")
    (tdata,) = (folders[0] / "random" / "tdata").glob("*.npz")
    assert len(list(read_all(sgfs.read_bytes()))) == 5
    assert read_npz(tdata, length=5).count > 0
    assert "_" not in tdata.name


@pytest.mark.parametrize(
    ("module", "words", "message"),
    [
        (command, ("--model", "nowhere.bin.gz"), "there is no network file nowhere.bin.gz"),
        (match, ("--models", "random", "random"), "both players are alike: give two networks, or settings that differ"),
        (match, ("--models", "random"), "give two networks by --models, or one with --program"),
        (match, ("--models", "nowhere.bin.gz", "random"), "there is no network file nowhere.bin.gz"),
        (
            match,
            ("--models", "random", "random", "--use-fp16", "auto", "false", "true"),
            "--use-fp16 takes one word for each network",
        ),
    ],
)
def test_what_cannot_be_played_is_told(
    module: Any, words: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "tiny.cfg"
    config.write_text(selfplay_text() if module is command else match_text())
    rest = ("--config", config, "--games", 1, "--output", tmp_path / "games")
    assert module.run(options_of(module, *words, *rest)) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [(("auto", "false"), ("auto", "false")), (("false",), ("false", "false")), ((), ("auto",) * 2)],
)
def test_players_may_differ_in_precision_alone(
    words: tuple[str, ...], expected: tuple[str, str], tmp_path: Path
) -> None:
    config = tmp_path / "tiny.cfg"
    config.write_text(match_text() + "maxVisits1 = 3\n" if words != ("auto", "false") else match_text())
    rest = ("--config", config, "--games", 1, "--output", tmp_path, *(("--use-fp16", *words) if words else ()))
    setup = match.setup_of(options_of(match, "--models", "random", "random", *rest))
    assert setup.precisions == tuple(map(Precision, expected))


@pytest.mark.usefixtures("threads")
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
    rest = ("--config", config, "--games", 1, "--output", tmp_path / "games", *HERE)
    assert command.run(options_of(command, "--model", "random", *rest)) == 0
    printed = capsys.readouterr().out
    assert f"{config} gives what differs from selfplay.cfg" in printed
    assert len(list((tmp_path / "games" / "random" / "sgfs").glob("*.sgfs"))) == 1


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


def test_keys_without_a_meaning_in_the_whole_text_of_a_match(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "whole.cfg"
    config.write_text(f"friendlyPassOk = true\nnumGamesTotal = 5\n{match_text()}maxVisits1 = 3\nmaxVisits2 = 4\n")
    end = config.read_text().count("\n")
    words = ("--models", "random", "random", "--config", config, "--games", 1, "--output", tmp_path)
    setup = match.setup_of(options_of(match, *words, "--override", "maxVisits=7"))
    assert [bot.max_visits for bot in setup.config.bots] == [7, 3]
    assert capsys.readouterr().out.splitlines() == [
        f"{config}: line 1: unknown key friendlyPassOk is ignored",
        f"{config}: line {end}: unknown key maxVisits2 is ignored; is it maxVisits?",
    ]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("maxVisit1=3", "--override: line 1: unknown key maxVisit1; is it maxVisits?"),
        ("maxVisits2=3", "--override: line 1: unknown key maxVisits2; is it maxVisits?"),
        ("maxVisits1=none", "--override: line 1: maxVisits: 'none' is not"),
    ],
)
def test_overrides_of_a_match_that_do_not_hold(
    override: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--models", "random", "random", "--games", 1, "--output", tmp_path, "--override", override)
    assert match.run(options_of(match, *words)) == 1
    assert message in capsys.readouterr().err


GATEKEEPER = "komiAuto = true\nhandicapProb = 0.5\ninitGamesWithPolicy = true\npolicyInitAreaProp = 0.04\n"


def test_what_a_match_does_otherwise_is_refused_only_if_no_option_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, record = tmp_path / "gatekeeper.cfg", tmp_path / "opening.sgf"
    lines = [line for line in match_text().splitlines() if not line.startswith(("komi", "handicap", "initGames"))]
    config.write_text("\n".join([*lines, "maxVisits1 = 3", GATEKEEPER]))
    record.write_text("(;GM[1]FF[4]SZ[5]KM[3.5]RU[tromp-taylor];B[cc])")
    words: tuple[object, ...] = ("--models", "random", "random", "--config", config, "--games", 1, "--output", tmp_path)
    for options, refused in (
        ((), "komiAuto"),
        (("--komi", 2.5), "handicapProb"),
        (("--komi", 2.5, "--override", "handicapProb=0"), "initGamesWithPolicy"),
        (("--override", "handicapProb=0", "--policy-moves", 2), "komiAuto"),
        (("--openings", record), "initGamesWithPolicy"),
    ):
        assert match.run(options_of(match, *words, *options)) == 1
        assert f"{config}: {refused}: not in matches of this command" in capsys.readouterr().err
    by_option = match.setup_of(options_of(match, *words, "--openings", record, "--policy-moves", 2))
    assert by_option.openings.start_of(0).rules.komi == 3.5
    words += ("--policy-moves", 2, "--override", "handicapProb=0")
    assert match.setup_of(options_of(match, *words, "--komi", 2.5)).openings.start_of(0).rules.komi == 2.5
    by_text = match.setup_of(options_of(match, *words, "--override", "komiMean=4.5,komiStdev=0,komiBigStdevProb=0"))
    assert by_text.config.init.komi_mean == 4.5
    assert not by_text.config.init.komi_auto


@pytest.mark.parametrize("count", ["0", "-1", "1.5", "nan", "many", "1" + "0" * 30, "9" * 5000])
def test_a_count_is_a_whole_number_from_one(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--games", "--parallel-games", "--cpu-streams"):
        with pytest.raises(SystemExit):
            options_of(command, "--model", "random", "--config", "c", "--output", "o", "--games", "1", option, count)
        told = capsys.readouterr().err
        assert re.search(f"argument {option}: must be a whole number from 1 to [0-9,]+, not '{count[:40]}'", told)


@pytest.mark.usefixtures("threads")
def test_the_same_command_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "tiny.cfg"
    config.write_text(selfplay_text())
    output = tmp_path / "games"
    words = ("--model", "random", "--config", config, "--output", output, *HERE, "--games")
    assert command.run(options_of(command, *words, 1)) == 0
    (records,) = (output / "random" / "sgfs").glob("*.sgfs")
    first = records.read_bytes()
    for _ in range(2):
        assert command.run(options_of(command, *words, 2)) == 0
        assert f"{output} has " in capsys.readouterr().out
    both = records.read_bytes()
    assert both.startswith(first)
    assert len(list(read_all(both))) == 2
    assert command.run(options_of(command, *words, 2, "--override", "maxVisits=11")) == 1
    told = capsys.readouterr().err
    assert "holds games of seed 0 that were played otherwise" in told
    assert "config, maxVisits: 10 there, 11 here" in told
    assert "name another --seed or --output" in told
    with lock_run(output, 0):
        assert command.run(options_of(command, *words, 2)) == 1
    assert "games of this seed are being played there; name another --seed or --output" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name a folder for the games by --output"),
        (("--output", "o"), "name a network by --model (random for none), or a folder of them by --models-dir"),
        (("--output", "o", "--model", "random", "--gpus", "some"), "'some' is not a GPU number"),
        (("--output", "o", "--model", "random", "--config", "none.cfg"), "none.cfg: No such file or directory"),
        (
            ("--output", "FILE/below", "--model", "random"),
            "FILE/below cannot be written: Not a directory",
        ),
        (("--stats", "nowhere"), "nowhere has no files of games"),
    ],
)
def test_what_selfplay_lacks_is_told(
    words: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert command.run(options_of(command, "--gpus", "cpu", *(word.replace("FILE", str(file)) for word in words))) == 1
    assert message.replace("FILE", str(file)) in capsys.readouterr().err


def test_selfplay_says_what_it_would_play(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--print-config", "--config", "today_7x7", "--override", "maxVisits=61")
    assert command.run(options_of(command, *words)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "maxVisits = 61  # --override" in lines
    assert any(line.startswith("bSizes = 7  # today_7x7, line ") for line in lines)
    assert any(line.startswith("komiAuto = true  # today, line ") for line in lines)
