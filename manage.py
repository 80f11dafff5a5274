#!/usr/bin/env python
"""Django's command line; says in one line what the environment or the database lacks."""

from __future__ import annotations

import os
import sys
from typing import Final

from common.pipes import ends_with_its_reader

WITHOUT_ENVIRONMENT: Final = (
    "check",
    "collectstatic",
    "compilemessages",
    "help",
    "makemessages",
    "spectacular",
    "version",
)
"""Commands that need no secret and ask no database."""


def main(arguments: list[str]) -> int:
    """Run the command that the arguments name; returns the exit code."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "server.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import DatabaseError, InterfaceError, OperationalError

    from server import environment

    asks_for_help = not {"-h", "--help", "--version"}.isdisjoint(arguments)
    command = arguments[1].lstrip("-") if len(arguments) > 1 else "help"
    try:
        if not asks_for_help and command not in WITHOUT_ENVIRONMENT:
            environment.check()
        execute_from_command_line(arguments)
    except ImproperlyConfigured as error:
        return _say(str(error))
    except (DatabaseError, InterfaceError) as error:
        from server.tables import MIGRATE, is_missing_table

        if is_missing_table(error):
            return _say(MIGRATE)
        if not isinstance(error, OperationalError | InterfaceError):
            raise
        return _say(f"the database of DATABASE_URL does not answer: {' '.join(str(error).split())}")
    return 0


def _say(text: str) -> int:
    sys.stderr.write(f"manage.py: {text}\n")
    return 1


if __name__ == "__main__":
    sys.exit(ends_with_its_reader(lambda: main(sys.argv)))
