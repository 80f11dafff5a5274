"""What an upload's files are checked for while the client waits: milliseconds, and nothing that needs the game played.

Sizes, the SGF's beginning, the rows' shapes, types, ranges and real unpacked size (contribute-protocol.md 11, 12).
Whether the files tell the truth is the audit's question.
"""

from __future__ import annotations

from typing import Final

from sgfmill.sgf_grammar import parse_sgf_game

from common.rows import Limits, RowsError, read_npz
from common.wire import MAX_NPZ_BYTES, MAX_NPZ_UNPACKED_BYTES, MAX_ROWS, MAX_SGF_BYTES
from server.errors import GameRefused
from server.games.identity import Node

ROWS_LIMITS: Final = Limits(max_file_bytes=MAX_NPZ_BYTES, max_unpacked_bytes=MAX_NPZ_UNPACKED_BYTES, max_rows=MAX_ROWS)
_SGF_BEGINNINGS: Final = (b"(;FF[4]GM[1]", b"(;GM[1]FF[4]")


def check_sgf(sgf: bytes) -> list[Node]:
    """Refuse what cannot be a game record of a contributor; the nodes of one that can be, of its main line.

    Raises:
        GameRefused: too long, not UTF-8, not the beginning of an SGF of Go, or cut short.
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
        tree = parse_sgf_game(sgf)  # the grammar alone, in one pass; what the properties say is the audit's question
    except ValueError as error:
        raise GameRefused(f"its SGF cannot be read: {error}") from None
    nodes: list[Node] = list(tree.sequence)
    while tree.children:
        tree = tree.children[0]
        nodes += tree.sequence
    return nodes


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
