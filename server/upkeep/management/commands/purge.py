"""``manage.py purge``: delete old refused games with their files, and jobs for which no game came."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from common.arguments import whole
from server.upkeep.purging import LEAST_AGE, purge


class Command(BaseCommand):
    """Delete what nobody will need again."""

    help = "Delete for good: games that were refused, with their files, and jobs that ended without a game."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command line."""
        parser.add_argument("--days", type=whole(1, 100_000), default=180, help="leave younger ones (default 180)")
        parser.add_argument("--dry-run", action="store_true", help="only tell how many")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command."""
        age = timedelta(days=options["days"])
        if age < LEAST_AGE:
            raise CommandError(f"--days: at least {LEAST_AGE.days}, since jobs take late games for so long")
        found = purge(timezone.now() - age, dry_run=options["dry_run"])
        done = "would be deleted" if options["dry_run"] else "deleted"
        self.stdout.write(f"{found.games} refused games with {found.files} files, {found.jobs} unused jobs {done}")
