"""``manage.py create_run NAME …``: a run, with the random network as its first."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from common.config_text import ConfigError, overlay
from common.parameters import TextKind, completed, default_text
from common.text_files import TextError, read_json_object, read_text
from server.errors import InvalidSettings
from server.networks.services import run_create
from server.runs.models import RATING_SHARE, Audience, PromotionRule, Run
from server.runs.selectors import run_by_name
from server.runs.services import settings_faults
from server.training.checks import faults_here

_PLAIN: Final = (
    *("name", "data_board_len", "architecture", "next_architecture", "gate_games", "gate_required"),
    *("promotion_rule", "sprt_elo", "gating_share", "rating_share", "lease_seconds", "audience"),
    *("watch_games", "quarantines", "recheck_share", "prove_texts"),
)
"""Options that are fields of a run under the same name."""


class Command(BaseCommand):
    """Make a run out of configuration texts and settings; everything is checked before anything is saved."""

    help = (
        "Make a run. It begins with the random network; add_network --seed gives it a trained one. "
        "Clients play for the newest active run, so this takes them over from an older one."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command line."""
        parser.add_argument("name", help="1 to 16 letters and digits")
        parser.add_argument("--data-board-len", type=int, default=19, help="edge of the tensors (default 19)")
        parser.add_argument("--architecture", default="b6c96", help="network that is trained (default b6c96)")
        parser.add_argument(
            "--next-architecture", default="", help="next size, trained beside it until its losses have caught up"
        )
        parser.add_argument("--defaults", choices=["7x7", "9-19"], default="9-19", help="texts to start from")
        parser.add_argument("--board-sizes", help="such as 9,13,19; all are equally frequent (default: the texts')")
        parser.add_argument("--selfplay-config", type=Path, help="text of self-play games, or only what it changes")
        parser.add_argument("--gating-config", type=Path, help="text of gating games, or only what it changes")
        parser.add_argument("--training-settings", type=Path, help="JSON file of the trainer's settings")
        parser.add_argument("--gate-games", type=int, default=200)
        parser.add_argument("--gate-required", type=float, default=0.5, help="share of the points (default 0.5)")
        parser.add_argument("--promotion-rule", choices=PromotionRule.values, default=PromotionRule.GATE)
        parser.add_argument(
            "--sprt-elo", type=float, default=30.0, help="advantage that --promotion-rule sprt tells from none"
        )
        parser.add_argument(
            "--watch-games", type=int, default=0, help="first games of a login that wait until they were looked at"
        )
        parser.add_argument(
            "--quarantines", action="store_true", help="games of logins with an alarm wait for a maintainer"
        )
        parser.add_argument(
            "--recheck-share", type=float, default=0.02, help="share of games of which rows are evaluated again"
        )
        parser.add_argument(
            "--prove-texts", action="store_true", help="serve texts only once a game has been played by them"
        )
        parser.add_argument("--audience", choices=Audience.values, default=Audience.ALL, help="whose clients are told")
        parser.add_argument("--gating-share", type=float, default=1.0)
        parser.add_argument(
            "--rating-share", type=float, default=RATING_SHARE, help="share of rating games (default %(default)g)"
        )
        parser.add_argument("--lease-seconds", type=int, default=4 * 3600)
        parser.add_argument("--if-missing", action="store_true", help="do nothing if there is a run of that name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command."""
        if options["if_missing"] and run_by_name(options["name"]) is not None:
            return
        try:
            settings = {name: options[name] for name in _PLAIN} | {
                "selfplay_config": self._text(options, "selfplay"),
                "gating_config": self._text(options, "gating"),
                "training_settings": _json(options["training_settings"]),
            }
            run = Run(**settings)
            # A run's own bounds first: what the trainer can read is wider, and it would tell others.
            if faults := settings_faults(run) or faults_here(run):
                raise InvalidSettings("\n".join(faults))
            run = run_create(**settings)
        except (InvalidSettings, ConfigError, TextError, OSError) as error:
            raise CommandError(str(error)) from None
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


def _json(path: Path | None) -> dict[str, Any]:
    return read_json_object(path) if path is not None else {}
