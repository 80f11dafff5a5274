"""``manage.py requeue_games RUN``: audit games again, after a fault of the audit was mended or a new check came."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_naive, make_aware

from server.games.models import GameState
from server.games.moderation import games_requeue
from server.games.selectors import games_in_range
from server.runs.selectors import run_by_name


class Command(BaseCommand):
    """Send games to the audit once more."""

    help = (
        "Audit again the games of a run that its audit refused, all or those with a reason code such as audit_failed. "
        "What maintainers or later checks took out is left alone unless its code is named (moderated, rejected, "
        "not_its_network, not_replayed); what an exclusion took out comes back when that is lifted. "
        "With --counted the counted ones, which leave the counts and the training until they have passed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command line."""
        parser.add_argument("run")
        parser.add_argument("code", nargs="?", default="", help="reason of the refusal")
        parser.add_argument("--counted", action="store_true", help="counted games, instead of refused ones")
        parser.add_argument("--first", type=int, help="least key of a game (the id of the API and the admin pages)")
        parser.add_argument("--last", type=int, help="greatest key")
        parser.add_argument("--since", type=_moment, help="only games that arrived from then on: 2030-01-31T12:00")
        parser.add_argument("--until", type=_moment, help="only games that arrived before")
        parser.add_argument("--dry-run", action="store_true", help="only tell how many there are")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command."""
        run = run_by_name(options["run"])
        if run is None:
            raise CommandError(f"there is no run {options['run']!r}")
        if options["counted"] and options["code"]:
            raise CommandError("counted games have no reason of a refusal")
        state = GameState.COUNTED if options["counted"] else GameState.REFUSED
        ranges = {name: options[name] for name in ("first", "last", "since", "until")}
        keys = games_in_range(run, state, options["code"], **ranges)
        if options["dry_run"]:
            self.stdout.write(f"{len(keys)} games would wait for their audit again")
        else:
            self.stdout.write(f"{games_requeue(keys, state)} games wait for their audit again")


def _moment(text: str) -> Any:
    """A moment; without a zone it is UTC's.

    Raises:
        ValueError: it is none.
    """
    moment = parse_datetime(text)
    if moment is None:
        raise ValueError(text)
    return make_aware(moment) if is_naive(moment) else moment
