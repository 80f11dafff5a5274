"""Which game it is, whatever its uid: by its start, its moves and its networks.

Komi, rules, comments and values are no part of it, and neither is the side from which a board is looked at: a game
that was sent before with other names, or turned or mirrored, is the same game. Read from the SGF's bytes while the
client waits, so nothing is replayed; what is no honest record is the audit's business.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

from sgfmill.sgf_grammar import text_value

_A: Final = ord("a")
_PASS: Final = 255
"""Both coordinates of a pass."""
_COLOURS: Final = ("B", "W")
_SET_UP: Final = (("AE", None), ("AB", 0), ("AW", 1))
"""What a node does to the board before its move, in this order, as `common.sgf` reads it."""
_SETS_UP: Final = frozenset(name for name, _ in _SET_UP)
_AS_IS: Final = bytes(range(256))

Node = Mapping[str, Sequence[bytes]]


def identity_of(nodes: Iterable[Node], *, x_size: int, y_size: int, black: int, white: int) -> UUID:
    """The identity of the game of a record's ``nodes`` on a board of that size; networks by their keys.

    Spelling is no part of it: escapes, points set up twice or taken off again, and a player to begin who is the one
    that moves first anyway.
    """
    most = x_size * y_size  # rectangles would make millions of points out of a short text
    colours = bytearray()
    stones: dict[tuple[int, int], int] = {}
    moves_x, moves_y = bytearray(), bytearray()
    for node in nodes:
        for name, label in _SET_UP if not _SETS_UP.isdisjoint(node) else ():
            points = (point for value in node.get(name, ()) for point in _points(value, x_size, y_size))
            for point in itertools.islice(points, most):
                if label is None:
                    stones.pop(point, None)
                else:
                    stones[point] = label
        for number, name in enumerate(_COLOURS):
            for value in itertools.islice(node.get(name, ()), 1):  # further values of a move are not read by anybody
                x, y = _move(value, x_size, y_size)
                colours.append(number)
                moves_x.append(x)
                moves_y.append(y)
    head = f"{x_size} {y_size} {black} {white} ".encode() + b" " + bytes(colours) + b" "
    views = _views(stones, bytes(moves_x), bytes(moves_y), x_size, y_size)
    return UUID(bytes=hashlib.sha256(head + min(views)).digest()[:16])


def _views(
    stones: Mapping[tuple[int, int], int], moves_x: bytes, moves_y: bytes, x_size: int, y_size: int
) -> Iterator[bytes]:
    """Stones and moves as they are seen from each side of the board that is alike."""
    for x in (_AS_IS, _mirror(x_size)):
        for y in (_AS_IS, _mirror(y_size)):
            xs, ys = moves_x.translate(x), moves_y.translate(y)
            yield _stones_seen(stones, x, y, swaps=False) + b" " + _interleaved(xs, ys)
            if x_size == y_size:
                yield _stones_seen(stones, x, y, swaps=True) + b" " + _interleaved(ys, xs)


def _move(value: bytes, x_size: int, y_size: int) -> tuple[int, int]:
    """The point of a move, or that of a pass."""
    if len(value) == 2:  # as nearly all are; where one of the two is no letter it is no point either way
        x, y = value[0] - _A, value[1] - _A
        return (x, y) if 0 <= x < x_size and 0 <= y < y_size else (_PASS, _PASS)
    return next(_points(value, x_size, y_size), (_PASS, _PASS))


@functools.cache  # there are nineteen
def _mirror(size: int) -> bytes:
    """What each coordinate is seen from the other side, for `bytes.translate`; a pass stays one."""
    return bytes(size - 1 - at if at < size else at for at in range(256))


def _interleaved(first: bytes, second: bytes) -> bytes:
    """The bytes of both in turn."""
    both = bytearray(2 * len(first))
    both[::2], both[1::2] = first, second
    return bytes(both)


def _stones_seen(stones: Mapping[tuple[int, int], int], x: bytes, y: bytes, swaps: bool) -> bytes:
    """The set of stones as a view has them: label and coordinates of each, in order."""
    seen = [(label, x[at_x], y[at_y]) for (at_x, at_y), label in stones.items()]
    return b"".join(
        sorted(bytes((label, second, first) if swaps else (label, first, second)) for label, first, second in seen)
    )


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
