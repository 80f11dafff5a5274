#!/usr/bin/env python
"""Django's command line. Without DATABASE_URL it uses a PostgreSQL of its own in the data folder."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack

WITHOUT_DATABASE = {"check", "collectstatic", "compilemessages", "help", "makemessages", "spectacular", "version"}
"""Commands that never ask the database; no PostgreSQL is started for them."""


def main() -> None:
    """Run the command that the arguments name, with a database to ask where it needs one."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "server.settings")
    command = sys.argv[1] if len(sys.argv) > 1 else "help"
    with ExitStack() as stack:
        if not os.environ.get("DATABASE_URL") and command.lstrip("-") not in WITHOUT_DATABASE:
            from server import database

            folder = database.default_folder()
            os.environ["DATABASE_URL"] = stack.enter_context(database.running(folder))
        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
