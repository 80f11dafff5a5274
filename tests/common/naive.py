"""Slow twins of the game's kernels: sets of points and plain loops, straight from the sentences of rules.md.

A board is a list of rows of ``.``, ``X``, ``O``; a point is a pair (x, y).
"""

from __future__ import annotations

from collections.abc import Iterable

Point = tuple[int, int]
Board = dict[Point, str]


def board_of(picture: str) -> Board:
    """Points and letters of a picture (`tests.common.pictures`)."""
    rows = picture.replace("/", " ").split()
    return {(x, y): letter for y, row in enumerate(rows) for x, letter in enumerate(row)}


def around(board: Board, point: Point) -> list[Point]:
    """The neighbours of a point that are on the board."""
    x, y = point
    return [near for near in ((x, y - 1), (x - 1, y), (x + 1, y), (x, y + 1)) if near in board]


def components(board: Board, points: Iterable[Point]) -> list[set[Point]]:
    """Maximal connected sets within ``points``."""
    left = set(points)
    found = []
    while left:
        component = set()
        waiting = [min(left)]
        while waiting:
            point = waiting.pop()
            if point in left:
                left.remove(point)
                component.add(point)
                waiting.extend(around(board, point))
        found.append(component)
    return found


def touching(board: Board, points: Iterable[Point]) -> set[Point]:
    """Every point beside one of ``points``."""
    return {near for point in points for near in around(board, point)}


def pass_alive(board: Board, colour: str, suicide: bool) -> tuple[list[set[Point]], list[set[Point]], list[set[Point]]]:
    """Pass-alive chains of ``colour``, all its regions, and those regions that border living chains only (9.1)."""
    chains = components(board, (p for p in board if board[p] == colour))
    regions = components(board, (p for p in board if board[p] != colour)) if chains else []
    alive = list(chains)
    clean = list(regions)
    while True:
        dead_stones = {p for chain in chains if chain not in alive for p in chain}
        clean = [region for region in regions if not touching(board, region) & dead_stones]
        still = []
        for chain in alive:
            beside = touching(board, chain)
            vital = [r for r in clean if all(p in beside for p in r if suicide or board[p] == ".")]
            if len(vital) >= 2:
                still.append(chain)
        if still == alive:
            return alive, regions, clean
        alive = still


def calculate_area(board: Board, stones: bool, safe_big: bool, unsafe_big: bool, suicide: bool) -> Board:
    """Owner of each point, ``.`` for nobody (9.2)."""
    area = dict.fromkeys(board, ".")
    for colour in "XO":
        alive, regions, clean = pass_alive(board, colour, suicide)
        area.update({p: colour for chain in alive for p in chain})
        for region in regions:
            internal = sum(not any(board[near] == colour for near in around(board, p)) for p in region)
            undisputed = all(board[p] == "." for p in region)
            if region in clean and (internal <= 1 or (safe_big and undisputed)):
                area.update(dict.fromkeys(region, colour))
            elif unsafe_big and undisputed:
                area.update({p: colour for p in region if area[p] == "."})
    if stones:
        area.update({p: board[p] for p in board if area[p] == "."})
    return area


def independent_life(board: Board, keep_territories: bool, keep_stones: bool, suicide: bool) -> tuple[Board, int]:
    """Owner of each point, and White's independent regions minus Black's (9.3)."""
    basic = calculate_area(board, True, True, True, suicide)
    dame = {p for p in board if board[p] == "." and basic[p] == "."}
    in_atari = {
        p
        for colour in "XO"
        for chain in components(board, (p for p in board if board[p] == colour))
        if sum(board[near] == "." for near in touching(board, chain)) == 1
        for p in chain
    }
    area = dict.fromkeys(board, ".")
    excess = 0
    for owner in "XO":
        for component in components(board, (p for p in board if basic[p] == owner)):
            own_stones = {p for p in component if board[p] == owner}
            if not own_stones & in_atari and not touching(board, component) & dame:
                area.update(dict.fromkeys(component, owner))
                excess += 1 if owner == "O" else -1
    for p in board:
        if (keep_stones and basic[p] == board[p]) or (keep_territories and basic[p] != board[p]):
            area[p] = basic[p]
    return area, excess


def picture(board: Board) -> str:
    """Rows of ``board`` joined by ``/``."""
    width = 1 + max(x for x, _ in board)
    height = 1 + max(y for _, y in board)
    return "/".join("".join(board[x, y] for x in range(width)) for y in range(height))
