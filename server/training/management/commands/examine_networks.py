"""``manage.py examine_networks RUN``: which networks may KataGo's client play with?

New networks are examined as they come; this is for those that came before they were, or before the test changed.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from django.core.files.storage import default_storage
from django.core.management.base import BaseCommand, CommandError, CommandParser

from server.errors import InvalidSettings
from server.networks.models import Network
from server.networks.selectors import networks
from server.networks.services import SUFFIX, network_examined
from server.runs.selectors import run_by_name
from server.training.model_files import read_model

_SUITS: Final = "KataGo's client may play with it"


class Command(BaseCommand):
    """Read the networks' files again, and keep what is found."""

    help = "Examine a run's networks again for KataGo's client: its own self-test ends it with one that is too weak."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command line."""
        parser.add_argument("run")
        parser.add_argument("--only", metavar="NAME", help="this network alone")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command."""
        run = run_by_name(options["run"])
        if run is None:
            raise CommandError(f"there is no run {options['run']!r}")
        found = networks(run).filter(is_random=False)
        if options["only"]:
            found = found.filter(name=options["only"])
        for network in found:
            fault = _fault_of(network)
            network_examined(network, fault)
            self.stdout.write(f"{network.name}: {fault or _SUITS}")


def _fault_of(network: Network) -> str:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{network.name}{SUFFIX}"
        with default_storage.open(network.file, "rb") as source, path.open("wb") as target:
            for chunk in source.chunks():
                target.write(chunk)
        try:
            return read_model(path).katago_fault
        except InvalidSettings as error:
            return str(error).replace(f"{folder}/", "")
