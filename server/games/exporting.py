"""A stored game with all that it follows from, in a folder, so that it can be played again (`common.stored_game`)."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final, Literal

from django.core.files.storage import default_storage

from common.stored_game import StoredGame, StoredNetwork
from common.wire import StartPosition
from common.wire_uploads import ForkOrigin
from server.games.models import Game, GameKind
from server.jobs.models import Job
from server.networks.models import Network
from server.positions.selectors import positions_by_key
from server.storage import load

_KINDS: Final[dict[GameKind, Literal["training", "rating"]]] = {
    GameKind.TRAINING: "training",
    GameKind.RATING: "rating",
}


class NotReplayable(ValueError):
    """The game does not follow from what is stored; the text says why."""


def game_export(game: Game, folder: Path, seed: int | None = None) -> StoredGame:
    """Write a game into an empty folder; with a ``seed`` of ours, so that another one like it is played.

    Raises:
        NotReplayable: its client drew the seed, as KataGo's does, and none is given.
        OSError: a file is gone, or cannot be written.
    """
    own_seed, number = (seed, 0) if seed is not None else (game.job.seed, game.job_number)
    if own_seed is None or number is None:
        raise NotReplayable("its client has drawn the seed, so it cannot be played again")
    stored = StoredGame(
        kind=_KINDS[GameKind(game.kind)],
        job_seed=own_seed,
        job_number=number,
        config=game.job.configs_of(game.job_number)[0],
        length=game.run.data_board_len,
        black=_network(game.black_network, folder),
        white=_network(game.white_network, folder),
        start=_start_of(game.job, number),
        fork=None if game.fork is None else ForkOrigin.from_object(game.fork),
    )
    stored.write(folder, load(game.sgf_file), load(game.rows_file) if game.rows_file else None)
    return stored


def _start_of(job: Job, number: int) -> StartPosition | None:
    keys: list[int] = job.start_positions
    return positions_by_key([keys[number]])[keys[number]] if number < len(keys) else None


def _network(network: Network, folder: Path) -> StoredNetwork:
    if network.is_random:
        return StoredNetwork(name=network.name, file=None)
    name = f"{network.name}.bin.gz"
    with default_storage.open(network.file, "rb") as source, (folder / name).open("wb") as target:
        shutil.copyfileobj(source, target)
    return StoredNetwork(name=network.name, file=name)
