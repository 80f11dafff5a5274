"""``manage.py add_network RUN FILE``: a network that was trained elsewhere joins a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from common.arguments import MAX_COUNT, whole
from server.errors import InvalidSettings, Unavailable
from server.gates.services import candidate_register
from server.networks.selectors import network_by_name
from server.networks.services import SUFFIX, NewNetwork, seed_register
from server.runs.selectors import run_by_name
from server.training.model_files import read_model


class Command(BaseCommand):
    """Check a ``.bin.gz`` as a whole, store it and register it."""

    help = (
        "Add a network file to a run: as a candidate that has to pass its gate, or with --seed as the current network."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command line."""
        parser.add_argument("run")
        parser.add_argument("file", type=Path, help="a .bin.gz in KataGo's format")
        parser.add_argument("--name", help="name in the run (default: RUN-FILENAME)")
        parser.add_argument("--seed", action="store_true", help="make it the current network without a gate")
        parser.add_argument("--parent", help="name of the network that it was trained from")
        parser.add_argument("--train-step", type=whole(0, MAX_COUNT), default=0, help="samples that it was trained on")
        parser.add_argument("--data-rows", type=whole(0, MAX_COUNT), default=0, help="rows that there were then")
        parser.add_argument("--notes", default="")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command."""
        run = run_by_name(options["run"])
        if run is None:
            raise CommandError(f"there is no run {options['run']!r}; make it by create_run")
        path: Path = options["file"]
        try:
            model = read_model(path)
            new = NewNetwork(
                run=run,
                name=options["name"] or _name(run.name, path),
                model=model,
                parent=None if options["parent"] is None else network_by_name(options["parent"]),
                train_step=options["train_step"],
                data_rows=options["data_rows"],
                notes=options["notes"],
            )
            network = seed_register(new) if options["seed"] else candidate_register(new)
        except (InvalidSettings, Unavailable) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"network {network.name} ({model.architecture}): {network.get_state_display()}")
        fault = model.katago_fault
        self.stdout.write("KataGo's client may play with it" if not fault else f"for Tengen's client only: {fault}")


def _name(run: str, path: Path) -> str:
    """Name of a network after its file: what names may not hold becomes a hyphen."""
    stem = path.name.removesuffix(SUFFIX)
    parts = "".join(letter if letter.isascii() and letter.isalnum() else " " for letter in stem).split()
    return "-".join([run, *parts])
