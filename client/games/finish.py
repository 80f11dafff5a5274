"""Turns a game that is over into what is kept of it: SGF, rows, and the facts of the upload's form.

Specification: selfplay.md 8, 10; contribute-protocol.md 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from client.games.afterwards import Recorded
from client.games.orders import FinishedGame, GameOrder, NetChange
from client.games.played import PlayedGame, PlayedTurns
from client.games.recorder import root_values
from common.audit import UNFINISHED, GameFacts
from common.go.points import EMPTY, PASS, WHITE, x_of, y_of
from common.go.result import resignation_text
from common.go.state import State
from common.replay import Ending, Replay, ending, replay
from common.rows import Rows
from common.sgf import write
from common.sgf_record import GameRecord, Move, MoveValues, StartInfo, TopMove


@dataclass(frozen=True)
class _Result:
    """How a game came out."""

    text: str | None  # as in the SGF; None for a game that was stopped
    winner: str  # as in the form
    white_score: float
    resigned: bool
    leader: str  # the winner, or who is ahead in a game that was stopped


def finish_selfplay(order: GameOrder, recorded: Recorded, top_moves: int) -> FinishedGame:
    """SGF, rows and facts of a game of self-play; the SGF tells so many moves of each search."""
    played, replayed = recorded.played, recorded.replayed
    result = _result(recorded.end, stopped=played.hit_move_limit)
    comments = _comments(recorded.values[:-1], played.turns, recorded.weights.tolist())
    if top_moves:
        comments = [
            replace(comment, top=_top_moves(children, top_moves))
            for comment, children in zip(comments, played.turns.children_by_turn(), strict=True)
        ]
    record = _record(order, played, replayed, comments, result)
    facts = _facts(order, record, result, recorded.rows, played)
    return FinishedGame(order, facts, write(record), recorded.rows, result.leader, net_changes=played.net_changes)


def _top_moves(children: npt.NDArray[np.void], most: int) -> tuple[TopMove, ...]:
    """Those of ``children`` (CHILD, in order of creation) that have most visits, the first of equal ones before."""
    best = children[np.argsort(-children["visits"], kind="stable")[:most]]
    return tuple(
        TopMove(None if point == PASS else (x_of(point), y_of(point)), visits, win_loss)
        for point, visits, win_loss in best[["point", "visits", "win_loss"]].tolist()
    )


def finish_match(order: GameOrder, state: State, played: PlayedGame, resigned_by: int) -> FinishedGame:
    """SGF and facts of a match game that came to ``state``.

    The player ``resigned_by`` gave up, or nobody if that is EMPTY.
    """
    replayed = replay(played.start, played.colours, played.points, length=order.length, view=played.view)
    turns = played.turns
    comments = _comments(root_values(turns.found), turns, [None] * turns.count)
    if resigned_by == EMPTY:
        result = _result(ending(state, order.length), stopped=played.hit_move_limit)
    else:
        winner = "B" if resigned_by == WHITE else "W"
        result = _Result(resignation_text(winner), winner, 0.0, resigned=True, leader=winner)
    record = _record(order, played, replayed, comments, result)
    return FinishedGame(order, _facts(order, record, result, None, None), write(record), None, result.leader)


def _result(end: Ending, *, stopped: bool) -> _Result:
    if stopped and not end.is_no_result:
        return _Result(None, *UNFINISHED, resigned=False, leader=end.winner)
    return _Result(end.result, end.winner, end.score, resigned=False, leader=end.winner)


def _comments(values: npt.NDArray[np.float64], turns: PlayedTurns, weights: Sequence[float | None]) -> list[MoveValues]:
    """What the record says of each of T searched turns: ``values`` [T, 4] as of `root_values`, ``weights`` [T]."""
    is_again = turns.replaced["is_replaced"]
    visits, visits_again = turns.found["visits"], turns.found["visits"].tolist()
    visits = np.where(is_again, turns.replaced["visits"], visits).tolist()
    again = [later if is_later else None for is_later, later in zip(is_again, visits_again, strict=True)]
    return [
        MoveValues(win, loss, no_result, score, count, later, weight)
        for (win, loss, no_result, score), count, later, weight in zip(
            values.tolist(), visits, again, weights, strict=True
        )
    ]


def _record(
    order: GameOrder,
    played: PlayedGame,
    replayed: Replay,
    comments: list[MoveValues],
    result: _Result,
) -> GameRecord:
    """The record; the move upon which a player resigned is left out, its values are kept."""
    start, first = played.start, played.first_turn
    values_of_turn: list[MoveValues | None] = [None] * first
    values_of_turn += comments
    moves = tuple(
        _move(colour, point, values, replayed, turn)
        for turn, (colour, point, values) in enumerate(
            zip(played.colours.tolist(), played.points.tolist(), values_of_turn, strict=True)
        )
    )
    record = GameRecord(
        x_size=start.x_size,
        y_size=start.y_size,
        rules=start.rules,
        black_name=order.black.name,
        white_name=order.white.name,
        moves=moves[:-1] if result.resigned else moves,
        result=result.text,
        resignation=comments[-1] if result.resigned else None,
        stones=tuple((colour, x_of(point), y_of(point)) for colour, point in sorted(start.stones)),
        info=_start_info(played),
        beginner=start.to_move,
    )
    return replace(record, handicap=record.counted_handicap())


def _start_info(played: PlayedGame) -> StartInfo:
    """The root comment's facts."""
    start, provenance = played.start, played.provenance
    return StartInfo(
        start_turn=played.first_turn,
        first_turn=start.first_turn,
        game_hash=_hash_text(played.hash_words),
        game_type=provenance.game_type,
        began_in_phase=start.phase,
        used_initial_position=provenance.used_initial_position,
        white_doublings=provenance.white_doublings or None,
        new_networks=_named(played.net_changes),
        seconds=(played.seconds[0], played.seconds[1]) if any(played.seconds) else None,
    )


