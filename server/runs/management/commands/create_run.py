"""``manage.py create_run NAME …``: a run, with the random network as its first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from common.config_text import ConfigError, overlay
from common.parameters import default_text
from server.errors import InvalidSettings
from server.runs.models import RATING_SHARE, PromotionRule, Run
from server.runs.selectors import run_by_name
from server.runs.services import run_create
from server.training.checks import faults_here

_PLAIN: Final = (
    *("name", "data_board_len", "architecture", "next_architecture", "gate_games", "gate_required"),
    *("promotion_rule", "gating_share", "rating_share", "lease_seconds"),
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
        parser.add_argument("--selfplay-config", type=Path, help="KataGo configuration text of self-play games")
        parser.add_argument("--gating-config", type=Path, help="KataGo configuration text of gating games")
        parser.add_argument("--training-settings", type=Path, help="JSON file of the trainer's settings")
        parser.add_argument("--gate-games", type=int, default=200)
        parser.add_argument("--gate-required", type=float, default=0.5, help="share of the points (default 0.5)")
        parser.add_argument("--promotion-rule", choices=PromotionRule.values, default=PromotionRule.GATE)
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
                "selfplay_config": _text(options, "selfplay"),
                "gating_config": _text(options, "gating"),
                "training_settings": _json(options["training_settings"]),
            }
            if faults := faults_here(Run(**settings)):
                raise InvalidSettings("\n".join(faults))
            run = run_create(**settings)
        except (InvalidSettings, ConfigError, OSError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"run {run.name} made; it begins with the network {run.current_network}")


def _text(options: dict[str, Any], kind: str) -> str:
    """The configuration text that the command line describes."""
    path: Path | None = options[f"{kind}_config"]
    text = path.read_text(encoding="utf-8") if path else default_text(kind, options["defaults"])  # type: ignore[arg-type]
    sizes = options["board_sizes"]
    if sizes is None:
        return text
    shares = ",".join("1" for _ in sizes.split(","))
    return overlay(text, f"bSizes = {sizes}\nbSizeRelProbs = {shares}\n")


def _json(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidSettings(f"{path} is not JSON: {error}") from None
    if not isinstance(settings, dict):
        raise InvalidSettings(f"{path} must hold one JSON object")
    return settings
