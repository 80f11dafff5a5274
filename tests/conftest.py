"""What all tests share: Django's settings for tests, and one PostgreSQL that starts when the first test asks for it.

pytest-django has loaded the settings when this file is read, so they are changed here and not in the environment; the
environment is set too, for tests that start processes. A DATABASE_URL that is set already is used as it is.

Where tests run in parallel, the PostgreSQL is that of the first process, and each of the others has a database of its
own there, copied from one that was migrated once. Each process and what it starts computes with one thread, and long
files come first, so that none is begun when the other processes are at their end.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path

import psycopg2  # type: ignore[import-untyped]
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from filelock import FileLock
from pytest_django import DjangoDbBlocker

from server import database
from server.settings import database_settings

_IS_PARALLEL = "PYTEST_XDIST_WORKER" in os.environ
_LONG = (
    "tests/client/selfplay/test_processes.py",
    "tests/e2e/",
    "tests/nets/evaluation/test_proving.py",
    "tests/server/gates/test_migrations.py",
    "tests/server/inspection/test_replays.py",
    "tests/server/test_accepted_uploads.py",
    "tests/server/test_false_uploads.py",
    "tests/server/test_schemathesis.py",
    "tests/server/trust/test_any_order.py",
    "tests/test_packaging.py",
)
"""Files of half a minute and more of a processor's time."""
if _IS_PARALLEL:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # read by torch when it is loaded
_FOLDER = Path(tempfile.mkdtemp(prefix="tengen-test-"))
_FOLDER.chmod(0o755)  # started by root, PostgreSQL runs as another user
_OWN_DATABASE = os.environ.get("DATABASE_URL", "") in ("", os.environ.get("TENGEN_TEST_DATABASE"))
_SHARED = os.environ.get("TENGEN_TEST_POSTGRES") if _IS_PARALLEL else None
"""The folder of the first process's PostgreSQL, told to the others of a parallel run."""
_POSTGRES = Path(_SHARED) if _SHARED else _FOLDER / "postgres"
_MIGRATED = "migrated"
"""Name of the database with our tables and nothing in them."""


def pytest_configure(config: pytest.Config) -> None:
    """Point Django to a database that need not run yet, and to a folder of this test run; hear SIGINT.

    A shell's job in the background, or one below nohup, is started with SIGINT ignored, and so would be the programs
    that tests start and interrupt.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.setdefault("SECRET_KEY", "for tests, as long as a secret has to be: 0123456789abcdef")
    if _OWN_DATABASE:
        url = database.address(_POSTGRES)
        os.environ["DATABASE_URL"] = os.environ["TENGEN_TEST_DATABASE"] = url
        os.environ["TENGEN_TEST_POSTGRES"] = str(_POSTGRES)
    os.environ["DATA_DIR"] = str(_FOLDER / "data")
    settings.SECRET_KEY = os.environ["SECRET_KEY"]
    settings.DATABASES["default"].update(database_settings(os.environ["DATABASE_URL"]))
    settings.MEDIA_ROOT = _FOLDER / "data" / "files"
    settings.STATIC_ROOT = _FOLDER / "static"
    settings.STATIC_ROOT.mkdir()
    settings.ALLOWED_HOSTS = ["*"]
    settings.HTTPS = settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = False
    settings.SECURE_HSTS_SECONDS = 0
    settings.SECURE_SSL_REDIRECT = False
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.CELERY_BROKER_URL = "memory://"
    settings.CELERY_BROKER_TRANSPORT_OPTIONS = {}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first."""
    if _IS_PARALLEL:
        items.sort(key=lambda item: not item.nodeid.startswith(_LONG))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop what was started and remove the folder."""
    if _OWN_DATABASE and not _SHARED:
        database.stop(_POSTGRES)
    shutil.rmtree(_FOLDER, ignore_errors=True)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, django_db_blocker: DjangoDbBlocker
) -> None:
    """Start PostgreSQL with a migrated database; pytest-django asks for this before it makes the test database."""
    if not _OWN_DATABASE:
        return
    with FileLock(_POSTGRES.with_suffix(".lock")), django_db_blocker.unblock():
        url = database.start(_POSTGRES, durable=False)
        if not _has_database(url):
            _migrate_once()
    connection.settings_dict["TEST"]["TEMPLATE"] = _MIGRATED


def _has_database(url: str) -> bool:
    """Whether the migrated database is there; if not, it is made, without a table."""
    server = psycopg2.connect(url)
    try:
        server.autocommit = True  # no database is made inside a transaction
        with server.cursor() as cursor:
            cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [_MIGRATED])
            found = cursor.fetchone() is not None
            if not found:
                cursor.execute(f"CREATE DATABASE {_MIGRATED}")
            return found
    finally:
        server.close()


def _migrate_once() -> None:
    """Run all migrations on the migrated database."""
    name = connection.settings_dict["NAME"]
    connection.settings_dict["NAME"] = _MIGRATED
    try:
        call_command("migrate", verbosity=0)
    finally:
        connection.close()  # a database that somebody uses is not copied
        connection.settings_dict["NAME"] = name
