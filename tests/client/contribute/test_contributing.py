"""The parent process as a whole, with streams that are made up: what goes wrong in it, and what it counts."""

from __future__ import annotations

import argparse
import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests
from rich.console import Console

from client.contribute import command
from client.contribute.console import VolunteerConsole
from client.contribute.messages import Activity, FromChild, Progress, Spooled
from client.contribute.settings import add_arguments, load_settings
from client.contribute.spool import Spool
from client.devices import Stream
from tests.client.contribute.answers import SERVER, Answering, Answers, taken
from tests.client.contribute.test_sending import RUN

WITHIN_S = 60.0


class MadeUpStreams:
    """Stands for the group of children: follows a script of what happens while the parent listens."""

    script: list[Callable[[MadeUpStreams], None]]
    last: list[FromChild]

    def __init__(
        self, streams: Any, main: Any, settings: Any, hear: Callable[[Any, FromChild], None], *_: Any, **__: Any
    ) -> None:
        self.hear = hear
        self.processes: list[Any] = []
        self.stopped = threading.Event()

    def say(self, message: FromChild) -> None:
        self.hear(argparse.Namespace(stream=Stream("cpu0", "cpu", 1, None, 1)), message)

    def alive(self) -> int:
        return len(self.script)

    def usable(self) -> bool:
        return True

    def listen(self, timeout: float) -> None:
        self.script.pop(0)(self)

    def stop(self) -> None:
        self.stopped.set()

    def kill(self) -> None:
        for message in self.last:
            self.say(message)

    def kill_now(self) -> None: ...


class Played:
    """One run of the parent, its exit code and its lines."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *answers: Answering) -> None:
        monkeypatch.setattr(command, "StreamGroup", MadeUpStreams)
        monkeypatch.setattr(command, "ensure_compiled", lambda report: None)
        parser = argparse.ArgumentParser()
        add_arguments(parser)
        words = ["--server-url", SERVER, "--username", "anna", "--password", "x", "--data-dir", str(folder)]
        settings = load_settings(parser.parse_args(words), {})
        text = io.StringIO()
        console = VolunteerConsole(Console(file=text, width=80))
        with requests.Session() as session:
            session.mount("http://", Answers((200, RUN, {}), *answers))
            streams = [Stream("cpu0", "cpu", 1, None, 1)]
            self.code = command.Contributor(settings, streams, session, console).run()
        self.lines = [line[9:] for line in text.getvalue().splitlines()]


def add_games(folder: Path, count: int) -> None:
    spool = Spool(folder / "spool")
    for number in range(count):
        uid = f"{number:032X}"
        spool.add("training", SERVER, {"kg_game_uid": uid}, {"sgf_file": (f"{uid}.sgf", b"(;)")})


def fault(streams: MadeUpStreams) -> None:
    raise ZeroDivisionError("what nobody foresaw")


def a_game(streams: MadeUpStreams) -> None:
    streams.say(Spooled("training", 10))


@pytest.mark.timeout(WITHIN_S)
def test_the_last_line_counts_every_game_that_was_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_games(tmp_path, 7)
    MadeUpStreams.script = [a_game] * 4
    MadeUpStreams.last = [Spooled("training", 10), Spooled("rating", 0), Spooled("training", 10)]
    played = Played(tmp_path, monkeypatch, *[taken] * 7)
    assert played.code == 0
    last = played.lines[-1]
    assert last.startswith("7 games finished in ")
    assert "(6 self-play, 1 matches, 60 rows); 0 running, 0 to send, 7 sent, 0 refused" in last


@pytest.mark.timeout(WITHIN_S)
def test_an_unforeseen_fault_of_the_listening_is_a_line_and_the_games_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_games(tmp_path, 2)
    monkeypatch.setattr(command, "LISTEN_S", 0.01)
    MadeUpStreams.script = [fault, a_game, fault, a_game]
    MadeUpStreams.last = []
    played = Played(tmp_path, monkeypatch, *[taken] * 2)
    told = [line for line in played.lines if "ZeroDivisionError: what nobody foresaw" in line]
    assert len(told) == 2
    assert (tmp_path / command.ERRORS_FILE).read_text().count("Traceback") == 2
    assert "2 sent" in played.lines[-1]


@pytest.mark.timeout(WITHIN_S)
def test_an_unforeseen_fault_of_the_sending_is_a_line_and_the_games_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_games(tmp_path, 3)
    MadeUpStreams.script = [a_game]
    MadeUpStreams.last = []
    played = Played(tmp_path, monkeypatch, ArithmeticError("odd"), *[taken] * 3)
    (told,) = [line for line in played.lines if "ArithmeticError: odd" in line]
    assert told.startswith("what sends games met an unforeseen error and goes on")
    assert played.lines[-1].endswith("0 to send, 3 sent, 0 refused; 0 evaluations/s")


@pytest.mark.timeout(WITHIN_S)
def test_a_fault_that_stays_does_not_hold_up_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_games(tmp_path, 3)
    MadeUpStreams.script = [a_game]
    MadeUpStreams.last = []
    played = Played(tmp_path, monkeypatch, *[ArithmeticError("odd")] * 9)
    assert "3 to send, 0 sent" in played.lines[-2]
    assert played.lines[-1].startswith("3 finished games wait in ")


@pytest.mark.timeout(WITHIN_S)
def test_compiling_is_told_when_it_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiling = Progress(0, 0, 0, Activity.COMPILING)
    MadeUpStreams.script = [lambda streams: streams.say(compiling)] * 3
    MadeUpStreams.last = []
    played = Played(tmp_path, monkeypatch)
    assert [line for line in played.lines if line.startswith("cpu0: compiling, which takes some minutes")] != []
    assert sum(line.startswith("cpu0: compiling") for line in played.lines) == 1
