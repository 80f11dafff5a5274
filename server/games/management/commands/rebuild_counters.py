"""``manage.py rebuild_counters``: compare every counter with the games, and set right what is wrong."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from server.games.recounting import counters_drift, counters_rebuild
from server.games.tally_recounting import tallies_drift, tallies_rebuild


class Command(BaseCommand):
    """Recount."""

    help = (
        "Count the games of runs, contributors, networks and pairings anew, and the sums by which logins are compared, "
        "while the server works, and set right what differs. Points of gates are left alone."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command line."""
        parser.add_argument("--dry-run", action="store_true", help="only tell what is wrong")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command."""
        drift = counters_drift() if options["dry_run"] else counters_rebuild()
        wrong = 0
        for what, rows in (
            ("run", drift.runs),
            ("contributor", drift.contributors),
            ("network", drift.networks),
            ("pairing", drift.scores),
        ):
            for key, columns in rows.items():
                changes = ", ".join(f"{name} {change:+d}" for name, change in columns.items() if change)
                self.stdout.write(f"{what} {key}: {changes}")
                wrong += 1
        sums = tallies_drift() if options["dry_run"] else tallies_rebuild()
        for sum_of, difference in sums.tallies.items():
            told = f"login {sum_of.contributor}" if sum_of.contributor is not None else "all logins"
            self.stdout.write(
                f"tally of {told}, {sum_of.figure}: games {difference.games:+g}, sum {_told(difference.total)}"
            )
        for key, games in sums.standings.items():
            self.stdout.write(f"standing {key}: games {games:+d}")
        wrong += len(sums.tallies) + len(sums.standings)
        self.stdout.write(f"{wrong} counters {'are wrong' if options['dry_run'] else 'were set right'}")


def _told(total: float) -> str:
    """A difference of sums, which were added up in different orders."""
    return f"{round(total, 9) + 0.0:+g}"
