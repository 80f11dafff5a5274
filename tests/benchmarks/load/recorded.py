"""Games of self-play without a network, recorded so that light clients can send them by the thousand.

Each is played by our own client and passes the audit of a server whose run serves the text of `run_text`; none has the
moves of another. A recording is one file, a zip without compression:
``python -m tests.benchmarks.load.recorded FILE COUNT EDGE SEED``.
"""

from __future__ import annotations

import itertools
import json
import re
import secrets
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from common import wire
from common.config_text import overlay
from common.parameters import TextKind, default_text

RUN: Final = "load"
"""The run that recorded games are of: their records name its random network."""
FIRST, OTHER = f"{RUN}-random", f"{RUN}-other"
"""The networks of records; in a match both play."""
_SMALL: Final = {
    5: "komiMean = 9\nmaxMovesPerGame = 60\nmaxVisits = 8\n",
    9: "komiMean = 7\nmaxMovesPerGame = 120\nmaxVisits = 4\n",
}
"""By the edge of the board: few visits, since nobody is to learn from these games."""
_CHEAP: Final = "cheapSearchVisits = 2\nreducedVisitsMin = 2\n"
_SERVER: Final = "http://server"


def changes(length: int, kind: TextKind) -> str:
    """What `run_text` changes in the texts for 7x7."""
    board = f"bSizes = {length}\nbSizeRelProbs = 1\n"
    return board + _SMALL[length] + (_CHEAP if kind == "selfplay" else "")


def run_text(length: int, kind: TextKind = "selfplay") -> str:
    """The text by which games on boards of that edge (5 or 9) are recorded."""
    return overlay(default_text(kind, "7x7"), changes(length, kind))


@dataclass(frozen=True)
class RecordedGame:
    """What an upload of a game tells, but for what its job and its server do."""

    fields: dict[str, str]
    sgf: bytes
    rows: bytes
    """Empty for a match game."""

    def form(self, task: dict[str, Any], number: int) -> dict[str, str]:
        """The form's fields of this game as number ``number`` of a job of its kind."""
        networks = _networks_of(task)
        colours = ("black_network", "white_network")
        return (
            self.fields
            | {colour: networks[self.fields[colour].rstrip("/").rpartition("/")[2]]["url"] for colour in colours}
            | {
                "run": task["run"]["url"],
                "job_id": task["job_id"],
                "job_token": task["job_token"],
                "game_number": str(number),
            }
        )

    def record(self, task: dict[str, Any]) -> bytes:
        """The game's record as one of a job."""
        record = self.sgf
        for name, network in _networks_of(task).items():
            record = record.replace(f"[{name}]".encode(), f"[{network['name']}]".encode())
        return record

    def renamed(self) -> RecordedGame:
        """The game with a new uid, which a match game's record tells; rows tell it too, and an audit looks at that."""
        uid, new = self.fields["kg_game_uid"], secrets.token_hex(16).upper()
        fields = self.fields | {"kg_game_uid": new}
        return replace(self, fields=fields, sgf=self.sgf.replace(uid.encode(), new.encode()))

    def other(self, number: int) -> RecordedGame:
        """The same rows with other moves behind the game's end: for measuring uploads only, an audit refuses it."""
        digits = (number // 9**place % 9 for place in range(8))
        moves = b"".join(b";%c[%c%c]" % (b"BW"[place % 2], 97 + digit, 97) for place, digit in enumerate(digits))
        return replace(self.renamed(), sgf=self.sgf[: self.sgf.rindex(b")")] + moves + b")")


def _networks_of(task: dict[str, Any]) -> dict[str, Any]:
    """The networks of a job by the names that records have for them."""
    if task["kind"] == "selfplay":
        return {FIRST: task["network"]}
    return {FIRST: task["black_network"], OTHER: task["white_network"]}


def games_play(
    count: int,
    length: int,
    seed: int,
    take: Callable[[RecordedGame], object],
    *,
    kind: TextKind = "selfplay",
    at_once: int = 64,
) -> None:
    """Play ``count`` games (of self-play: with rows), each of other moves, on boards of that edge; needs the client.

    ``take`` gets each as it ends.
    """
    from client.contribute.job_orders import orders_of
    from client.contribute.messages import Job
    from client.contribute.uploads import upload_parts
    from client.games.chance import game_seed
    from client.games.orders import FinishedGame
    from client.games.stream import StreamControl, StreamStats, play_stream
    from nets.evaluation.evaluator import load_evaluator

    task = _task(length, kind)
    networks: dict[str, Path | None] = {FIRST: None, OTHER: None}
    orders = (
        order
        for number in itertools.count()
        for order in orders_of(Job(task, networks, wire.MAX_TASK_REP_FACTOR, game_seed(seed, number), length))
    )
    known: set[str] = set()

    def finished(game: FinishedGame) -> None:
        moves = "".join(re.findall(r";[BW]\[\w*\]", game.sgf))
        if (game.rows is None and kind == "selfplay") or moves in known or len(known) == count:
            return
        known.add(moves)
        fields, files = upload_parts(game, game.order, lambda network: "")  # type: ignore[arg-type]  # it is a job's
        take(RecordedGame(fields, files["sgf_file"][1], files.get("training_data_file", ("", b""))[1]))
        if len(known) == count:
            control.stop_now.set()

    control = StreamControl()
    play_stream(
        lambda: next(orders, None),
        finished,
        games=at_once,
        load=lambda network, edge: load_evaluator(network.path, length=edge),
        control=control,
        stats=StreamStats(),
        until_empty=True,
    )


def _task(length: int, kind: TextKind) -> wire.SelfplayTask | wire.RatingTask:
    """A task as a server gives it."""
    first, other = (
        {
            "name": name,
            "url": f"{_SERVER}{wire.PATH_NETWORKS}{name}/",
            "model_file": None,
            "model_file_bytes": 0,
            "model_file_sha256": "",
            "is_random": True,
            "created_at": f"2026-01-0{day}T00:00:00.000000Z",
        }
        for day, name in enumerate((FIRST, OTHER), 1)
    )
    run = {"name": RUN, "url": f"{_SERVER}/api/runs/{RUN}/"}
    told = {"run": run, "config": run_text(length, kind), "job_id": "1"}
    networks = {"network": first} if kind == "selfplay" else {"black_network": first, "white_network": other}
    names = {"selfplay": "selfplay", "gating": "rating"}
    return wire.read_task(json.dumps(told | networks | {"kind": names[kind]}))


def games_record(path: Path, count: int, length: int, seed: int) -> None:
    """Play games, as `games_play`, into a file."""
    with zipfile.ZipFile(path, "w") as file:
        numbers = itertools.count(1)

        def write(game: RecordedGame) -> None:
            number = next(numbers)
            for suffix, content in (("json", json.dumps(game.fields)), ("sgf", game.sgf), ("npz", game.rows)):
                file.writestr(f"{number:06d}.{suffix}", content)

        games_play(count, length, seed, write)


def games_read(path: Path) -> list[RecordedGame]:
    """The games of a recording."""
    with zipfile.ZipFile(path) as file:
        return [
            RecordedGame(json.loads(file.read(name)), file.read(f"{name[:-5]}.sgf"), file.read(f"{name[:-5]}.npz"))
            for name in file.namelist()
            if name.endswith(".json")
        ]


if __name__ == "__main__":
    games_record(Path(sys.argv[1]), *(int(argument) for argument in sys.argv[2:]))
