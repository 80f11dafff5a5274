"""Slow twins of areas and ladders: sets of points and plain loops, straight from the sentences of rules.md.

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


# -- ladders (11) --


def chain_at(board: Board, point: Point) -> set[Point]:
    """The chain that ``point`` belongs to."""
    chain = {point}
    while grown := {p for p in touching(board, chain) - chain if board[p] == board[point]}:
        chain |= grown
    return chain


def liberties_at(board: Board, point: Point) -> list[Point]:
    """The liberties of the chain at ``point``."""
    return sorted(p for p in touching(board, chain_at(board, point)) if board[p] == ".")


def after(board: Board, point: Point, colour: str) -> tuple[Board, Point | None] | None:
    """The board after a move, and its ko point; None for a suicide."""
    played = dict(board)
    played[point] = colour
    taken = set()
    for near in around(played, point):
        if played[near] not in (".", colour) and not liberties_at(played, near):
            taken |= chain_at(played, near)
    played.update(dict.fromkeys(taken, "."))
    left = liberties_at(played, point)
    if not left:
        return None
    is_ko = len(taken) == 1 and len(chain_at(played, point)) == 1 and len(left) == 1
    return played, min(taken) if is_ko else None


def takes_ko(board: Board, point: Point, colour: str) -> bool:
    """Whether a move of ``colour`` at ``point`` has the shape of a ko capture (2)."""
    near = around(board, point)
    if any(board[p] in (".", colour) for p in near):
        return False
    in_atari = [p for p in near if len(liberties_at(board, p)) == 1]
    return len(in_atari) == 1 and len(chain_at(board, in_atari[0])) == 1


def captures_of(board: Board, target: Point) -> set[Point]:
    """Last liberties of the attacker's chains in atari beside the chain at ``target``."""
    attacker = "X" if board[target] == "O" else "O"
    beside = touching(board, chain_at(board, target))
    return {liberties_at(board, p)[0] for p in beside if board[p] == attacker and len(liberties_at(board, p)) == 1}


def sure_liberties(board: Board, point: Point, colour: str) -> int:
    """What KataGo takes for a lower bound of the liberties of a stone at ``point`` (11, last paragraph)."""
    near = around(board, point)
    captures = sum(board[p] not in (".", colour) and len(liberties_at(board, p)) == 1 for p in near)
    joined = [len(liberties_at(board, p)) - 1 for p in near if board[p] == colour]
    return captures + max([sum(board[p] == "." for p in near), *joined])


def is_captured(board: Board, target: Point, ko: Point | None, depth: int = 0, as_katago: bool = False) -> bool:
    """Whether the chain at ``target`` is captured; its owner is to move where ``depth`` is even.

    ``as_katago``: it is not where KataGo may take it for escaped, whichever capture it looks at.
    """
    if depth >= 3 * len(board) // 2:
        return True
    defender = board[target]
    attacker = "X" if defender == "O" else "O"
    liberties = liberties_at(board, target)
    captures = captures_of(board, target)
    if depth % 2 == 0:
        if len(liberties) >= 2 or (ko is not None and depth > 0):
            return False
        others = captures - set(liberties)
        if as_katago and len(others) < len(captures) and any(sure_liberties(board, p, defender) >= 3 for p in others):
            return False
        moves, mover, wanted = captures | set(liberties), defender, False
        ko = None if depth == 0 else ko
    else:
        if len(liberties) != 2:
            return len(liberties) < 2
        if (
            not any(board[p] == "." for liberty in liberties for p in around(board, liberty))
            and all(takes_ko(board, liberty, attacker) for liberty in liberties)
            and all(
                (extended := after(board, liberty, defender)) and len(liberties_at(extended[0], liberty)) <= 2
                for liberty in liberties
            )
            and not captures
        ):
            return True
        moves, mover, wanted = set(liberties), attacker, True
    for move in moves:
        played = after(board, move, mover) if move != ko else None
        if played is not None and is_captured(played[0], target, played[1], depth + 1, as_katago) == wanted:
            return wanted
    return not wanted


def ladders(board: Board, as_katago: bool = False) -> tuple[set[Point], set[tuple[str, Point]]]:
    """Stones of laddered chains, and the working moves with their colours; the board has no ko point."""
    laddered: set[Point] = set()
    working = set()
    for colour, attacker in ("XO", "OX"):
        for chain in components(board, (p for p in board if board[p] == colour)):
            liberties = liberties_at(board, min(chain))
            if len(liberties) == 1 and is_captured(board, min(chain), None, as_katago=as_katago):
                laddered |= chain
            if len(liberties) == 2:
                for move in liberties:
                    played = after(board, move, attacker)
                    if played is not None and is_captured(played[0], min(chain), None, as_katago=as_katago):
                        laddered |= chain
                        working.add((attacker, move))
    return laddered, working


def picture(board: Board) -> str:
    """Rows of ``board`` joined by ``/``."""
    width = 1 + max(x for x, _ in board)
    height = 1 + max(y for _, y in board)
    return "/".join("".join(board[x, y] for x in range(width)) for y in range(height))
