"""``manage.py compute_ratings``: bring ratings up to date now, or compute them anew from all results."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from server.ratings.services import ratings_compute
from server.runs.selectors import run_by_name, runs


class Command(BaseCommand):
    """Compute ratings."""

    help = "Compute the ratings of a run, or of all. A worker does so by itself where results have changed."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command line."""
        parser.add_argument("run", nargs="?", help="only this run")
        parser.add_argument("--anew", action="store_true", help="from nothing, also where no result has changed")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command."""
        chosen = list(runs()) if options["run"] is None else [run_by_name(options["run"])]
        for run in chosen:
            if run is None:
                raise CommandError(f"there is no run {options['run']!r}")
            self.stdout.write(f"{run.name}: {ratings_compute(run, anew=options['anew'])} ratings changed")
