"""``manage.py set_run_state NAME STATE``: pause a run, let it go on, or close it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from server.runs.models import Run, RunState
from server.runs.selectors import run_by_name
from server.runs.services import run_set_state


class Command(BaseCommand):
    """Change the state of a run."""

    help = (
        "paused: no jobs are given, games of earlier jobs are taken, training goes on. closed: no jobs, no games, no "
        "training. active: all of it. Clients play for the newest active run, and wait for the newest paused one."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command line."""
        parser.add_argument("name")
        parser.add_argument("state", choices=RunState.values)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command."""
        run = run_by_name(options["name"])
        if run is None:
            raise CommandError(f"there is no run {options['name']!r}")
        was = run.state_now
        run_set_state(run, RunState(options["state"]))
        now = run.state_now
        self.stdout.write(f"run {run.name}: {was} -> {now}{'' if now == run.state else _dates(run)}")


def _dates(run: Run) -> str:
    """Why a run is not in the state that was set."""
    dates = {"opens_at": run.opens_at, "closes_at": run.closes_at}
    told = ", ".join(f"{name} {moment:%Y-%m-%d %H:%M} UTC" for name, moment in dates.items() if moment is not None)
    return f"; its dates say so ({told}), and are changed on its admin page"
