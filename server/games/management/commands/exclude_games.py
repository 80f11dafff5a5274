"""``manage.py exclude_games KIND WHICH``: take out all games of a contributor, machine, build, network or time."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from server.accounts.selectors import contributors
from server.errors import InvalidSettings
from server.games.exclusions import exclusion_lift, exclusion_make
from server.games.management.commands.requeue_games import _moment
from server.games.models import Exclusion, ExclusionKind
from server.networks.selectors import network_by_name
from server.runs.selectors import run_by_name


class Command(BaseCommand):
    """Make, list or lift exclusions."""

    help = (
        "Take games out of counts, ratings and training; a worker does it in small steps, and goes on with games that "
        "still arrive. --lift puts back what an exclusion took out; --list tells which there are."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command line."""
        parser.add_argument("kind", nargs="?", choices=ExclusionKind.values)
        parser.add_argument("which", nargs="?", default="", help="name of the user, machine, build or network")
        parser.add_argument("--run", help="only games of this run")
        parser.add_argument("--since", type=_moment, help="only games that arrived from then on: 2030-01-31T12:00")
        parser.add_argument("--until", type=_moment, help="only games that arrived before")
        parser.add_argument("--reason", default="taken out by a maintainer", help="told to the contributors")
        parser.add_argument("--lift", type=int, metavar="NUMBER", help="put back what this exclusion took out")
        parser.add_argument("--list", action="store_true", help="tell the exclusions that stand")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command."""
        if options["list"]:
            for exclusion in Exclusion.objects.filter(lifted_at=None).order_by("pk"):
                which = exclusion.contributor or exclusion.network or exclusion.name
                self.stdout.write(f"{exclusion.pk}: {exclusion.kind} {which} ({exclusion.reason})")
        elif options["lift"] is not None:
            self._lift(options["lift"])
        elif options["kind"] is None:
            raise CommandError("say what to take out, or --list, or --lift NUMBER")
        else:
            self._make(options)

    def _lift(self, key: int) -> None:
        try:
            lifted = exclusion_lift(key)
        except Exclusion.DoesNotExist:
            raise CommandError(f"there is no exclusion {key}") from None
        self.stdout.write(
            f"exclusion {key} {'lifted; a worker puts its games back' if lifted else 'was lifted before'}"
        )

    def _make(self, options: dict[str, Any]) -> None:
        kind, which = ExclusionKind(options["kind"]), options["which"]
        given = {name: options[name] for name in ("since", "until", "reason")}
        exclusion = Exclusion(kind=kind, **given)
        if options["run"] is not None:
            exclusion.run = run_by_name(options["run"])
            if exclusion.run is None:
                raise CommandError(f"there is no run {options['run']!r}")
        if kind == ExclusionKind.CONTRIBUTOR:
            exclusion.contributor = contributors().filter(user__username=which).first()
        elif kind == ExclusionKind.NETWORK:
            exclusion.network = network_by_name(which)
        elif kind != ExclusionKind.WINDOW:
            exclusion.name = which
        try:
            exclusion_make(exclusion)
        except InvalidSettings as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"exclusion {exclusion.pk} made; a worker takes the games out")
