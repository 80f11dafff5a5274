"""A recorded game as text-level facts, and the text forms of its comments; no legality, no files, no SGF grammar.

`common.sgf` reads and writes records. Coordinates are (x, y) from 0 in the upper left corner. Values of searches are
White's for both colours. Specification of the comments: selfplay.md 10.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from common.go.basics import BLACK
from common.go.handicap import count_stones
from common.go.rules import Rules

GAME_TYPES: Final = (
    "normal", "cleanuptraining", "fork", "handicap", "sgfpos", "hintpos", "hintfork", "asym",
)  # fmt: skip
PASS_FOR_KO: Final = "Pass for ko"
LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Columns and rows in an SGF, from 0."""
_PASS: Final = "pass"  # as a top move


class TopMove(NamedTuple):
    """A move that a search has looked at."""

    at: tuple[int, int] | None  # None is a pass
    visits: int
    win_loss: float  # White's, 2 decimals

    def to_text(self) -> str:
        """E.g. ``dd:12:0.31``."""
        where = _PASS if self.at is None else LETTERS[self.at[0]] + LETTERS[self.at[1]]
        return f"{where}:{self.visits}:{self.win_loss:.2f}"

    @staticmethod
    def from_text(text: str) -> TopMove:
        """Inverse of `to_text` for what `_TOP_MOVE` matches."""
        where, visits, win_loss = text.split(":")
        at = None if where == _PASS else (LETTERS.index(where[0]), LETTERS.index(where[1]))
        return TopMove(at, int(visits), float(win_loss))


_TOP_MOVE: Final = rf"(?:{_PASS}|[a-zA-Z]{{2}}):\d{{1,9}}:-?\d\.\d\d"


@dataclass(frozen=True, slots=True)
class MoveValues:
    """What the search of one turn found, to the digits that are written; White's view."""

    win: float  # probability, 2 decimals, as loss and no_result
    loss: float
    no_result: float
    score: float  # points, 1 decimal
    visits: int
    reanalysis_visits: int | None = None  # visits of a later search, which the values then come from
    weight: float | None = None  # of the training row, 2 decimals
    top: tuple[TopMove, ...] = ()  # the moves with most visits; ours alone, where a run asks for them

    @property
    def win_loss(self) -> float:
        """P(White wins) - P(White loses)."""
        return self.win - self.loss

    def to_text(self) -> str:
        """E.g. ``0.55 0.45 0.00 1.1 v=24 weight=0.94``."""
        parts = [f"{self.win:.2f} {self.loss:.2f} {self.no_result:.2f} {self.score:.1f} v={self.visits}"]
        if self.reanalysis_visits is not None:
            parts.append(f"rv={self.reanalysis_visits}")
        if self.weight is not None:
            parts.append(f"weight={self.weight:.2f}")
        if self.top:
            parts.append("top=" + ",".join(move.to_text() for move in self.top))
        return " ".join(parts)

    @staticmethod
    def from_text(text: str) -> MoveValues | None:
        """Inverse of `to_text`; None for any other text."""
        found = _VALUES.fullmatch(text)
        if found is None:
            return None
        win, loss, no_result, score, visits, again, weight, top = found.groups()
        return MoveValues(
            float(win),
            float(loss),
            float(no_result),
            float(score),
            int(visits),
            None if again is None else int(again),
            None if weight is None else float(weight),
            () if top is None else tuple(TopMove.from_text(move) for move in top.split(",")),
        )


_VALUES: Final = re.compile(
    r"(-?\d{1,3}\.\d\d) (-?\d{1,3}\.\d\d) (-?\d{1,3}\.\d\d) (-?\d{1,6}\.\d) v=(\d{1,15})"
    r"(?: rv=(\d{1,15}))?(?: weight=(\d{1,6}\.\d\d))?"
    rf"(?: top=({_TOP_MOVE}(?:,{_TOP_MOVE})*))?"
)


@dataclass(frozen=True, slots=True)
class Move:
    """One turn of a record."""

    colour: int  # BLACK or WHITE
    at: tuple[int, int] | None  # None is a pass
    is_pass_for_ko: bool = False  # ``at`` is the point whose ko block is lifted (rules.md 6)
    values: MoveValues | None = None
    comment: str = ""  # what a comment says beside values


@dataclass(frozen=True, slots=True, kw_only=True)
class StartInfo:
    """The facts of KataGo's root comment."""

    start_turn: int  # moves in the record before searched play
    first_turn: int = 0  # turn number of the first recorded move
    game_hash: str  # 32 upper-case hexadecimal digits
    game_type: str = "normal"  # one of GAME_TYPES
    began_in_phase: int = 0
    used_initial_position: bool = False  # began at a position from a pool
    white_doublings: float | None = None  # playout doubling advantage, White's view
    new_networks: tuple[tuple[int, str], ...] = ()  # turn and name of each network change
    seconds: tuple[float, float] | None = None  # time used by Black and White

    def to_text(self) -> str:
        """E.g. ``startTurnIdx=5,initTurnNum=0,gameHash=0E37…,gtype=normal``."""
        parts = [
            f"startTurnIdx={self.start_turn}",
            f"initTurnNum={self.first_turn}",
            f"gameHash={self.game_hash}",
            f"gtype={self.game_type}",
        ]
        if self.began_in_phase:
            parts.append(f"beganInEncorePhase={self.began_in_phase}")
        if self.used_initial_position:
            parts.append("usedInitialPosition=1")
        if self.white_doublings is not None:
            parts.append(f"pdaWhite={self.white_doublings:.6g}")
        parts += [f"newNeuralNetTurn{turn}={name}" for turn, name in self.new_networks]
        if self.seconds is not None:
            parts += [f"bTimeUsed={self.seconds[0]:.6g}", f"wTimeUsed={self.seconds[1]:.6g}"]
        return ",".join(parts)

    @staticmethod
    def from_text(text: str) -> StartInfo | None:
        """Inverse of `to_text`; None for a comment that is nothing of this kind.

        Unknown keys are passed over.

        Raises:
            ValueError: the comment begins like this one, but a value does not hold.
        """
        if not text.startswith("startTurnIdx="):
            return None
        values: dict[str, str] = {}
        for part in text.split(","):
            key, equals, value = part.strip().partition("=")
            if not equals or key in values:
                raise ValueError(f"{part[:40]!r} in the root comment is not key=value, or given twice")
            values[key] = value
        missing = [key for key in ("initTurnNum", "gameHash", "gtype") if key not in values]
        if missing:
            raise ValueError(f"the root comment lacks {missing[0]}")
        return _start_info(values)


