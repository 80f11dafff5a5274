"""The embedded PostgreSQL: one owner, stale files, nothing that outlives its block."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import psycopg2  # type: ignore[import-untyped]
import pytest

from server import database


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the database's user can reach, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="tengen-pg-") as name:
        yield Path(name) / "postgres"
        database.stop(Path(name) / "postgres")


def ask(url: str) -> int:
    connection = psycopg2.connect(url)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 40 + 2")
            return int(cursor.fetchone()[0])
    finally:
        connection.close()


def test_start_use_stop_and_start_again(folder: Path) -> None:
    assert not database.is_running(folder)
    database.stop(folder)  # nothing to stop is fine
    with database.running(folder) as url:
        assert ask(url) == 42
        with database.running(folder) as same:
            assert same == url
        assert database.is_running(folder), "whoever found it running leaves it running"
    assert not database.is_running(folder)

    # What a killed server leaves: a pid file, whose number has gone to another process.
    (folder / "postmaster.pid").write_text(
        "\n".join([str(os.getpid()), str(folder), "1700000000", "5432", str(folder), "", "1 1", "ready"])
    )
    assert not database.is_running(folder)
    assert ask(database.start(folder, durable=False)) == 42
    (folder / "postmaster.pid.copy").write_text((folder / "postmaster.pid").read_text())
    database.stop(folder)
    (folder / "postmaster.pid").write_text("12")
    assert ask(database.start(folder)) == 42


def test_a_killed_server_that_nobody_collected_does_not_run(folder: Path) -> None:
    database.start(folder, durable=False)
    pid = int((folder / "postmaster.pid").read_text().split()[0])
    os.kill(pid, signal.SIGKILL)
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        os.sched_yield()
    assert not database.is_running(folder)
