"""What the server's programs say where secrets, a database or its tables are missing: one line that says what to do."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import ProgrammingError
from django.test import Client
from django.test.client import RequestFactory

from deploy.installation import ROOT
from server import database, environment
from server.api import handle_exception
from server.tables import MIGRATE, is_missing_table, missing_tables
from server.web.views import trouble
from tests.e2e.services import free_port

KEY = "long and random: 0123456789abcdefghijklmnopqrstuvwxyz"
NOWHERE = "postgresql://a:b@127.0.0.1:1/c"
MIGRATIONS = "python manage.py migrate"
PROGRAMS = {
    "manage.py": ["manage.py", "migrate"],
    "gunicorn": ["-m", "gunicorn", "server.wsgi", "--bind", "127.0.0.1:0"],
    "celery worker": ["-m", "celery", "-A", "server", "worker", "-Q", "audit"],
    "celery beat": ["-m", "celery", "-A", "server", "beat"],
}


def run(arguments: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    names = ("SECRET_KEY", "DATABASE_URL", "DATA_DIR", "DJANGO_SETTINGS_MODULE")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    return subprocess.run(
        [sys.executable, *arguments],
        env=kept | {"DATA_DIR": str(folder)} | variables,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def empty_database() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="tengen-empty-") as name:
        Path(name).chmod(0o755)
        yield database.start(Path(name) / "postgres", durable=False)
        database.stop(Path(name) / "postgres")


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, ["SECRET_KEY is not set", "DATABASE_URL is not set", "secrets.token_urlsafe"]),
        ({"SECRET_KEY": KEY}, ["DATABASE_URL is not set", "postgresql://user:password@host:port/name"]),
        ({"DATABASE_URL": NOWHERE}, ["SECRET_KEY is not set"]),
        ({"SECRET_KEY": "", "DATABASE_URL": ""}, ["SECRET_KEY is not set", "DATABASE_URL is not set"]),
        (
            {"SECRET_KEY": "change-me-to-50-random-characters", "DATABASE_URL": NOWHERE},
            ["SECRET_KEY is still the example's", "secrets.token_urlsafe"],
        ),
        ({"SECRET_KEY": "django-insecure-" + KEY, "DATABASE_URL": NOWHERE}, ["SECRET_KEY is still the example's"]),
        ({"SECRET_KEY": KEY[:49], "DATABASE_URL": NOWHERE}, ["SECRET_KEY is too short", "49 letters"]),
        ({"SECRET_KEY": "abcd" * 20, "DATABASE_URL": NOWHERE}, ["SECRET_KEY is too short"]),
        (
            {"SECRET_KEY": KEY, "DATABASE_URL": "postgresql://tengen:Secret@db/tengen"},
            ["the password in DATABASE_URL is an example's"],
        ),
        (
            {"SECRET_KEY": KEY, "DATABASE_URL": NOWHERE, "BROKER_URL": "amqp://tengen:change%2Dme@rabbitmq//"},
            ["the password in BROKER_URL is an example's"],
        ),
        ({"SECRET_KEY": KEY, "DATABASE_URL": NOWHERE, "SIGN_UP": "true"}, ["SIGN_UP needs EMAIL_URL"]),
    ],
)
def test_all_that_is_missing_is_said_at_once(
    variables: dict[str, str], words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SECRET_KEY", "DATABASE_URL", "BROKER_URL", "EMAIL_URL", "SIGN_UP", "VERIFY_EMAIL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured) as said:
        environment.check()
    assert all(word in str(said.value) for word in words)
    assert "\n" not in str(said.value)


@pytest.mark.parametrize(
    "variables",
    [
        {"SIGN_UP": "true", "VERIFY_EMAIL": "false"},
        {"SIGN_UP": "on", "EMAIL_URL": "smtp+tls://tengen:0a1b2c@mail.example.org:587"},
        {"SIGN_UP": "false", "BROKER_URL": "filesystem://"},
        {"DATABASE_URL": "postgresql://postgres:@/postgres?host=/tmp/x"},
    ],
)
def test_what_is_enough(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ({"SECRET_KEY": KEY, "DATABASE_URL": NOWHERE} | variables).items():
        monkeypatch.setenv(name, value)
    environment.check()


@pytest.mark.parametrize(
    ("address", "readable"),
    [
        ("tengen", False),
        ("localhost:5432/tengen", False),
        ("postgresql://", False),
        ("postgresql://localhost", False),
        ("postgresql://u:p@localhost:port/tengen", False),
        ("postgresql://u:p@[::1/tengen", False),
        ("postgresql://u:se#cret@localhost/tengen", False),
        ("postgresql://u:1#2@localhost/tengen", False),
        ("postgresql://u:se/cret@localhost/tengen", False),
        ("postgresql://u:se?cret@localhost/tengen", False),
        ("postgresql://u:se%23cr@et@localhost/tengen", True),
        ("postgresql://u:p@[::1]:5432/tengen", True),
        ("postgres:///tengen?host=/var/run/postgresql", True),
        ("postgresql://u:p@%2Fvar%2Frun/tengen", True),
        ("mysql://u:p@localhost/tengen", True),
    ],
)
def test_an_address_that_cannot_be_read_is_said(address: str, readable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", KEY)
    monkeypatch.setenv("DATABASE_URL", address)
    if readable:
        environment.check()
        return
    with pytest.raises(ImproperlyConfigured, match=r"DATABASE_URL cannot be read: .* # as %23") as said:
        environment.check()
    assert "cret" not in str(said.value), "the password is not shown"


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_with_an_unreadable_address_says_so_in_one_line(program: str, tmp_path: Path) -> None:
    ended = run(PROGRAMS[program], tmp_path, SECRET_KEY=KEY, DATABASE_URL="postgresql://u:se#cret@localhost/tengen")
    assert ended.returncode != 0
    assert ended.stderr.splitlines()[-1].startswith(f"{program.split()[0]}: DATABASE_URL cannot be read")
    assert "Traceback" not in ended.stdout + ended.stderr


def test_the_key_of_the_example_file_is_refused_or_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (ROOT / "deploy" / "env.example").read_text().splitlines()
    values = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    monkeypatch.setenv("DATABASE_URL", NOWHERE)
    monkeypatch.setenv("SECRET_KEY", values["SECRET_KEY"])
    with pytest.raises(ImproperlyConfigured):
        environment.check()
    secrets = ("POSTGRES_PASSWORD", "DATABASE_PASSWORD", "RABBITMQ_PASSWORD", "ALLOWED_HOSTS")
    assert not "".join(values[name] for name in secrets)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_without_its_environment_says_so_in_one_line_and_makes_nothing(program: str, tmp_path: Path) -> None:
    ended = run(PROGRAMS[program], tmp_path)
    last = ended.stderr.splitlines()[-1]
    assert ended.returncode != 0
    assert last.startswith(f"{program.split()[0]}: SECRET_KEY is not set")
    assert "DATABASE_URL is not set" in last
    assert "Traceback" not in ended.stdout + ended.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["--help"], ["create_run", "--help"]])
def test_help_needs_nothing_and_makes_nothing(arguments: list[str], tmp_path: Path) -> None:
    ended = run(["manage.py", *arguments], tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [
        ["add_contributor", "anna"],
        *(pytest.param(slow, marks=pytest.mark.slow) for slow in (["create_run", "a1"], ["requeue_games", "a1", "x"])),
    ],
)
def test_a_command_on_a_database_without_tables_says_migrate(
    command: list[str], empty_database: str, tmp_path: Path
) -> None:
    ended = run(["manage.py", *command], tmp_path, SECRET_KEY=KEY, DATABASE_URL=empty_database)
    assert ended.returncode == 1
    assert ended.stderr == f"manage.py: {MIGRATE}\n"
    assert MIGRATIONS in MIGRATE


def test_a_worker_on_a_database_without_tables_ends_with_migrate(empty_database: str, tmp_path: Path) -> None:
    worker = [*PROGRAMS["celery worker"], "--pool", "solo"]
    ended = run(worker, tmp_path, SECRET_KEY=KEY, DATABASE_URL=empty_database)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == f"celery: {MIGRATE}"


def test_a_database_that_is_away_is_one_line(tmp_path: Path) -> None:
    address = f"postgresql://a:b@127.0.0.1:{free_port()}/c"
    ended = run(["manage.py", "add_contributor", "anna"], tmp_path, SECRET_KEY=KEY, DATABASE_URL=address)
    assert ended.returncode == 1
    assert ended.stderr.startswith("manage.py: the database of DATABASE_URL does not answer: ")
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.django_db
def test_a_database_with_all_tables_lacks_none(client: Client) -> None:
    assert missing_tables() == ""


@pytest.mark.django_db
def test_the_web_answers_503_where_a_table_is_missing() -> None:
    from django.db import connection

    with pytest.raises(ProgrammingError) as raised, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM runs_of_another_version")
    assert is_missing_table(raised.value)
    assert not is_missing_table(ProgrammingError("something else"))
    assert handle_exception(raised.value, {}).status_code == 503
    try:
        raise raised.value
    except ProgrammingError:
        page = trouble(RequestFactory().get("/"))
    assert page.status_code == 503
    assert MIGRATIONS in page.content.decode()
