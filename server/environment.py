"""What must be set before a program of the server starts, said in one line where it is not.

``manage.py``, gunicorn and Celery ask this first. The settings themselves can be read without: linters, tests and
commands that need neither secrets nor a database do.
"""

from __future__ import annotations

import os
from typing import Final
from urllib.parse import unquote, urlsplit

import environ  # type: ignore[import-untyped]
from django.core.exceptions import ImproperlyConfigured

_WORDS: Final = {
    "SECRET_KEY": "a long random text, the same for every process, such as the one that this prints: "
    "python -c 'import secrets; print(secrets.token_urlsafe(50))'",
    "DATABASE_URL": "the address of a PostgreSQL database: postgresql://user:password@host:port/name",
}
_KEY_LENGTH: Final = 50
_KEY_LETTERS: Final = 5
"""Fewer letters, or fewer different ones, can be guessed: what ``manage.py check --deploy`` warns of."""
_EXAMPLES: Final = ("change", "django-insecure", "only-for-debugging", "your-", "<")
"""How texts begin that stand in examples in place of a secret."""
_GUESSED_FIRST: Final = frozenset({"secret", "password", "postgres", "rabbitmq", "guest", "tengen", "admin"})
_ADDRESSES: Final = ("DATABASE_URL", "BROKER_URL", "EMAIL_URL")
"""Variables in which a password stands in an address."""


def check() -> None:
    """Look at the environment.

    Raises:
        ImproperlyConfigured: something is missing; the text says all of it, and what to set.
    """
    faults = [f"{name} is not set: it is {words}" for name, words in _WORDS.items() if not os.environ.get(name)]
    key = os.environ.get("SECRET_KEY", "")
    if _is_example(key):
        faults.append(f"SECRET_KEY is still the example's, which everybody knows: it is {_WORDS['SECRET_KEY']}")
    elif key and (len(key) < _KEY_LENGTH or len(set(key)) < _KEY_LETTERS):
        faults.append(f"SECRET_KEY is too short to be one, {len(key)} letters: it is {_WORDS['SECRET_KEY']}")
    faults += [
        f"the password in {name} is an example's, or the first that is guessed: take a random one"
        for name in _ADDRESSES
        if _is_guessed(_password(os.environ.get(name, "")))
    ]
    address = os.environ.get("DATABASE_URL", "")
    if address and not _is_readable(address):
        faults.append(
            f"DATABASE_URL cannot be read: it is {_WORDS['DATABASE_URL']}; in user and password, write # as %23, "
            "/ as %2F, : as %3A, ? as %3F, @ as %40, [ as %5B, % as %25"
        )
    if _is_true("SIGN_UP", default=False) and _is_true("VERIFY_EMAIL", default=True) and not _is_set("EMAIL_URL"):
        faults.append("SIGN_UP needs EMAIL_URL, for the letters that verify addresses, or VERIFY_EMAIL=false")
    if faults:
        raise ImproperlyConfigured("; ".join(faults))


def _is_set(name: str) -> bool:
    return bool(os.environ.get(name))


def _is_true(name: str, *, default: bool) -> bool:
    """As the settings read it."""
    return os.environ[name].lower() in environ.Env.BOOLEAN_TRUE_STRINGS if _is_set(name) else default


def _is_example(text: str) -> bool:
    return text.lower().startswith(_EXAMPLES)


def _is_guessed(password: str) -> bool:
    return _is_example(password) or password.lower() in _GUESSED_FIRST


def _password(address: str) -> str:
    """The password in an address; empty where there is none, as for a socket that its owner alone may open."""
    try:
        return unquote(urlsplit(address).password or "")
    except ValueError:
        return ""


def _is_readable(address: str) -> bool:
    """Whether an address has the parts of a database's; which kind of database it names, the settings ask."""
    try:
        parts = urlsplit(address)
        return "://" in address and parts.path.strip("/") != "" and parts.port != 0
    except ValueError:  # a port that is no number, or a bracket that is not closed
        return False
