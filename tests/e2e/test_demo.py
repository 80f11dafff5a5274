"""The demo's command line and its watch over the database; the programs themselves are tested in ``test_circle``."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import django.db
import psycopg2  # type: ignore[import-untyped]
import pytest
from rich.console import Console

from deploy import demo, status
from deploy.installation import Installation, SetupError


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """The demo takes the signals of its process; give them back."""
    before = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    yield
    for number, handler in before:
        signal.signal(number, handler)


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line with which the demo refuses."""
    assert demo.main(arguments) == 1
    (line,) = capsys.readouterr().out.splitlines()
    return line


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("--port", value) for value in ("99999", "65536", "-5", "http")),
        *(("--hours", value) for value in ("nan", "inf", "-1", "0", "long")),
    ],
)
def test_impossible_numbers_are_refused_before_anything_is_made(
    option: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        demo.main(["--data", str(tmp_path / "demo"), option, value])
    assert ended.value.code == 2
    assert f"argument {option}: '{value}' is not" in capsys.readouterr().err
    assert not (tmp_path / "demo").exists()


def test_a_folder_that_cannot_be_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.touch()
    for folder, why in ((file, "it is no folder"), (file / "below", "Not a directory"), (Path("/proc/xx"), "No such")):
        line = said(["--data", str(folder)], capsys)
        assert line.startswith(f"the demo cannot go on: --data {folder} cannot be used: {why}")
        assert line.endswith("name a folder that can be made or written")


def test_a_taken_port_is_said_before_the_set_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        line = said(["--data", str(tmp_path), "--port", str(port)], capsys)
        assert line == f"the demo cannot go on: port {port} is taken; choose another with --port"
        with demo._only_one(tmp_path):  # one that runs in the same folder has a message of its own
            assert "another one runs in" in said(["--data", str(tmp_path), "--port", str(port)], capsys)
    assert not (tmp_path / "logs").exists()


def test_whatever_happens_is_one_line_and_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> int:
        raise ZeroDivisionError("of all\nthings [red]")

    monkeypatch.setattr(demo, "run", fail)
    details = tmp_path / "demo-error.log"
    line = said(["--data", str(tmp_path), "--port", "0"], capsys)
    assert line == f"the demo cannot go on: ZeroDivisionError: of all things [red] (details: {details})"
    assert "Traceback" in details.read_text()


@pytest.fixture
def installation() -> Iterator[Installation]:
    """One with a running database, in a folder that the database's user can reach, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="tengen-demo-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        made = Installation(Path(name))
        made.start_database()
        yield made
        made.stop_database()


def postmaster(installation: Installation) -> int:
    return int((installation.folder / "postgres" / "postmaster.pid").read_text().split()[0])


def test_a_killed_database_is_started_again_and_the_watch_goes_on(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = installation.environment()["DATABASE_URL"]
    open_connection, killed, stop = psycopg2.connect(url), postmaster(installation), threading.Event()
    looks: list[int] = []

    def look() -> status.RunStatus | None:
        if not looks:
            os.kill(killed, signal.SIGKILL)
        looks.append(postmaster(installation))
        if looks[-1] != killed:
            stop.set()
        return None

    monkeypatch.setattr(demo, "_status", look)
    demo._watch(installation, [], 0.05, stop, Console())
    assert stop.is_set(), "the hours ended first"
    assert capsys.readouterr().out == "the database is away; it is started again\n"
    assert installation.environment()["DATABASE_URL"] == url
    open_connection.close()
    psycopg2.connect(url).close()


def test_a_database_that_cannot_be_started_ends_the_demo_with_its_log(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation.stop_database()
    (installation.folder / "postgres" / "PG_VERSION").write_text("9\n")
    monkeypatch.setattr(demo, "DATABASE_WITHIN_S", 0.0)
    with pytest.raises(SetupError, match=r"PostgreSQL does not start .*postgres/log"):
        demo._keep_database(installation, threading.Event(), Console(quiet=True))
    (installation.folder / "postgres" / "PG_VERSION").write_text("18\n")


@pytest.mark.parametrize("error", [django.db.InterfaceError, django.db.OperationalError])
def test_a_status_without_an_answer_is_none_and_the_next_look_gets_a_new_connection(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = []

    def fail(_: str) -> status.RunStatus:
        raise error("connection already closed")

    monkeypatch.setattr(status, "read_status", fail)
    monkeypatch.setattr(django.db.connections, "close_all", lambda: closed.append(True))
    assert demo._status() is None
    assert closed


def test_the_database_is_stopped_when_anything_fails(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Installation, "set_up", fail)
    with pytest.raises(ZeroDivisionError):
        demo.run(installation.folder, 0, None, threading.Event(), Console(quiet=True))
    assert not installation.database_runs()
