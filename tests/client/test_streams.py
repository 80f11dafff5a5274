"""Children and signals: a stop signal to the whole group ends nobody but by the parent's word."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from client import __main__ as program
from client import streams
from client.contribute.child import ChildSettings, Player, child_main
from client.contribute.messages import FromChild, Job, Spooled
from client.devices import Stream
from client.streams import Failed, StreamGroup, StreamProcess, Want

WITHIN_S = 60.0


class Group:
    """One child that gets no games, and what was heard of it."""

    def __init__(
        self,
        folder: Path,
        clock: Callable[[], float] = time.monotonic,
        main: Callable[..., None] = child_main,
    ) -> None:
        self.messages: list[FromChild] = []
        self.lines: list[str] = []
        self.is_stopping = False
        self.lost = 0
        self.group = StreamGroup(
            [Stream("cpu0", "cpu", 1, None, 1)],
            main,
            ChildSettings(folder, "http://server"),
            self.hear,
            self.lines.append,
            stopping=lambda: self.is_stopping,
            lost=self.lose,
            clock=clock,
        )

    def hear(self, process: StreamProcess, message: FromChild) -> None:
        self.messages.append(message)

    def lose(self, process: StreamProcess) -> None:
        self.lost += 1

    def signal(self, *numbers: int) -> None:
        pid = self.group.processes[0].process.pid
        assert pid is not None
        for number in numbers:
            os.kill(pid, number)

    def listen_until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WITHIN_S
        while not condition():
            assert time.monotonic() < deadline, (self.messages, self.lines)
            self.group.listen(0.1)


def test_stop_signals_do_not_end_a_child(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    played = Group(tmp_path)
    try:
        played.signal(signal.SIGTERM, signal.SIGINT)  # while the interpreter starts
        played.listen_until(lambda: Want(1) in played.messages)
        played.signal(signal.SIGTERM, signal.SIGINT)  # while it plays
        assert played.group.alive() == 1
        played.is_stopping = True
        played.group.stop()
        played.listen_until(lambda: not played.group.alive())
        assert played.group.processes[0].process.exitcode == 0
    finally:
        played.group.kill()
    assert played.lines == []
    assert capfd.readouterr().err == ""
    # nothing is held back in this process
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, []) & {signal.SIGINT, signal.SIGTERM}


def test_a_child_that_dies_is_started_again_only_while_games_are_wanted(tmp_path: Path) -> None:
    played = Group(tmp_path)
    try:
        first = played.group.processes[0].process.pid
        played.signal(signal.SIGKILL)
        played.listen_until(lambda: bool(played.lines))
        assert played.lines == ["cpu0: ended unexpectedly (exit code -9), started again"]
        assert played.group.processes[0].process.pid != first
        played.is_stopping = True
        played.signal(signal.SIGKILL)
        played.listen_until(lambda: played.group.processes[0].pipe.closed)
        assert played.group.alive() == 0
        assert len(played.lines) == 1
    finally:
        played.group.kill()


def last_words(pipe: Connection, stream: Stream, settings: ChildSettings) -> None:
    """A child that says a lot and ends."""
    for _ in range(50):
        pipe.send(Spooled("training", 1))
    pipe.close()


def half_a_word(pipe: Connection, stream: Stream, settings: ChildSettings) -> None:
    """A child that is killed while it speaks."""
    pipe.send(Spooled("training", 1))
    os.write(pipe.fileno(), b"\x00\x00\x10\x00half")
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(("entry", "count"), [(last_words, 50), (half_a_word, 1)])
@pytest.mark.parametrize("listens", [True, False])
def test_the_last_words_of_a_child_are_heard(
    tmp_path: Path, entry: Callable[..., None], count: int, listens: bool
) -> None:
    played = Group(tmp_path, main=entry)
    played.is_stopping = True
    process = played.group.processes[0].process
    process.join(WITHIN_S)
    if listens:
        played.listen_until(lambda: played.group.processes[0].pipe.closed)
    played.group.kill()
    assert played.messages == [Spooled("training", 1)] * count
    assert played.lost == 1
    assert played.lines == []


def test_a_child_that_cannot_be_started_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    played = Group(tmp_path, clock=lambda: now)
    start = streams._start

    def no_room(*_: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    try:
        monkeypatch.setattr(streams, "_start", no_room)
        played.signal(signal.SIGKILL)
        played.listen_until(lambda: len(played.lines) == 2)
        assert "cannot be started ([Errno 11] Resource temporarily unavailable), tried again" in played.lines[1]
        assert played.group.alive() == 1  # it is to be waited for
        played.group.listen(0)
        assert len(played.lines) == 2
        monkeypatch.setattr(streams, "_start", start)
        now += streams.RETRY_START_S
        played.group.listen(0)
        assert played.group.processes[0].process.is_alive()
        played.is_stopping = True
        played.signal(signal.SIGKILL)
        played.listen_until(lambda: played.group.alive() == 0)
    finally:
        played.group.kill()


class Pipe:
    """The child's end of a pipe, which hears one thing."""

    def __init__(self, heard: object) -> None:
        self._heard = [heard]
        self.said: list[FromChild] = []

    def poll(self, timeout: float) -> bool:
        return True

    def recv(self) -> object:
        return self._heard.pop() if self._heard else _end()

    def send(self, message: FromChild) -> None:
        self.said.append(message)


def _end() -> object:
    raise EOFError


def test_a_child_that_does_not_understand_says_so_and_ends(tmp_path: Path) -> None:
    pipe = Pipe(Job("no task", {}, 4, 1, 7))  # type: ignore[arg-type]  # what nobody foresaw
    player = Player(pipe, Stream("cpu0", "cpu", 1, None, 1), ChildSettings(tmp_path, "u"))  # type: ignore[arg-type]
    player.play()
    assert [message.text for message in pipe.said if isinstance(message, Failed)] != []


@pytest.mark.parametrize("swallowed", [False, True])
def test_ctrl_c_while_a_command_is_imported_ends_quietly(tmp_path: Path, swallowed: bool) -> None:
    line = "signal.raise_signal(signal.SIGINT)"
    body = f"try: {line}\nexcept BaseException: pass\n" if swallowed else f"{line}\n"
    (tmp_path / "slow_to_import.py").write_text("import signal\n" + body)
    code = (
        "import sys; from client import __main__ as program; sys.path.append(sys.argv[1]);"
        "program.COMMANDS['slow'] = ('slow_to_import', ''); sys.exit(program.guarded(['slow']))"
    )
    ended = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, check=False, timeout=WITHIN_S)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"ended by Ctrl-C\n")


def test_ctrl_c_before_there_are_games_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(arguments: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "main", interrupted)
    assert program.guarded([]) == 130
