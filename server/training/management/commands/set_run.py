"""``manage.py set_run NAME``: the settings of a run, listed or changed."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from common.config_text import ConfigError
from common.parameters import completed
from server.errors import InvalidSettings
from server.networks.models import Network
from server.networks.selectors import network_by_name
from server.runs.models import Run
from server.runs.options import NOTHING, add_settings, given_settings, setting_fields, told_value
from server.runs.selectors import run_by_name
from server.runs.services import run_change
from server.runs.texts import KINDS, wanted_text


class Command(BaseCommand):
    """List settings, or change some; all are checked before any is saved."""

    help = (
        "Without options: list the settings of a run with their values. With options: change those, if the settings "
        f"hold then. FILE holds the new text; {NOTHING!r} instead of a file or a moment empties the setting. A "
        "configuration text may hold only what changes. Clients take it up with their next job. The state of a run is "
        "changed by set_run_state."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command line."""
        parser.add_argument("name")
        parser.add_argument("--current-network", help="network that plays self-play games from now on")
        add_settings(parser, {})

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command."""
        run = run_by_name(options["name"])
        if run is None:
            raise CommandError(f"there is no run {options['name']!r}")
        try:
            changes = _whole_texts(run, given_settings(options))
        except ConfigError as error:
            raise CommandError(str(error)) from None
        if options["current_network"] is not None:
            changes["current_network"] = _network(run, options["current_network"])
        if not changes:
            self._list(run)
            return
        was = {name: told_value(run, name) for name in changes}
        try:
            run_change(run, changes)
        except InvalidSettings as error:
            raise CommandError(str(error)) from None
        for name in changes:
            self.stdout.write(f"{name}: {was[name]} -> {told_value(run, name)}")

    def _list(self, run: Run) -> None:
        names = ["state", "current_network", *(field.name for field in setting_fields())]
        for name in names:
            self.stdout.write(f"{name} = {told_value(run, name)}")


def _whole_texts(run: Run, changes: dict[str, Any]) -> dict[str, Any]:
    """The changes; configuration texts that tell only what changes, completed by the run's.

    Raises:
        ConfigError: one cannot be read.
    """
    texts = {f"{kind}_config": kind for kind in KINDS if f"{kind}_config" in changes}
    return changes | {name: completed(kind, changes[name], wanted_text(run, kind))[0] for name, kind in texts.items()}


def _network(run: Run, name: str) -> Network:
    network = network_by_name(name)
    if network is None or network.run_id != run.pk or not network.training_games_enabled:
        raise CommandError(
            f"{name} is no network of the run {run.name} that has passed its gate, or a seed; a candidate passes "
            "by its gate"
        )
    return network
