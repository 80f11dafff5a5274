"""What an upload's files are checked for while the client waits: milliseconds, and nothing that needs the game played.

Sizes, the SGF's beginning, the rows' shapes, types, ranges and real unpacked size (contribute-protocol.md 11, 12).
Whether the files tell the truth is the audit's question.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sgfmill.sgf_grammar import parse_sgf_collection

from common.rows import Limits, RowsError, read_npz
from common.wire import MAX_NPZ_BYTES, MAX_NPZ_UNPACKED_BYTES, MAX_ROWS, MAX_SGF_BYTES
from server.errors import GameRefused
from server.games.identity import Node

ROWS_LIMITS: Final = Limits(max_file_bytes=MAX_NPZ_BYTES, max_unpacked_bytes=MAX_NPZ_UNPACKED_BYTES, max_rows=MAX_ROWS)
_ONCE: Final = frozenset(("B", "W", "C", "SZ", "KM", "HA", "RU", "RE", "PB", "PW", "PL", "FF", "GM", "CA"))
"""Properties of one value, as far as anybody reads them."""
_SGF_BEGINNINGS: Final = (b"(;FF[4]GM[1]", b"(;GM[1]FF[4]")


def check_sgf(sgf: bytes) -> list[Node]:
    """Refuse what cannot be a game record of a contributor; the nodes of one that can be.

    Raises:
        GameRefused: too long, not UTF-8, not the beginning of an SGF of Go, cut short, or more than one game.
    """
    if len(sgf) > MAX_SGF_BYTES:
        raise GameRefused(f"its SGF has {len(sgf)} bytes, the limit is {MAX_SGF_BYTES}")
    if not sgf.lstrip().startswith(_SGF_BEGINNINGS):
        raise GameRefused("its SGF does not begin with '(;FF[4]GM[1]' or '(;GM[1]FF[4]'")
    try:
        sgf.decode("utf-8")
    except UnicodeDecodeError as error:
        raise GameRefused(f"its SGF is not UTF-8: {error}") from None
    try:
        trees = parse_sgf_collection(sgf)  # the grammar alone, in one pass; what properties say is the audit's question
    except ValueError as error:
        raise GameRefused(f"its SGF cannot be read: {error}") from None
    if len(trees) > 1 or not sgf.rstrip().endswith(b")"):
        raise GameRefused("its SGF goes on after the game")
    nodes: list[Node] = list(trees[0].sequence)
    if trees[0].children:
        raise GameRefused("its SGF has variations")
    _check_once(nodes)
    return nodes


def _check_once(nodes: Sequence[Node]) -> None:
    """Refuse what two readers may take for two games: a property that has one value, and is given another."""
    for number, node in enumerate(nodes):
        for name, values in node.items():
            if len(values) > 1 and name in _ONCE:
                raise GameRefused(f"its SGF has more than one {name} in node {number}")


def check_rows(rows: bytes, *, count: int, length: int) -> None:
    """Refuse a file of rows that the trainer could not read; it must hold ``count`` rows for tensors of ``length``.

    Raises:
        GameRefused: with what is wrong.
    """
    try:
        found = read_npz(rows, ROWS_LIMITS, length=length)
    except RowsError as error:
        raise GameRefused(f"its training data is not accepted: {error}") from None
    if found.count != count:
        raise GameRefused(f"its training data has {found.count} rows, but num_training_rows is {count}")
