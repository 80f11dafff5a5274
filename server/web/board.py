"""A game as pictures: which stones stand after each move. Plain Python, since a web process loads no kernels.

Only what a viewer needs: stones are put and captured, and nothing is judged; a record may wait for its audit, or have
been refused, so any moves have some picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Point = tuple[int, int]  # (x, y), y down
Stones = dict[Point, str]


@dataclass(frozen=True)
class Frame:
    """What one move changed: the stone put, if any, and those taken off, as (x, y)."""

    colour: str
    point: Point | None
    removed: tuple[Point, ...]


def frames(
    x_size: int, y_size: int, initial: Sequence[tuple[str, Point]], moves: Sequence[tuple[str, Point | None]]
) -> list[Frame]:
    """The change that each move makes to the board; colours are ``B`` and ``W``, a pass has no point."""
    stones: Stones = {point: colour for colour, point in initial}
    found = []
    for colour, point in moves:
        removed: set[Point] = set()
        if point in stones:
            point = None  # nothing that a board could show; the audit has refused the game
        if point is not None:
            stones[point] = colour
            for neighbour in _neighbours(point, x_size, y_size):
                if neighbour not in removed and stones.get(neighbour) not in (None, colour):
                    removed |= _dead_chain(stones, neighbour, x_size, y_size)
            for taken in removed:
                del stones[taken]
            suicide = _dead_chain(stones, point, x_size, y_size)
            for taken in suicide:
                del stones[taken]
            removed |= suicide
        found.append(Frame(colour, point, tuple(sorted(removed))))
    return found


def position(initial: Sequence[tuple[str, Point]], played: Sequence[Frame]) -> Stones:
    """The stones on the board after the given frames."""
    stones: Stones = {point: colour for colour, point in initial}
    for frame in played:
        if frame.point is not None:
            stones[frame.point] = frame.colour
        for point in frame.removed:
            del stones[point]
    return stones


def _neighbours(point: Point, x_size: int, y_size: int) -> list[Point]:
    x, y = point
    around = ((x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1))
    return [(i, j) for i, j in around if 0 <= i < x_size and 0 <= j < y_size]


def _dead_chain(stones: Stones, start: Point, x_size: int, y_size: int) -> set[Point]:
    """The chain at ``start`` if it has no liberty, else nothing."""
    colour = stones[start]
    chain, waiting = {start}, [start]
    while waiting:
        for neighbour in _neighbours(waiting.pop(), x_size, y_size):
            if neighbour not in stones:
                return set()
            if stones[neighbour] == colour and neighbour not in chain:
                chain.add(neighbour)
                waiting.append(neighbour)
    return chain
