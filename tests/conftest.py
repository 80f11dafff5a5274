"""What all tests share: Django's settings for tests, and one PostgreSQL that starts when the first test asks for it.

pytest-django has loaded the settings when this file is read, so they are changed here and not in the environment; the
environment is set too, for tests that start processes. A DATABASE_URL that is set already is used as it is.

Where tests run in parallel, each process and what it starts computes with one thread, and long files come first, so
that none is begun when the other processes are at their end.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from django.conf import settings

from server import database
from server.settings import database_settings

_IS_PARALLEL = "PYTEST_XDIST_WORKER" in os.environ
_LONG = ("tests/e2e/", "tests/test_packaging.py")
if _IS_PARALLEL:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # read by torch when it is loaded
_FOLDER = Path(tempfile.mkdtemp(prefix="tengen-test-"))
_FOLDER.chmod(0o755)  # started by root, PostgreSQL runs as another user
_POSTGRES = _FOLDER / "postgres"
_OWN_DATABASE = os.environ.get("DATABASE_URL", "") in ("", os.environ.get("TENGEN_TEST_DATABASE"))
"""What the first process of a parallel run has set for itself is not meant for the others."""


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
    if _OWN_DATABASE:
        database.stop(_POSTGRES)
    shutil.rmtree(_FOLDER, ignore_errors=True)


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """Start PostgreSQL; pytest-django asks for this before it makes the test database."""
    if _OWN_DATABASE:
        database.start(_POSTGRES, durable=False)