def _named(changes: Sequence[NetChange]) -> tuple[tuple[int, str], ...]:
    """Turns and names of networks, as records and forms have them."""
    return tuple((change.turn, change.network.name) for change in changes)


def _move(colour: int, point: int, values: MoveValues | None, replayed: Replay, turn: int) -> Move:
    """A move as the record spells it; a clean-up move that changes no stone lifts a ko block (rules.md 6)."""
    if point == PASS:
        return Move(colour, None, values=values)
    lifts = bool(replayed.phases[turn] > 0 and np.array_equal(replayed.boards[turn], replayed.boards[turn + 1]))
    return Move(colour, (x_of(point), y_of(point)), is_pass_for_ko=lifts, values=values)


def _hash_text(words: tuple[int, int]) -> str:
    """As `common.rows.game_hash` spells it: the second word first."""
    return f"{words[1]:016X}{words[0]:016X}"


def _facts(
    order: GameOrder, record: GameRecord, result: _Result, rows: Rows | None, played: PlayedGame | None
) -> GameFacts:
    """What the form tells; ``played`` of self-play alone."""
    assert record.info is not None
    return GameFacts(
        x_size=record.x_size,
        y_size=record.y_size,
        rules=record.rules,
        handicap=record.handicap,
        game_type=record.info.game_type,
        winner=result.winner,
        score=result.white_score,
        resigned=result.resigned,
        game_length=len(record.moves) + int(result.resigned),
        uid=record.info.game_hash,
        black_network=order.black.name,
        white_network=order.white.name,
        length=order.length,
        num_training_rows=0 if rows is None else rows.count,
        draw_white_wins=None if played is None else played.view.draw_white_wins,
        white_doublings=None if played is None else played.provenance.white_doublings,
        net_changes=() if played is None else _named(played.net_changes),
    )
