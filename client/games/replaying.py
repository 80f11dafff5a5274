"""A stored game played again, and where the two differ.

A game follows from its order up to the rounding of the evaluator, so two equal games were played by the same text, seed
and network, and by code that does the same. On another device or precision roundings differ, and with them sooner or
later a visit, a move and the rest of the game: a difference there proves nothing.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from client.games.chance import game_seed
from client.games.kinds import KINDS
from client.games.orders import FinishedGame, GameOrder
from client.games.starts import Fork, ForkKind
from client.games.stream import StreamControl, StreamStats, play_stream
from client.networks import Loader, Network
from common.game_record import moves_of, start_of
from common.rows import ARRAYS, Rows
from common.sgf import read
from common.sgf_record import LETTERS, GameRecord, Move
from common.stored_game import StoredGame, StoredNetwork
from common.wire import MAX_SGF_BYTES
from common.wire_uploads import ForkOrigin

_BEGAN_ELSEWHERE: Final = "cleanuptraining"


class CannotReplay(ValueError):
    """The game does not follow from what was stored; the text says why."""


@dataclass(frozen=True, kw_only=True)
class _StoredOrder(GameOrder):
    """The order of a stored game."""


def order_of(stored: StoredGame, folder: Path, sgf: bytes) -> GameOrder:
    """The order by which a stored game was played.

    Raises:
        CannotReplay: it was begun in a way that its record does not tell.
        common.sgf.SgfError, ValueError: the record cannot be read.
    """
    kind = next(kind for kind in KINDS if kind.upload == stored.kind)
    return _StoredOrder(
        seed=game_seed(stored.job_seed, stored.job_number),
        kind=kind,
        config=stored.config,
        black=_network(stored.black, folder),
        white=_network(stored.white, folder),
        length=stored.length,
        start=stored.start if stored.fork is None else _fork(stored.fork, read(sgf, max_bytes=MAX_SGF_BYTES)),
    )


def _network(stored: StoredNetwork, folder: Path) -> Network:
    return Network(stored.name, None if stored.file is None else folder / stored.file)


def _fork(origin: ForkOrigin, record: GameRecord) -> Fork:
    """The position at which a game that goes on with another began: its record's, under the other's komi."""
    assert record.info is not None
    if record.info.game_type == _BEGAN_ELSEWHERE:
        raise CannotReplay("it went on with another game into a clean-up phase, and its record begins there")
    start = start_of(record)
    return Fork(
        ForkKind[origin.kind.upper()],
        start.under(replace(record.rules, komi=origin.komi)),
        tuple(moves_of(record)[: record.info.start_turn]),
        origin.training_weight,
    )


def play_again(order: GameOrder, load: Loader) -> FinishedGame:
    """Play the game of an order to its end."""
    orders, games = iter([order]), list[FinishedGame]()
    play_stream(
        lambda: next(orders, None),
        games.append,
        games=1,
        load=load,
        control=StreamControl(),
        stats=StreamStats(),
        until_empty=True,
    )
    return games[0]


def differences(sgf: bytes, rows: Rows | None, played: FinishedGame) -> list[str]:
    """Where a stored game and the one played again differ, one sentence each; empty: they are equal."""
    found = _record_differences(read(sgf, max_bytes=MAX_SGF_BYTES), read(played.sgf))
    if not found and sgf.decode("utf-8").strip() != played.sgf.strip():
        found.append("the records differ in something that is no move and no value")
    if rows is not None or played.rows is not None:
        found += _row_differences(rows, played.rows)
    return found


def _record_differences(stored: GameRecord, played: GameRecord) -> list[str]:
    found = []
    for what, one, other in (
        ("the board", (stored.x_size, stored.y_size), (played.x_size, played.y_size)),
        ("the rules", stored.rules.to_short(komi=True), played.rules.to_short(komi=True)),
        ("the stones at the beginning", sorted(stored.stones), sorted(played.stones)),
        ("the result", stored.result, played.result),
    ):
        if one != other:
            found.append(f"{what}: stored {one}, played again {other}")
    if stored.info != played.info:
        found.append(f"the root comment: stored {stored.info}, played again {played.info}")
    pairs = itertools.zip_longest(stored.moves, played.moves)
    for number, (one_move, other_move) in enumerate(pairs, start=1):
        if one_move != other_move:
            found.append(f"move {number}: stored {_told(one_move)}, played again {_told(other_move)}")
            break
    return found


def _told(move: Move | None) -> str:
    if move is None:
        return "none"
    where = "pass" if move.at is None else LETTERS[move.at[0]] + LETTERS[move.at[1]]
    return where if move.values is None else f"{where} ({move.values.to_text()})"


def _row_differences(stored: Rows | None, played: Rows | None) -> list[str]:
    if stored is None or played is None or stored.count != played.count:
        counts = [0 if rows is None else rows.count for rows in (stored, played)]
        return [f"rows: stored {counts[0]}, played again {counts[1]}"]
    found = []
    for spec in ARRAYS:
        one, other = getattr(stored, spec.field), getattr(played, spec.field)
        if one.tobytes() != other.tobytes():
            equal = (one == other).reshape(stored.count, -1).all(axis=1)
            found.append(f"rows: {spec.member} differs from row {int(np.argmin(equal))} on")
    return found