def _start_info(values: dict[str, str]) -> StartInfo:
    turns = {
        key.removeprefix("newNeuralNetTurn"): name for key, name in values.items() if key.startswith("newNeuralNetTurn")
    }
    if not re.fullmatch(r"[0-9A-Fa-f]{32}", values["gameHash"]):
        raise ValueError("gameHash in the root comment is not 32 hexadecimal digits")
    if values["gtype"] not in GAME_TYPES:
        raise ValueError(f"gtype={values['gtype'][:30]} in the root comment is none of {', '.join(GAME_TYPES)}")
    black_seconds, white_seconds = values.get("bTimeUsed"), values.get("wTimeUsed")
    return StartInfo(
        start_turn=_whole("startTurnIdx", values["startTurnIdx"]),
        first_turn=_whole("initTurnNum", values["initTurnNum"]),
        game_hash=values["gameHash"].upper(),
        game_type=values["gtype"],
        began_in_phase=_whole("beganInEncorePhase", values.get("beganInEncorePhase", "0"), most=2),
        used_initial_position=_whole("usedInitialPosition", values.get("usedInitialPosition", "0"), most=1) == 1,
        white_doublings=_number("pdaWhite", values["pdaWhite"]) if "pdaWhite" in values else None,
        new_networks=tuple((_whole("newNeuralNetTurn", turn), name) for turn, name in turns.items()),
        seconds=None
        if black_seconds is None or white_seconds is None
        else (_number("bTimeUsed", black_seconds), _number("wTimeUsed", white_seconds)),
    )


def _whole(key: str, text: str, most: int = 10**6) -> int:
    if not re.fullmatch(r"\d{1,7}", text) or int(text) > most:
        raise ValueError(f"{key}={text[:20]} in the root comment is not an integer from 0 to {most}")
    return int(text)


def _number(key: str, text: str) -> float:
    if not re.fullmatch(r"-?\d{1,10}(?:\.\d{1,20})?(?:e[+-]?\d{1,2})?", text):
        raise ValueError(f"{key}={text[:20]} in the root comment is not a number")
    return float(text)


@dataclass(frozen=True, kw_only=True)
class GameRecord:
    """One game as its record tells it."""

    x_size: int
    y_size: int
    rules: Rules  # with komi
    black_name: str = ""
    white_name: str = ""
    handicap: int = 0  # as ``HA``: 0, or 2 and more; `counted_handicap` is what KataGo writes
    stones: tuple[tuple[int, int, int], ...] = ()
    """``(colour, x, y)`` on the board before the first move, row by row, Black's first."""
    moves: tuple[Move, ...] = ()
    result: str | None = None
    """``B+R``, ``W+12.5``, ``0`` (draw), ``Void`` (no result), None where the game did not finish."""
    resignation: MoveValues | None = None
    """The values of the loser's last turn: its move is not part of the record when it resigned upon it."""
    info: StartInfo | None = None
    comment: str = ""  # root comment where it is not `info`
    beginner: int = BLACK  # who is to move where there are no moves
    warnings: tuple[str, ...] = field(default=(), compare=False)
    """What the reader guessed or passed over, one sentence each."""

    @property
    def first_player(self) -> int:
        """Who makes the first move."""
        return self.moves[0].colour if self.moves else self.beginner

    def counted_handicap(self) -> int:
        """Handicap stones counted from stones and moves: 0, or 2 and more."""
        return count_stones(
            (colour for colour, _, _ in self.stones),
            ((move.colour, move.at is None or move.is_pass_for_ko) for move in self.moves),
        )


def move_comment(move: Move, result: str | None) -> str:
    """Comment of a move's node; ``result`` for the last move of a finished game."""
    parts = [PASS_FOR_KO] if move.is_pass_for_ko else []
    if move.values is not None:
        parts.append(move.values.to_text())
    elif move.comment:
        parts.append(move.comment)
    if result is not None:
        parts.append(f"result={result}")
    return " ".join(parts)


def split_comment(text: str) -> tuple[MoveValues | None, str]:
    """Values and remaining text of a move's comment; inverse of `move_comment`."""
    text = text.strip()
    if text == PASS_FOR_KO or text.startswith(PASS_FOR_KO + " "):
        text = text.removeprefix(PASS_FOR_KO).lstrip()
    text = re.sub(r"(?:^| )result=[^ ]*$", "", text)
    values = MoveValues.from_text(text)
    return (values, "") if values is not None else (None, text)
