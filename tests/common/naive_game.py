"""A slow twin of `common.go.play`, written from the sentences of rules.md 2, 4 and 6 with dictionaries and sets.

Boards are those of `tests.common.naive`: a dictionary from (x, y) to ``.``, ``X`` or ``O``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from common.go.rules import Ko, Rules, Scoring
from tests.common.naive import Board, Point, around, touching

OTHER = {"X": "O", "O": "X"}


def chain_of(board: Board, point: Point) -> set[Point]:
    """All stones connected with the one at ``point``."""
    chain: set[Point] = set()
    waiting = [point]
    while waiting:
        stone = waiting.pop()
        if stone not in chain:
            chain.add(stone)
            waiting.extend(near for near in around(board, stone) if board[near] == board[point])
    return chain


def liberties(board: Board, point: Point) -> set[Point]:
    """The liberties of the chain at ``point``."""
    return {near for near in touching(board, chain_of(board, point)) if board[near] == "."}


def after_move(board: Board, point: Point, colour: str) -> tuple[Board, Point | None]:
    """The board after a stone at ``point``, and the simple-ko point."""
    result = {**board, point: colour}
    taken: set[Point] = set()
    for near in around(board, point):
        if result[near] == OTHER[colour] and not liberties(result, near):
            taken |= chain_of(result, near)
    result.update(dict.fromkeys(taken, "."))
    if not liberties(result, point):
        result.update(dict.fromkeys(chain_of(result, point), "."))
        return result, None
    alone = chain_of(result, point) == {point} and len(liberties(result, point)) == 1
    return result, taken.pop() if alone and len(taken) == 1 else None


def ko_capture(board: Board, point: Point, colour: str) -> Point | None:
    """*koCapture* of rules.md 2."""
    near = around(board, point)
    if board[point] != "." or any(board[stone] != OTHER[colour] for stone in near):
        return None
    in_atari = [stone for stone in near if len(liberties(board, stone)) == 1]
    return in_atari[0] if len(in_atari) == 1 and chain_of(board, in_atari[0]) == {in_atari[0]} else None


@dataclass
class NaiveGame:
    """One game in progress; a move is a point, None is a pass."""

    board: Board
    rules: Rules
    to_move: str = "X"
    phase: int = 0
    ko_point: Point | None = None
    blocked: frozenset[Point] = frozenset()
    passes: int = 0
    finished: bool = False
    no_result: bool = False
    white_bonus: float = 0.0
    keys: list[Any] = field(default_factory=list)
    pass_keys: set[Any] = field(default_factory=set)
    ko_log: set[Any] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.button = self.rules.has_button
        if self.rules.scoring == Scoring.TERRITORY:
            stones = list(self.board.values())
            self.white_bonus = stones.count("X") - stones.count("O")
        self.keys.append(self.key(self.board, self.to_move))

    def grid(self, board: Board) -> str:
        return "".join(board[point] for point in sorted(board))

    def key(self, board: Board, to_move: str) -> Any:
        if self.phase > 0:
            return self.grid(board), to_move, self.blocked
        return (self.grid(board),) if self.rules.ko == Ko.POSITIONAL else (self.grid(board), to_move)

    def unblocks(self, point: Point) -> Point | None:
        """The stone whose block a pass-for-ko at ``point`` lifts."""
        if self.phase == 0:
            return None
        if self.board[point] == OTHER[self.to_move] and point in self.blocked:
            lone = chain_of(self.board, point) == {point} and len(liberties(self.board, point)) == 1
            return point if lone else None
        taken = ko_capture(self.board, point, self.to_move)
        return taken if taken in self.blocked else None

    def is_legal(self, point: Point | None) -> bool:
        if point is None or self.unblocks(point) is not None:
            return True
        if self.board[point] != ".":
            return False
        after, _ = after_move(self.board, point, self.to_move)
        own = any(self.board[near] == self.to_move for near in around(self.board, point))
        if after[point] == "." and not (self.rules.suicide and own):
            return False
        if self.phase > 0:
            return (self.grid(self.board), point, self.to_move) not in self.ko_log
        if point == self.ko_point:
            return False
        return self.rules.ko == Ko.SIMPLE or self.key(after, OTHER[self.to_move]) not in self.keys

    def play(self, point: Point | None) -> None:
        loose = self.rules.ko == Ko.SIMPLE or self.phase > 0
        ends = False
        mover = self.to_move
        self.to_move = OTHER[mover]
        if point is None:
            ends = self.play_pass(mover, loose)
        else:
            self.passes = 0
            self.play_point(point, mover)
        self.keys.append(self.key(self.board, self.to_move))
        if point is not None and loose and self.keys.count(self.keys[-1]) >= 3:
            self.finished = self.no_result = True
        if ends:
            self.end_phase()

    def play_pass(self, mover: str, loose: bool) -> bool:
        """Returns whether the phase ends."""
        before = self.key(self.board, mover)
        self.ko_point = None
        if self.button:
            self.button = False
            self.white_bonus += 0.5 if mover == "O" else -0.5
            self.passes = 0
            self.keys.clear()
            self.pass_keys.clear()
            return False
        self.passes += 1
        repeated = loose and (before, mover) in self.pass_keys
        self.pass_keys.add((before, mover))
        if loose:
            self.keys.clear()
        return self.passes >= 2 or repeated

    def play_point(self, point: Point, mover: str) -> None:
        self.to_move = mover
        lifted = self.unblocks(point)
        self.to_move = OTHER[mover]
        if lifted is not None:
            self.blocked -= {lifted}
            return
        before = self.board
        self.board, self.ko_point = after_move(self.board, point, mover)
        if self.rules.scoring == Scoring.TERRITORY and self.phase < 2:
            self.white_bonus += 1 if mover == "X" else -1
        if self.phase > 0:
            if self.ko_point is not None:
                self.ko_log.add((self.grid(before), point, mover))
                self.blocked |= {point}
                self.ko_point = None
            self.blocked = frozenset(stone for stone in self.blocked if self.board[stone] != ".")

    def end_phase(self) -> None:
        if self.rules.scoring == Scoring.AREA or self.phase == 2:
            self.finished = True
            return
        self.phase += 1
        self.passes = 0
        self.blocked = frozenset()
        self.pass_keys.clear()
        self.ko_log.clear()
        self.keys[:] = [self.key(self.board, self.to_move)]
