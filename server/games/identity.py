"""Which game it is, whatever its uid: by its start, its moves and its networks.

Komi, rules, comments and values are no part of it, and neither is the side from which a board is looked at: a game
that was sent before with other names, or turned or mirrored, is the same game. Read from the SGF's bytes while the
client waits, so nothing is replayed; what is no honest record is the audit's business.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

import numpy as np
import numpy.typing as npt
from sgfmill.sgf_grammar import text_value

_A: Final = ord("a")
_PASS: Final = 255
"""Both coordinates of a pass."""
_COLOURS: Final = ("B", "W")
_SET_UP: Final = (("AE", None), ("AB", 0), ("AW", 1))
"""What a node does to the board before its move, in this order, as `common.sgf` reads it."""

Node = Mapping[str, Sequence[bytes]]


def identity_of(nodes: Iterable[Node], *, x_size: int, y_size: int, black: int, white: int) -> UUID:
    """The identity of the game of a record's ``nodes`` on a board of that size; networks by their keys.

    Spelling is no part of it: escapes, points set up twice or taken off again, and a player to begin who is the one
    that moves first anyway.
    """
    most = x_size * y_size  # rectangles would make millions of points out of a short text
    colours = bytearray()
    stones: dict[tuple[int, int], int] = {}
    moves: list[tuple[int, int]] = []
    for node in nodes:
        for name, label in _SET_UP:
            points = (point for value in node.get(name, ()) for point in _points(value, x_size, y_size))
            for point in itertools.islice(points, most):
                if label is None:
                    stones.pop(point, None)
                else:
                    stones[point] = label
        for number, name in enumerate(_COLOURS):
            for value in itertools.islice(node.get(name, ()), 1):  # further values of a move are not read by anybody
                colours.append(number)
                moves.append(next(_points(value, x_size, y_size), (_PASS, _PASS)))
    head = f"{x_size} {y_size} {black} {white} ".encode() + b" " + bytes(colours) + b" "
    placed = np.array(moves, np.uint8).reshape(-1, 2)
    set_up = np.array(list(stones), np.uint8).reshape(-1, 2)
    labels = np.array(list(stones.values()), np.uint8)
    views = [
        _seen(set_up, x_size, y_size, turn, [labels]) + b" " + _seen(placed, x_size, y_size, turn, [])
        for turn in range(8 if x_size == y_size else 4)
    ]
    return UUID(bytes=hashlib.sha256(head + min(views)).digest()[:16])


def _points(value: bytes, x_size: int, y_size: int) -> Iterator[tuple[int, int]]:
    """The points of a value, a rectangle's too; none for a pass, and for what lies outside."""
    first, _, last = text_value(value).strip().partition(b":")
    last = last.strip() or first
    if len(first) != 2 or len(last) != 2:
        return
    for y in range(first[1] - _A, last[1] - _A + 1):
        for x in range(first[0] - _A, last[0] - _A + 1):
            if 0 <= x < x_size and 0 <= y < y_size:
                yield x, y


def _seen(
    points: npt.NDArray[np.uint8], x_size: int, y_size: int, turn: int, labels: list[npt.NDArray[np.uint8]]
) -> bytes:
    """Points (x, y) in one of the views of a board: bit 0 mirrors x, bit 1 y, bit 2 swaps the two.

    With labels, which stay with their points, they are a set and not a sequence.
    """
    is_point = points[:, 0] != _PASS
    x = np.where(is_point & bool(turn & 1), x_size - 1 - points[:, 0], points[:, 0])
    y = np.where(is_point & bool(turn & 2), y_size - 1 - points[:, 1], points[:, 1])
    columns = [y, x] if turn & 4 else [x, y]
    seen = np.stack([*labels, *columns], axis=1).astype(np.uint8)
    if labels:
        seen = seen[np.lexsort(seen.T[::-1])]
    return seen.tobytes()
