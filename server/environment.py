"""What must be set before a program of the server starts, said in one line where it is not.

``manage.py``, gunicorn and Celery ask this first. The settings themselves can be read without: linters, tests and
commands that need neither secrets nor a database do.
"""

from __future__ import annotations

import os
from typing import Final
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

_WORDS: Final = {
    "SECRET_KEY": "a long random text, the same for every process, such as the one that this prints: "
    "python -c 'import secrets; print(secrets.token_urlsafe(50))'",
    "DATABASE_URL": "the address of a PostgreSQL database: postgresql://user:password@host:port/name",
}
_EXAMPLE: Final = "change-me"
"""How the text begins that examples had in place of a key; the whole world knows it."""


def check() -> None:
    """Look at the environment.

    Raises:
        ImproperlyConfigured: something is missing; the text says all of it, and what to set.
    """
    faults = [f"{name} is not set: it is {words}" for name, words in _WORDS.items() if not os.environ.get(name)]
    if os.environ.get("SECRET_KEY", "").startswith(_EXAMPLE):
        faults.append(f"SECRET_KEY is still the example's, which everybody knows: it is {_WORDS['SECRET_KEY']}")
    address = os.environ.get("DATABASE_URL", "")
    if address and not _is_readable(address):
        faults.append(
            f"DATABASE_URL cannot be read: it is {_WORDS['DATABASE_URL']}; in user and password, write # as %23, "
            "/ as %2F, : as %3A, ? as %3F, @ as %40, [ as %5B, % as %25"
        )
    if faults:
        raise ImproperlyConfigured("; ".join(faults))


def _is_readable(address: str) -> bool:
    """Whether an address has the parts of a database's; which kind of database it names, the settings ask."""
    try:
        parts = urlsplit(address)
        return "://" in address and parts.path.strip("/") != "" and parts.port != 0
    except ValueError:  # a port that is no number, or a bracket that is not closed
        return False
