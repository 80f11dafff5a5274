"""The command line: options with one dash, as programs that know KataGo write them, and with two (engine.md 9)."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from client import __main__ as program
from client import processes
from client.commands import analysis, gtp
from client.commands.engine_options import layers_of
from common.wire import CLIENT_VERSION
from tests import FIXTURES

MINI = FIXTURES / "nets" / "mini-nbttflrs-fson-silu-rsnh.bin.gz"
ENGINES = {"gtp": gtp, "analysis": analysis}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the engines are started with, instead of starting them."""
    options: list[Any] = []

    def run(given: Any) -> int:
        options.append(given)
        return 0

    for module in ENGINES.values():
        monkeypatch.setattr(module, "run", run)
    return options


def ended(*words: str) -> int:
    """The exit code of a command that ends while it reads its options."""
    with pytest.raises(SystemExit) as end:
        program.main(words)
    assert isinstance(end.value.code, int)
    return end.value.code


@pytest.mark.parametrize("word", ["-h", "-help", "--help"])
@pytest.mark.parametrize("command", program.COMMANDS)
def test_help_with_one_dash_and_with_two(command: str, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(command, word) == 0
    told = capsys.readouterr()
    assert told.out.startswith("usage: ")
    assert "-help, --help" in told.out
    assert told.err == ""


@pytest.mark.parametrize("word", ["-h", "-help", "--help"])
def test_help_without_a_command_lists_them(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main([word]) == 0
    assert capsys.readouterr().out == f"{program.overview()}\n"


@pytest.mark.parametrize("word", ["-version", "--version"])
@pytest.mark.parametrize("command", [[], ["gtp"], ["analysis"]])
def test_the_version(command: list[str], word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert (ended(*command, word) if command else program.main([word])) == 0
    assert capsys.readouterr().out == f"tengen client {CLIENT_VERSION}\n"


@pytest.mark.parametrize("module", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize(
    "words",
    [
        ["-model", "N", "-config", "A", "-override-config", "maxVisits=5, maxTime=2", "-override-config", "maxTime=3"],
        ["-override-config=maxVisits=5", "-override-config=maxTime=3", "-config=A", "-model=N"],
        ["--config", "A", "--override-config", "maxVisits=5,maxTime=3", "--model", "N"],
    ],
)
def test_options_in_any_order_and_form(module: ModuleType, words: list[str], seen: list[Any]) -> None:
    name = next(name for name, each in ENGINES.items() if each is module)
    assert program.main([name, *words]) == 0
    options = seen[0]
    assert (options.model, [str(path) for path in options.config]) == ("N", ["A"])
    options.config = []
    merged: dict[str, str] = {}
    for layer in layers_of(options):
        merged |= {key: entry.value for key, entry in layer.items()}
    assert merged == {"maxVisits": "5", "maxTime": "3"}


@pytest.mark.parametrize("command", ENGINES)
@pytest.mark.parametrize("word", ["-homeDataDir", "-nothing", "--nothing", "-help=x"])
def test_a_word_that_is_no_option_is_named(command: str, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An option of one letter would eat the beginning of others: "ignored explicit argument 'omeDataDir'"."""
    assert ended(command, "-model", "random", word) == 2
    assert word.partition("=")[0] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "words"),
    [("gtp", []), ("analysis", []), ("selfplay", []), ("match", ["--games", "1", "--output", "o"])],
)
def test_words_of_a_precision(command: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        ended(command, *words, "--model" if command != "match" else "--models", "random", "--use-fp16", "perhaps") == 2
    )
    assert "argument --use-fp16: must be auto, false or true, not 'perhaps'" in capsys.readouterr().err


@pytest.mark.parametrize("module", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize(
    ("model", "words", "message"),
    [
        ("FOLDER", [], "FOLDER is a folder, not a network file"),
        ("FOLDER/none.bin.gz", [], "there is no network file FOLDER/none.bin.gz"),
        ("FOLDER/cut.bin.gz", [], "cut.bin.gz: "),
        ("random", ["--device", "tpu"], "there is no device 'tpu'; say cpu"),
        ("random", ["-override-config", "maxVisits=many"], "maxVisits: "),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_loaded(
    module: ModuleType,
    model: str,
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(module, "Queries", None)  # is not reached
    (tmp_path / "cut.bin.gz").write_bytes(MINI.read_bytes()[:500])
    name = next(name for name, each in ENGINES.items() if each is module)
    assert program.main([name, "-model", model.replace("FOLDER", str(tmp_path)), *words]) == 2
    told = capsys.readouterr()
    assert message in told.err.replace(str(tmp_path), "FOLDER")
    assert told.err.count("\n") == 1
    assert told.out == ""


@pytest.mark.parametrize(
    "words",
    [
        ["selfplay", "--model", "NET", "--config", "7x7"],
        ["match", "--models", "NET", "random", "--games", "2"],
        ["match", "--models", "random", "NET", "--games", "2"],
    ],
)
def test_a_damaged_net_is_told_before_a_process_is_started(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(processes, "start_child", None)  # is not reached
    net = tmp_path / "cut.bin.gz"
    net.write_bytes(MINI.read_bytes()[:500])
    output = tmp_path / "games"
    words = [str(net) if word == "NET" else word for word in words]
    assert program.main([*words, "--gpus", "cpu", "--output", str(output)]) == 1
    told = capsys.readouterr()
    assert f"{words[0]}: cut.bin.gz: " in told.err
    assert "truncated" in told.err
    assert not output.exists()


def test_boards_beyond_the_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--model", "random", "--config", "7x7", "--length", "5", "--output", str(tmp_path)]
    assert program.main(["selfplay", *words]) == 1
    told = capsys.readouterr().err
    assert told == "selfplay: --length 5 is too short for the text's boards, which go up to 7 (bSizes)\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sprt", "5"], "--sprt: must be two numbers as in 0,20, not '5'\n"),
        (["--sprt", "5,x"], "--sprt: must be two numbers as in 0,20, not '5,x'\n"),
        (["--sprt", "5,0"], "--sprt: a sequential test needs two Elo differences, the lower first, not 5,0\n"),
        (["--rules", "martian"], "--rules: can not read 'martian'; give a name such as japanese, or a string such as"),
    ],
)
def test_each_fault_of_a_match_is_told_once(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended("match", "--models", "random", "random", "--games", "1", "--output", "o", *words) == 2
    assert f"argument {message}" in capsys.readouterr().err
