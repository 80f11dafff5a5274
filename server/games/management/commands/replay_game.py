"""``manage.py replay_game UID …``: stored games are played again, and held against what was uploaded."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from common.arguments import positive
from server.games.exporting import NotReplayable
from server.games.models import Game, GameKind
from server.games.replaying import DIFFERENT, play_again
from server.games.selectors import game_by_uid, games_of_gate


class Command(BaseCommand):
    """Write each game into a folder, and have the client play it: in a process of its own, as servers import none."""

    help = (
        "Play stored games again, by the seed that the server drew, and say for each whether it is the same. What a "
        "difference proves, and what it does not, stands in docs/trust.md. Exit code 1: a game differs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command line."""
        parser.add_argument("uids", nargs="*", metavar="UID")
        parser.add_argument("--kind", choices=GameKind.values, default=GameKind.TRAINING, help="of the games by UID")
        parser.add_argument("--gate", metavar="CANDIDATE", help="games of the gate of this network instead")
        parser.add_argument("--sample", type=positive, default=5, help="how many of them, at random (default 5)")
        parser.add_argument("--keep", type=Path, metavar="DIR", help="write the games here, and leave them")
        parser.add_argument("--device", default="cpu", help="of the replay (default cpu)")
        parser.add_argument("--use-fp16", default="auto", help="precision of the replay: auto, false or true")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command."""
        games = self._games(options)
        different = 0
        for game in games:
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary) if options["keep"] is None else options["keep"] / game.uid
                folder.mkdir(parents=True, exist_ok=True)
                different += self._replay(game, folder, options)
        if different:
            raise CommandError(f"{different} of {len(games)} games differ")

    def _games(self, options: dict[str, Any]) -> list[Game]:
        if options["gate"]:
            found = games_of_gate(options["gate"], options["sample"])
            if not found:
                raise CommandError(f"no gate of {options['gate']!r} has games that can be played again")
            return found
        games = []
        for uid in options["uids"]:
            game = game_by_uid(options["kind"], uid)
            if game is None:
                raise CommandError(f"there is no {options['kind']} game {uid}")
            games.append(game)
        if not games:
            raise CommandError("name games by their uids, or a gate by its candidate")
        return games

    def _replay(self, game: Game, folder: Path, options: dict[str, Any]) -> bool:
        """Whether a game differs."""
        try:
            done = play_again(game, folder, device=options["device"], use_fp16=options["use_fp16"])
        except (NotReplayable, OSError) as error:
            self.stdout.write(f"{game.uid}: {error}")
            return False
        for line in done.text.splitlines():
            self.stdout.write(f"{game.uid}: {line}")
        return done.code == DIFFERENT
