"""``manage.py sweep_files``: remove stored files that no row names; the same is done once a day by itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from server.upkeep.orphans import SAFE_AGE, remove_orphans

_HOUR: Final = timedelta(hours=1)
_MOST_HOURS: Final = 100_000


class Command(BaseCommand):
    """Find and remove orphaned files."""

    help = (
        "Remove stored files (games, rows, networks, checkpoints) that no row names; once a day it happens by itself."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command line."""
        parser.add_argument("--dry-run", action="store_true", help="only list them")
        parser.add_argument(
            "--hours",
            type=float,
            default=SAFE_AGE / _HOUR,
            help="leave younger files (default %(default)g, at least 1)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command."""
        if not 1 <= options["hours"] <= _MOST_HOURS:
            raise CommandError(
                f"--hours: 1 to {_MOST_HOURS:,}; at least 1, since a file is stored before its row is written"
            )
        found = remove_orphans(age=options["hours"] * _HOUR, dry_run=options["dry_run"])
        for name in found.names:
            self.stdout.write(name)
        done = "would be removed" if options["dry_run"] else "removed"
        self.stdout.write(f"{len(found.names)} files, {found.bytes:,} bytes {done}")
