"""How a game begins, declared once: for games of people, replays, self-play, forks and side positions alike.

A `GameStart` is plain data and tells everything before the first move that somebody chooses; a `PlayerView` what is not
the game's but its player's. `start_position` makes of both the records that kernels work on. Specification: rules.md 3,
6.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from common.go import board, play
from common.go.handicap import count_stones
from common.go.points import (
    BLACK,
    MAIN_PHASE,
    MAX_LENGTH,
    MIN_LENGTH,
    PASS,
    SECOND_CLEANUP,
    WHITE,
    to_vertex,
    x_of,
    y_of,
)
from common.go.rules import Rules, Scoring
from common.go.state import History, State, new_histories, new_states

Stone = tuple[int, int]
"""``(colour, point)``: a stone that is set up, or a move; the point may then be PASS."""


@dataclass(frozen=True)
class GameStart:
    """A game before its first move.

    Raises:
        ValueError: a size, a phase or a player that is impossible; the message names it.
    """

    x_size: int = MAX_LENGTH
    y_size: int = MAX_LENGTH
    rules: Rules = field(default_factory=Rules)  # with komi
    stones: tuple[Stone, ...] = ()  # on the board before any move
    to_move: int = BLACK  # whose turn it is with these stones
    phase: int = MAIN_PHASE  # or the cleanup phase in which the game begins (rules.md 6)
    moves: tuple[Stone, ...] = ()  # played on the stones before the game's own, whether or not the rules allow them
    first_turn: int = 0  # number of the turn before the first of ``moves``, where earlier ones are not known
    bonus_before: float = 0.0  # White's bonus points from before the stones, which those do not tell
    handicap_stones: int | None = None  # their number, where neither stones nor moves are to be counted
    leading_moves_are_handicap: bool = False  # whether Black's first moves in a row count as handicap stones

    def __post_init__(self) -> None:
        if not (MIN_LENGTH <= self.x_size <= MAX_LENGTH and MIN_LENGTH <= self.y_size <= MAX_LENGTH):
            raise ValueError(
                f"a board of {self.x_size}x{self.y_size} is not from {MIN_LENGTH} to {MAX_LENGTH} in both directions"
            )
        is_phase = MAIN_PHASE <= self.phase <= SECOND_CLEANUP
        if not is_phase or (self.phase > MAIN_PHASE and self.rules.scoring != Scoring.TERRITORY):
            raise ValueError(f"phase {self.phase} is none of 0, 1 and 2, or a cleanup phase without territory scoring")
        if self.to_move not in (BLACK, WHITE):
            raise ValueError(f"to_move {self.to_move} is neither BLACK ({BLACK}) nor WHITE ({WHITE})")

    @property
    def area(self) -> int:
        """Points of the board."""
        return self.x_size * self.y_size

    @property
    def turn(self) -> int:
        """The number of turns before the game's first, passes included."""
        return self.first_turn + len(self.moves)

    def followed_by(self, moves: Iterable[Stone]) -> GameStart:
        """The game that begins after ``moves`` of this one: a fork, or a position to be asked about."""
        return replace(self, moves=(*self.moves, *moves))

    def under(self, rules: Rules) -> GameStart:
        """The same stones and moves under other rules, or with another komi."""
        return replace(self, rules=rules, phase=self.phase if rules.scoring == Scoring.TERRITORY else MAIN_PHASE)


@dataclass(frozen=True)
class PlayerView:
    """What a game's player sees in its own way; the game is the same without."""

    draw_white_wins: float = 0.5  # how many wins a draw is worth for White, in [0, 1]
    pass_alive_suicide: bool = False  # pass-alive areas as if suicide were legal, whatever the rule (rules.md 9.4)

    def write_to(self, state: State) -> None:
        """Set the fields of a STATE whose rules are set."""
        state["draw_white_wins"] = self.draw_white_wins
        if self.pass_alive_suicide:
            state["pass_alive_suicide"] = 1


PLAIN_VIEW = PlayerView()
"""A draw is half a win, and the rules say what suicide is."""


def start_position(start: GameStart, view: PlayerView = PLAIN_VIEW) -> tuple[State, History]:
    """A STATE and its HISTORY before the first move.

    Raises:
        ValueError: a stone that cannot be set up, or a move that no rules allow; the message names it.
    """
    state, history = new_states(1)[0], new_histories(1)[0]
    board.reset(state, start.x_size, start.y_size)
    start.rules.write_to(state)
    view.write_to(state)
    for colour, point in start.stones:
        if not board.set_stone(state, point, colour):
            name = point_name(point, start.x_size, start.y_size)
            raise ValueError(f"no stone of colour {colour} can be set up at {name}: taken, off the board or dead")
    play.begin(state, history, start.to_move, start.phase)
    state["white_bonus"] += start.bonus_before
    for number, (colour, point) in enumerate(start.moves, start=start.first_turn + 1):
        if not (play.take_turn(state, history, colour) and play.is_possible(state, point)):
            name = point_name(point, start.x_size, start.y_size)
            raise ValueError(f"move {number} of the start, of colour {colour} at {name}, cannot be played")
        play.play(state, history, point)
    count_handicap(state, start)
    return state, history


def count_handicap(state: State, start: GameStart, moves: Iterable[Stone] = ()) -> None:
    """Set the bonus of a handicap game that came to ``state`` by its start and ``moves`` (rules.md 3)."""
    if start.handicap_stones is not None:
        play.set_handicap_stones(state, start.handicap_stones)
    elif start.leading_moves_are_handicap:
        colours = [colour for colour, _ in start.stones]
        all_moves = ((colour, point == PASS) for colour, point in (*start.moves, *moves))
        play.set_handicap_stones(state, count_stones(colours, all_moves))


def point_name(point: int, x_size: int, y_size: int) -> str:
    """The vertex of a point, also of one that is none of this board, for messages."""
    if point == PASS or (0 <= x_of(point) < x_size and 0 <= y_of(point) < y_size):
        return to_vertex(point, y_size)
    return f"point {point} (off the board)"
