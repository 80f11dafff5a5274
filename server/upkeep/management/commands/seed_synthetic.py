"""``manage.py seed_synthetic NAME --games N``: a run full of made-up games, to measure how the server grows."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from common.arguments import MAX_COUNT, whole
from common.parameters import default_text
from server.errors import InvalidSettings
from server.networks.services import run_create
from server.runs.selectors import run_by_name
from server.upkeep.synthetic import Amounts, synthetic_seed


class Command(BaseCommand):
    """Make a paused run and fill it by bulk statements."""

    help = (
        "Make a run of synthetic games, networks and metrics, to measure with; never on a server that volunteers use. "
        "The run is paused: its networks have no files, so nobody could play for it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command line."""
        parser.add_argument("name", help="of the new run")
        parser.add_argument("--games", type=whole(1, MAX_COUNT), default=100_000, help="(default %(default)s)")
        parser.add_argument("--networks", type=whole(2, MAX_COUNT), default=100, help="(default %(default)s)")
        parser.add_argument("--contributors", type=whole(1, MAX_COUNT), default=50, help="(default %(default)s)")
        parser.add_argument("--metrics", type=whole(0, MAX_COUNT), default=10_000, help="(default %(default)s)")
        parser.add_argument("--match-every", type=whole(1, MAX_COUNT), default=20, help="one job in so many is a match")
        parser.add_argument("--waiting", type=whole(0, MAX_COUNT), default=0, help="games that wait for their audit")
        parser.add_argument("--active", action="store_true", help="do not pause it, to measure requests for jobs")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command."""
        if run_by_name(options["name"]) is not None:
            raise CommandError(f"there is a run {options['name']!r} already; give another name")
        names = ("games", "networks", "contributors", "metrics", "match_every", "waiting")
        try:
            with transaction.atomic():
                run = run_create(
                    name=options["name"],
                    selfplay_config=default_text("selfplay", "9-19"),
                    gating_config=default_text("gating", "9-19"),
                    data_board_len=19,
                    architecture="b2c32",
                    state="active" if options["active"] else "paused",
                )
                synthetic_seed(run, Amounts(**{name: options[name] for name in names}), self.stdout.write)
        except InvalidSettings as error:
            raise CommandError(str(error)) from None
