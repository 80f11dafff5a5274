"""``manage.py create_run NAME …``: a run, with the random network as its first."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from common.config_text import ConfigError, overlay
from common.files import in_words
from common.parameters import TextKind, completed, default_text
from common.text_files import TextError, read_text
from server.errors import InvalidSettings
from server.networks.services import run_create
from server.runs.models import Run
from server.runs.options import add_settings, given_settings
from server.runs.selectors import run_by_name
from server.runs.services import settings_faults
from server.runs.texts import KINDS
from server.training.checks import faults_here

DEFAULTS: Final = {
    "data_board_len": 19,
    "architecture": "b6c96",
    "watch_games": 32,
    "quarantines": True,
    "prove_texts": True,
}
"""A new run is a public one until somebody says otherwise; a setting that is not here has the default of its field."""
_TEXTS: Final = ("selfplay_config", "gating_config")


class Command(BaseCommand):
    """Make a run out of configuration texts and settings; everything is checked before anything is saved."""

    help = (
        "Make a run. It begins with the random network; add_network --seed gives it a trained one. "
        "Clients play for the newest active run, so this takes them over from an older one."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command line."""
        parser.add_argument("name", help="1 to 16 letters and digits")
        parser.add_argument("--defaults", choices=["7x7", "9-19"], default="9-19", help="texts to start from")
        parser.add_argument("--board-sizes", help="such as 9,13,19; all are equally frequent (default: the texts')")
        parser.add_argument("--selfplay-config", type=Path, help="text of self-play games, or only what it changes")
        parser.add_argument("--gating-config", type=Path, help="text of gating games, or only what it changes")
        add_settings(parser, DEFAULTS, without=_TEXTS)
        parser.add_argument("--if-missing", action="store_true", help="do nothing if there is a run of that name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command."""
        if options["if_missing"] and run_by_name(options["name"]) is not None:
            return
        try:
            texts = {f"{kind}_config": self._text(options, kind) for kind in KINDS}
            settings = {"name": options["name"]} | given_settings(options) | texts
            run = Run(**settings)
            # A run's own bounds first: what the trainer can read is wider, and it would tell others.
            if faults := settings_faults(run) or faults_here(run):
                raise InvalidSettings("\n".join(faults))
            run = run_create(**settings)
        except (InvalidSettings, ConfigError, TextError, OSError) as error:
            raise CommandError(in_words(error)) from None
        self.stdout.write(f"run {run.name} made; it begins with the network {run.current_network}")

    def _text(self, options: dict[str, Any], kind: TextKind) -> str:
        """The configuration text that the command line describes."""
        path: Path | None = options[f"{kind}_config"]
        text = default_text(kind, options["defaults"])
        if path is not None:
            try:
                text, from_base = completed(kind, read_text(path), text)
            except ConfigError as error:
                raise ConfigError(f"{path}: {error}") from None
            if from_base:
                self.stdout.write(
                    f"{path} gives what differs from the texts of --defaults {options['defaults']}:"
                    f" {from_base} values are taken from there"
                )
        sizes = options["board_sizes"]
        if sizes is None:
            return text
        shares = ",".join("1" for _ in sizes.split(","))
        return overlay(text, f"bSizes = {sizes}\nbSizeRelProbs = {shares}\n", without=("bSizesXY",))
