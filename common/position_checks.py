"""Start positions that somebody gave: what is wrong with one, beyond its form (selfplay.md 2).

`common.wire.StartPosition` has checked the form. Needs no kernels, so that processes which only pass positions on can
refuse them.
"""

from __future__ import annotations

from collections.abc import Sequence

from common import wire


class PositionError(ValueError):
    """A position at which no game can begin; the message says why."""


def check_position(position: wire.StartPosition, length: int) -> None:
    """See that a game can begin at ``position`` on a board within tensors of edge ``length``.

    Moves after the stones need not be legal: rules differ, and they are played as far as they are.

    Raises:
        PositionError: the board is too large, or has stones without liberties.
    """
    x_size, y_size = position.x_size, position.y_size
    if max(x_size, y_size) > length:
        raise PositionError(f"a start position of {x_size}x{y_size} is larger than the run's edge {length}")
    dead = _dead_stone(position.board.split("/"))
    if dead is not None:
        raise PositionError(
            f"a start position has a stone without liberties at column {dead[0] + 1}, row {dead[1] + 1}"
        )


def _dead_stone(rows: Sequence[str]) -> tuple[int, int] | None:
    """A stone (x, y) of a chain without liberties, if there is one."""
    seen: set[tuple[int, int]] = set()
    for y, row in enumerate(rows):
        for x, letter in enumerate(row):
            if letter == "." or (x, y) in seen:
                continue
            chain, lives = _chain_at(rows, x, y)
            if not lives:
                return x, y
            seen |= chain
    return None


def _chain_at(rows: Sequence[str], x: int, y: int) -> tuple[set[tuple[int, int]], bool]:
    """The stones connected with the one at (x, y), and whether they have a liberty."""
    chain, waiting, lives = {(x, y)}, [(x, y)], False
    while waiting:
        column, line = waiting.pop()
        for at in ((column + 1, line), (column - 1, line), (column, line + 1), (column, line - 1)):
            if not (0 <= at[0] < len(rows[0]) and 0 <= at[1] < len(rows)):
                continue
            letter = rows[at[1]][at[0]]
            lives = lives or letter == "."
            if letter == rows[y][x] and at not in chain:
                chain.add(at)
                waiting.append(at)
    return chain, lives
