"""``manage.py requeue_games CODE``: audit refused games again, after a fault of the audit was mended."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from server.games.moderation import games_requeue
from server.games.selectors import refused_games


class Command(BaseCommand):
    """Send refused games to the audit once more."""

    help = "Audit again the games of a run that were refused with a reason code, such as audit_failed."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command line."""
        parser.add_argument("run")
        parser.add_argument("code")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command."""
        keys = refused_games(options["run"], options["code"])
        self.stdout.write(f"{games_requeue(keys)} games wait for their audit again")
