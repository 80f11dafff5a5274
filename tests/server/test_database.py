"""The embedded PostgreSQL: one owner, stale files, nothing that outlives its block."""

from __future__ import annotations

import os
import re
import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import psutil  # type: ignore[import-untyped]
import psycopg2  # type: ignore[import-untyped]
import pytest

from server import database
from server.settings import database_settings


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the database's user can reach, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="tengen-pg-") as name:
        yield Path(name) / "postgres"
        database.stop(Path(name) / "postgres")


def ask(url: str) -> int:
    """The answer of the server at ``url``, by the way of libpq and by Django's."""
    django = database_settings(url)
    ways = ({"dsn": url}, {"host": django["HOST"], "user": django["USER"], "dbname": django["NAME"]})
    answers = set()
    for way in ways:
        connection = psycopg2.connect(**way)
        with connection, connection.cursor() as cursor:
            cursor.execute("SELECT 40 + 2")
            answers.add(int(cursor.fetchone()[0]))
        connection.close()
    (answer,) = answers
    return answer


NAMES = (
    "my demo",
    "a&b",
    "what?",
    "a;b",
    "a,b",
    "it's",
    "50%",
    "%41%2c",
    "#1",
    "a=b+c",
    'so "called"',
    "$HOME",
    "`id`",
    "back\\slash",
    "(a) [b] {c}",
    "*",
    "~",
    "-D x",
    "@host:80",
    "盘面 é",
    "long" * 40,
    " edges ",
)
"""Names of folders: each has something that an address, libpq, a shell or a decoder may take for its own."""
TOGETHER = (
    "my a&b, what?; it's 50% %41%2c #1 @host:80 a=b+c",
    '-D $HOME `id` "so" \\ (a) [b] {c} * ~ ',
    "盘面 é " + "long" * 40,
)
"""The same in three names, for a start of each."""


@pytest.mark.parametrize("name", [*TOGETHER, *(pytest.param(name, marks=pytest.mark.slow) for name in NAMES)])
def test_a_folder_may_have_any_name(name: str, folder: Path) -> None:
    path = folder.parent / name / "postgres"
    expected = database.address(path)
    try:
        url = database.start(path, durable=False)
        assert url == expected == database.address(path)
        assert ask(url) == 42
        assert database.is_running(path)
        assert database.start(path) == url, "whoever comes later gets the same address"
    finally:
        database.stop(path)
    assert not database.is_running(path)
    assert path.exists()
    assert not Path(database_settings(expected)["HOST"]).exists(), "the socket's folder goes with the server"


@pytest.mark.parametrize("name", [*NAMES, *TOGETHER])
def test_an_address_leads_to_one_plain_short_folder(name: str, tmp_path: Path) -> None:
    found = database.address(tmp_path / name)
    assert urlsplit(found).query.removeprefix("host=") == database_settings(found)["HOST"]
    assert re.fullmatch(r"/[A-Za-z0-9_./-]{1,85}", database_settings(found)["HOST"])
    assert database.address(tmp_path / name / "other") != found


@pytest.mark.parametrize(
    ("name", "why"), [("two\nlines", "has a line break"), (os.fsdecode(b"caf\xe9"), "is not UTF-8")]
)
def test_a_folder_in_which_postgresql_cannot_work_is_refused_before_anything_is_made(
    name: str, why: str, folder: Path
) -> None:
    path = folder.parent / name
    with pytest.raises(RuntimeError, match=why):
        database.start(path / "postgres")
    assert not path.exists()


def test_a_socket_folder_of_somebody_else_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder.parent / "a,b" / "postgres"
    path.mkdir(parents=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder.parent))
    place = database._socket_folder(path)
    assert place.parent == folder.parent
    place.symlink_to(folder.parent)
    with pytest.raises(PermissionError, match=f"{place}.*belongs to somebody else"):
        database.start(path)


def test_one_of_two_who_start_at_once_starts_it(folder: Path) -> None:
    with ThreadPoolExecutor() as pool:
        urls = set(pool.map(lambda _: database.start(folder, durable=False), range(3)))
    assert ask(urls.pop()) == 42
    assert not urls


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
