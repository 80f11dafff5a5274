"""The command line: options with one dash, as programs that know KataGo write them, and with two (engine.md 9)."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from client import __main__ as program
from client.commands import analysis, gtp
from client.commands.engine_options import layers_of
from common.wire import CLIENT_VERSION

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
