"""A running game as one record without Python objects: its moves, its live position, and how it ends.

The records of many games lie in one array, and each can be copied by its bytes, gone on with elsewhere, and read by
kernels. A kind of games adds its own fields (`game_dtype`); the functions here read and write those that all have.
Knows the rules only through the kernels of `common.go`. Which move is played, and by what search, is decided in
`client.games.selfplay_game` and `client.games.match_game`. Specification: selfplay.md 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from client.games.chance import symmetry_salt
from client.games.orders import NetChange
from client.games.starts import PLAIN, Provenance
from client.search.mirror import mirroring_player
from common.go import play, scoring
from common.go.passalive import AREA_SCRATCH
from common.go.points import NUM_POINTS, opponent
from common.go.start import GameStart, PlayerView, Stone
from common.go.state import HISTORY, STATE, History, State
from common.kernels import njit
from common.replay import MAX_TURNS

if TYPE_CHECKING:
    from client.games.inside_trees import InsideTree

Game = np.void
"""One record of a `game_dtype`: ``games[slot]``."""


def game_dtype(*fields: tuple[Any, ...]) -> np.dtype[np.void]:
    """The records of a kind of games: what all games have, and ``fields`` of the kind's own."""
    common: list[tuple[Any, ...]] = [
        ("state", STATE),
        ("history", HISTORY),
        ("seed", np.uint64),  # of all that is drawn
        ("hash_words", np.uint64, 2),  # that name the game
        ("symmetry_salt", np.int8),  # of its searches
        ("awaits", np.bool_),  # a turn's search has been ordered
        ("max_searched_moves", np.int32),  # the game is stopped after so many
        ("turn", np.int32),  # moves played so far
        ("first_searched_turn", np.int32),  # those before it are of the beginning
        ("first_turn", np.int32),  # number of turn 0, where the record starts in mid-game
        ("colours", np.int8, MAX_TURNS),  # who moved, at turns below ``turn``
        ("points", np.int16, MAX_TURNS),  # what was played there
        ("win_losses", np.float64, MAX_TURNS),  # win minus loss of White by the searches, from first_searched_turn on
    ]
    # The kind's own come first: numba takes a record that only has more at its end for another one's subtype.
    return np.dtype([*fields, *common], align=True)


def new_records(capacity: int, dtype: np.dtype[np.void]) -> npt.NDArray[np.void]:
    """Records of ``capacity`` games, two at least: a field of one alone lies in one piece, and kernels that take it
    would be compiled again.
    """
    return np.zeros(max(capacity, 2), dtype)


@dataclass(frozen=True)
class Notes:
    """What is kept of a running game beside its record, as Python's objects, since only its end needs it.

    Nothing in them decides how the game goes on.
    """

    start: GameStart
    view: PlayerView
    provenance: Provenance = PLAIN
    net_changes: tuple[NetChange, ...] = ()
    inside: list[InsideTree] = field(default_factory=list)
    """Grows with each turn, where rows of it are wanted."""
    seconds: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """By seat: what its searches by the clock took so far."""


class AliveScratch(NamedTuple):
    """Working space of `all_pass_alive`; contents mean nothing between calls."""

    area: npt.NDArray[np.int8]  # [NUM_POINTS]
    regions: np.void  # AREA_SCRATCH


def new_alive_scratch() -> AliveScratch:
    """Working space for the games of one thread."""
    return AliveScratch(np.zeros(NUM_POINTS, np.int8), np.zeros(1, AREA_SCRATCH)[0])


def begin_game(
    game: Game,
    state: State,
    history: History,
    moves: Sequence[Stone] = (),
    *,
    seed: int,
    hash_words: tuple[int, int],
    max_searched_moves: int,
    first_turn: int = 0,
) -> None:
    """Set the fields that all games have, whatever the record held before.

    Args:
        game: changed in place.
        state: the position at the first searched turn, copied.
        history: its HISTORY, copied.
        moves: ``(colour, point)`` of those before that.
        seed: of all that is drawn, below 2^64.
        hash_words: two 64-bit words that name the game.
        max_searched_moves: the game is stopped after so many moves from its first searched turn on.
        first_turn: number of the turn before all moves, where earlier ones are not known.
    """
    game["state"], game["history"] = state, history
    game["seed"], game["hash_words"], game["max_searched_moves"] = seed, hash_words, max_searched_moves
    game["turn"] = game["first_searched_turn"] = len(moves)
    game["colours"][: len(moves)] = [colour for colour, _ in moves]
    game["points"][: len(moves)] = [point for _, point in moves]
    game["first_turn"] = first_turn
    game["symmetry_salt"], game["awaits"] = symmetry_salt(seed), False


@njit(cache=True, nogil=True)
def is_over(game: Game) -> bool:
    """The rules have ended the game."""
    return bool(game["state"]["finished"])


@njit(cache=True, nogil=True)
def hit_move_limit(game: Game) -> bool:
    """The game has to be stopped as it stands; the record may also be full before the limit is reached."""
    turn = game["turn"]
    is_long = turn - game["first_searched_turn"] >= game["max_searched_moves"] or turn >= MAX_TURNS
    return bool(is_long and not is_over(game))


@njit(cache=True, nogil=True)
def all_pass_alive(game: Game, scratch: AliveScratch) -> bool:
    """Every point of the board is decided (rules.md 4.3)."""
    return bool(scoring.all_pass_alive(game["state"], scratch.area, scratch.regions))


@njit(cache=True, nogil=True)
def mirroring_opponent(game: Game) -> int:
    """The colour of the player who is not to move if it plays mirror go, else EMPTY."""
    state = game["state"]
    other: Any = np.int64(opponent(state["to_move"]))
    return int(mirroring_player(game["colours"], game["points"], game["turn"], other, state["x_size"], state["y_size"]))


@njit(cache=True, nogil=True)
def play_move(game: Game, point: int) -> None:
    """Play a legal move or pass for the player to move."""
    turn: Any = np.int64(game["turn"])
    state = game["state"]
    game["colours"][turn] = state["to_move"]
    game["points"][turn] = point
    game["turn"] = turn + 1
    play.play(state, game["history"], point)
