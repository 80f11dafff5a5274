"""Does an upload tell the truth? An SGF, its rows and its form are held against each other and against the rules.

Pure functions: the client runs them before it sends, the server before a game counts. Whatever the record determines is
derived again from the moves; see `common.audit_rows` for the rows. Knows nothing of files, requests or databases.
Specification: contribute-protocol.md 8-13, selfplay.md 10, vectors.md 7.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from common import wire
from common.audit_beginning import check_beginning
from common.audit_report import Deadline, Findings, Reason
from common.audit_report import Finding as Finding
from common.audit_rows import AuditedGame, MainRows, SearchComment, check_shared_columns, is_side_row
from common.audit_side import check_side_rows
from common.audit_text import (
    Config,
    check_row_weights,
    check_text,
    most_inner_rows,
    move_limit,
    searched_moves,
)
from common.game_record import moves_of, start_of
from common.go.points import FIRST_CLEANUP, MAIN_PHASE, WHITE
from common.go.result import DRAW
from common.go.rules import Rules
from common.go.start import GameStart, PlayerView, start_position
from common.parameters import MatchConfig, SelfplayConfig
from common.replay import MAX_TURNS, BadTurn, Ending, Replay, ending, replay
from common.rows import GlobalInput, GlobalTarget, Rows
from common.sgf import SgfError, read
from common.sgf_record import GameRecord, MoveValues

_PRINTED_DOUBLINGS: Final = 1e-5  # relative; six digits are printed
UNFINISHED: Final = (DRAW, 0.0)
"""Winner and score in the form of a game that was stopped by the move limit, whoever is ahead."""


@dataclass(frozen=True)
class GameFacts:
    """What an upload says of its game, beside the files."""

    x_size: int
    y_size: int
    rules: Rules  # with komi
    handicap: int  # 0, or 2 and more
    game_type: str  # as in the SGF
    winner: str  # B, W, 0 for a draw, - for none
    score: float | None  # White minus Black; 0 or None after a resignation and without result
    resigned: bool
    game_length: int  # moves
    uid: str  # 32 hexadecimal digits
    black_network: str  # names
    white_network: str
    length: int  # edge of the run's tensors
    num_training_rows: int = 0
    draw_white_wins: float | None = None
    white_doublings: float | None = None  # of playouts, if they are told
    net_changes: tuple[tuple[int, str], ...] = ()  # turn of the record, and the network's name, from which it is used


def audit_training_game(
    sgf_text: str | bytes,
    rows: Rows,
    facts: GameFacts,
    config: SelfplayConfig | None = None,
    deadline: Deadline | None = None,
    positions: Sequence[wire.StartPosition] = (),
) -> Findings:
    """Audit a game of self-play with its rows (`common.rows.read_npz` has checked types, shapes and ranges).

    ``config`` is what the text of its job says, and ``positions`` where the job lets games begin; where the text is
    unknown, a game is only held against itself. Raises `OutOfTime` at the ``deadline``.
    """
    deadline = deadline or Deadline(math.inf)
    findings = Findings()
    record = _read_record(sgf_text, facts, findings)
    if record is None:
        return findings
    if config is not None:
        check_text(record, facts.draw_white_wins, config, findings, positions)
    findings.expect(not facts.resigned, Reason.RESIGNED, "a game of self-play can not end by resignation")
    counted = facts.num_training_rows
    findings.expect(
        rows.count == counted and counted > 0,
        Reason.ROW_COUNT,
        f"the file has {rows.count} rows, the form says {counted}",
    )
    edge = rows.length
    findings.expect(edge == facts.length, Reason.TENSOR_EDGE, f"rows are for edge {edge}, the run's is {facts.length}")
    if rows.count == 0 or max(record.x_size, record.y_size) > edge:
        findings.expect(rows.count == 0, Reason.TENSOR_EDGE, f"the board does not fit tensors of edge {edge}")
        return findings
    _check_comments(record, findings, need_weights=True)
    side = is_side_row(rows)
    if config is not None:
        check_row_weights(record, rows, int(side.sum()), config, findings, positions)
    turns = _main_turns(record, rows, side, findings)
    if turns is None:
        return findings
    deadline.check()
    start, view = _start(record, findings), _view(rows, facts)
    if start is None:
        return findings
    start = _with_later_phase(start, record, rows.take(np.flatnonzero(~side)), view)
    start = _with_earlier_bonus(start, record, facts, rows, side, view)
    game = _replay(record, start, view, edge, np.unique(turns), findings)
    if game is None:
        return findings
    deadline.check()
    end = ending(game.state, game.length)
    _check_result(record, end, facts, config, findings)
    audited = _audited(record, game, end)
    has_inner = config is not None and config.selfplay.record_tree_target_weight > 0
    check_shared_columns(audited, rows, findings, may_be_earlier=has_inner)
    if not side.all():
        MainRows(audited, rows.take(np.flatnonzero(~side)), findings).check()
    deadline.check()
    most_inner = most_inner_rows(record, config) if config is not None and has_inner else None
    check_side_rows(audited, rows.take(np.flatnonzero(side)), findings, deadline, most_inner)
    return findings


def audit_rating_game(
    sgf_text: str | bytes, facts: GameFacts, config: MatchConfig | None = None, deadline: Deadline | None = None
) -> Findings:
    """Audit a match game, which has no rows; ``config`` and ``deadline`` as for `audit_training_game`."""
    deadline = deadline or Deadline(math.inf)
    findings = Findings()
    record = _read_record(sgf_text, facts, findings)
    if record is None:
        return findings
    if config is not None:
        check_text(record, None, config, findings)
    deadline.check()
    _check_comments(record, findings, need_weights=False)
    edge = max(record.x_size, record.y_size)
    findings.expect(edge <= facts.length, Reason.BOARD_SIZE, f"the board is larger than the run's edge {facts.length}")
    start = _start(record, findings)
    if start is None:
        return findings
    game = _replay(record, start, _view(None, facts), edge, None, findings)
    if game is not None:
        _check_result(record, ending(game.state, game.length), facts, config, findings)
    return findings


# ------------------------------------------------------------------------------------------------- the SGF as text


def _read_record(sgf_text: str | bytes, facts: GameFacts, findings: Findings) -> GameRecord | None:
    """The record, or None if it can not be audited at all; header and form are compared."""
    try:
        record = read(sgf_text, max_bytes=wire.MAX_SGF_BYTES)
    except SgfError as error:
        findings.add(Reason.SGF_UNREADABLE, f"the SGF can not be read: {error}")
        return None
    if record.warnings or record.info is None:
        what = "; ".join(record.warnings) or "the root comment with startTurnIdx and gameHash is missing"
        findings.add(Reason.SGF_UNREADABLE, f"the SGF is not as a client writes it: {what}")
        return None
    _check_header(record, facts, findings)
    check_beginning(record, findings)
    if len(record.moves) > MAX_TURNS:
        findings.add(Reason.TOO_LONG, f"{len(record.moves)} moves; at most {MAX_TURNS} can be audited")
        return None
    return record


def _check_header(record: GameRecord, facts: GameFacts, findings: Findings) -> None:
    info = record.info
    assert info is not None
    pairs = (
        (Reason.BOARD_SIZE, (record.x_size, record.y_size), (facts.x_size, facts.y_size), "board size"),
        (Reason.KOMI, record.rules.komi, facts.rules.komi, "komi"),
        (Reason.RULES, record.rules.to_short(komi=False), facts.rules.to_short(komi=False), "rules"),
        (Reason.HANDICAP, record.handicap, facts.handicap, "handicap"),
        (Reason.NETWORK_NAME, record.black_name, facts.black_network, "Black's network"),
        (Reason.NETWORK_NAME, record.white_name, facts.white_network, "White's network"),
        (Reason.GAME_TYPE, info.game_type, facts.game_type, "game type"),
        (Reason.GAME_HASH, info.game_hash.upper(), facts.uid.upper(), "game hash"),
    )
    for reason, told, claimed, what in pairs:
        findings.expect(told == claimed, reason, f"{what}: the SGF has {told}, the form {claimed}")
    counted = record.counted_handicap()
    findings.expect(
        record.handicap == counted, Reason.HANDICAP, f"handicap: the SGF says {record.handicap}, its stones {counted}"
    )
    lengths = {len(record.moves), len(record.moves) + int(record.resignation is not None)}
    findings.expect(
        facts.game_length in lengths,
        Reason.GAME_LENGTH,
        f"game length: the SGF has {max(lengths)} moves, the form {facts.game_length}",
    )
    doublings = info.white_doublings or 0.0
    findings.expect(
        facts.white_doublings is None or math.isclose(doublings, facts.white_doublings, rel_tol=_PRINTED_DOUBLINGS),
        Reason.GAME_TYPE,
        f"playout doublings of White: the SGF has {doublings:g}, the form {facts.white_doublings}",
    )
    _check_net_changes(record, facts, findings)


def _check_net_changes(record: GameRecord, facts: GameFacts, findings: Findings) -> None:
    """Record and form tell the same changes of the network: between two searches, each to another network."""
    info = record.info
    assert info is not None
    told = info.new_networks
    findings.expect(
        told == facts.net_changes,
        Reason.NET_CHANGES,
        f"changes of the network: the SGF has {_listed(told)}, the form {_listed(facts.net_changes)}",
    )
    turns = [info.start_turn, *(turn for turn, _ in told)]
    names = [record.black_name, *(name for _, name in told)]
    holds = (
        all(before < after for before, after in itertools.pairwise(turns))
        and turns[-1] <= len(record.moves)
        and all(before != after for before, after in itertools.pairwise(names))
    )
    findings.expect(
        holds,
        Reason.NET_CHANGES,
        f"the network did not change at {_listed(told)}: turns ascend from {info.start_turn + 1} to"
        f" {len(record.moves)}, and each network differs from the one before",
    )


def _listed(changes: Sequence[tuple[int, str]]) -> str:
    return ", ".join(f"turn {turn} to {name[:60]}" for turn, name in changes) or "none"


def _check_comments(record: GameRecord, findings: Findings, *, need_weights: bool) -> None:
    """Every searched move tells the values of its search."""
    info = record.info
    assert info is not None
    for turn, move in enumerate(record.moves[info.start_turn :], start=info.start_turn):
        values = move.values
        if values is None or (need_weights and values.weight is None):
            what = "values" if values is None else "weight"
            findings.add(Reason.SEARCH_COMMENT, f"move {turn + 1} has no comment with its search's {what}")
            return
        total = values.win + values.loss + values.no_result
        if not (abs(total - 1) <= 0.021 and min(values.win, values.loss, values.no_result) >= 0):
            findings.add(Reason.SEARCH_COMMENT, f"move {turn + 1}: win, loss and no result do not sum to 1")
            return


def _moves(record: GameRecord) -> tuple[list[int], list[int]]:
    """Colours and points of the moves."""
    moves = moves_of(record)
    return [colour for colour, _ in moves], [point for _, point in moves]


# --------------------------------------------------------------------------------------------------- the game again


def _main_turns(
    record: GameRecord, rows: Rows, side: npt.NDArray[np.bool_], findings: Findings
) -> npt.NDArray[np.intp] | None:
    """Turns of the main rows; None if one is no searched turn of the record."""
    info = record.info
    assert info is not None
    turns = rows.global_targets[~side, GlobalTarget.TURN]
    is_turn = (turns >= info.start_turn) & (turns < len(record.moves)) & (turns == np.floor(turns))
    if not is_turn.all():
        bad = turns[int(np.argmin(is_turn))]
        findings.add(
            Reason.ROW_TURN,
            f"a row stands at turn {bad:g}; searched turns are {info.start_turn} to {len(record.moves) - 1}",
        )
        return None
    return np.asarray(turns, dtype=np.intp)


def _view(rows: Rows | None, facts: GameFacts) -> PlayerView:
    """What the form tells of the worth of draws, and the rows of the net's pass-alive areas."""
    return PlayerView(
        draw_white_wins=0.5 if facts.draw_white_wins is None else facts.draw_white_wins,
        pass_alive_suicide=rows is not None and bool(rows.global_targets[0, GlobalTarget.PASS_ALIVE_WITH_SUICIDE] == 1),
    )


def _start(record: GameRecord, findings: Findings) -> GameStart | None:
    """How the game begins; None if no game can."""
    try:
        start = start_of(record)
        start_position(start)
    except ValueError as error:
        findings.add(Reason.SGF_UNREADABLE, f"no game can begin as the SGF says: {error}")
        return None
    return start


def _with_later_phase(start: GameStart, record: GameRecord, rows: Rows, view: PlayerView) -> GameStart:
    """A fork of a clean-up game begins in the phase of that, of which KataGo's record says nothing: its rows do.

    Args:
        rows: main rows only.
    """
    info = record.info
    assert info is not None
    if start.phase != MAIN_PHASE or info.game_type != "fork" or not start.stones or rows.count == 0:
        return start
    turn = int(rows.global_targets[0, GlobalTarget.TURN])
    told = int(rows.global_inputs[0, [GlobalInput.ENCORE, GlobalInput.SECOND_ENCORE]].sum())
    if told == MAIN_PHASE or replay(start, *_moves(record), length=rows.length, view=view).phases[turn] == told:
        return start
    return replace(start, phase=FIRST_CLEANUP)


def _with_earlier_bonus(
    start: GameStart,
    record: GameRecord,
    facts: GameFacts,
    rows: Rows,
    side: npt.NDArray[np.bool_],
    view: PlayerView,
) -> GameStart:
    """The captures before a game's record, where it begins in a clean-up phase, are only visible in column 47.

    Without a main row the score tells them, or nothing does.
    """
    if start.phase == MAIN_PHASE:
        return start
    colours, points = _moves(record)
    game = replay(start, colours, points, length=rows.length, view=view)
    if side.all():
        score = facts.score if record.result is not None else None
        missing = 0.0 if score is None else score - ending(game.state, game.length).white_score
        return replace(start, bonus_before=float(round(missing)))
    row = rows.global_targets[int(np.argmin(side))]
    turn = int(row[GlobalTarget.TURN])
    sign = 1.0 if game.to_move[turn] == WHITE else -1.0
    missing = sign * (float(row[GlobalTarget.OWN_KOMI]) - game.own_komi[turn])
    return replace(start, bonus_before=float(round(missing)))


def _replay(
    record: GameRecord,
    start: GameStart,
    view: PlayerView,
    edge: int,
    turns: npt.NDArray[np.intp] | None,
    findings: Findings,
) -> Replay | None:
    """The game played again; None if it can not be played to its end."""
    legal = None if turns is None else np.union1d(turns, np.minimum(turns + 1, len(record.moves)))
    info = record.info
    assert info is not None
    colours, points = _moves(record)
    game = replay(
        start,
        colours,
        points,
        length=edge,
        view=view,
        encoded_turns=turns,
        legal_turns=legal,
        white_doublings=info.white_doublings or 0.0,
    )
    if game.bad_turn == BadTurn.NONE:
        return game
    reason, text = {
        BadTurn.GAME_OVER: (Reason.MOVE_AFTER_END, "comes after the end of the game"),
        BadTurn.WRONG_PLAYER: (Reason.WRONG_PLAYER, "is by the player who is not to move"),
        BadTurn.ILLEGAL: (Reason.ILLEGAL_MOVE, "is illegal"),
    }[game.bad_turn]
    findings.add(reason, f"move {game.played + 1} {text}")
    return None


def _check_result(record: GameRecord, end: Ending, facts: GameFacts, config: Config | None, findings: Findings) -> None:
    """Result of the SGF, winner and score of the form, against the last position."""
    resigned = record.result is not None and record.result.endswith("+R")
    findings.expect(
        resigned == facts.resigned,
        Reason.RESIGNED,
        f"resigned: the SGF has RE[{record.result}], the form {facts.resigned}",
    )
    if resigned:
        assert record.result is not None
        _check_claims(facts, findings, record.result[0], 0.0)
    elif record.result is None:
        findings.expect(not end.ended_by_rules, Reason.RESULT, f"RE is missing, the game's result is {end.result}")
        _check_was_stopped(record, config, findings)
        findings.is_unfinished = True
        _check_claims(facts, findings, *UNFINISHED)
    else:
        has_ended = end.ended_by_rules or end.all_pass_alive
        findings.expect(has_ended, Reason.NOT_FINISHED, "the SGF has a result, but the game did not end")
        findings.expect(
            _same_result(record.result, end.result),
            Reason.RESULT,
            f"the SGF has RE[{record.result}], the game's result is {end.result}",
        )
        _check_claims(facts, findings, end.winner, end.score)


def _check_was_stopped(record: GameRecord, config: Config | None, findings: Findings) -> None:
    """A game without a result was stopped by its job's move limit, or by the longest record that can be kept."""
    if config is None or len(record.moves) >= MAX_TURNS:
        return
    searched, limit = searched_moves(record), move_limit(config)
    findings.expect(
        searched >= limit,
        Reason.NOT_FINISHED,
        f"the SGF has no result after {searched} searched moves; the job's text stops a game after {limit}",
    )


def _check_claims(facts: GameFacts, findings: Findings, winner: str, score: float) -> None:
    """Winner and score of the form."""
    findings.expect(
        facts.winner == winner, Reason.WINNER, f"the form says that the winner is {facts.winner}, the game {winner}"
    )
    findings.expect(
        facts.score == score or (facts.score is None and score == 0),
        Reason.SCORE,
        f"the form says that the score is {facts.score}, the game {score:g}",
    )


def _same_result(told: str, true_result: str) -> bool:
    """Whether two results agree, however their numbers are spelled."""
    if told == true_result:
        return True
    if told[:2] != true_result[:2] or "+" not in told:
        return False
    try:
        return float(told[2:]) == float(true_result[2:])
    except ValueError:
        return False


def _audited(record: GameRecord, game: Replay, end: Ending) -> AuditedGame:
    info = record.info
    assert info is not None
    return AuditedGame(
        points=_moves(record)[1],
        replay=game,
        end=end,
        start_turn=info.start_turn,
        initial_turn_number=info.first_turn,
        game_type=info.game_type,
        hash_text=info.game_hash.upper(),
        comments=[_search_comment(move.values) for move in record.moves],
        hit_move_limit=record.result is None,
        net_turns=tuple(turn for turn, _ in info.new_networks),
    )


def _search_comment(values: MoveValues | None) -> SearchComment | None:
    if values is None:
        return None
    return SearchComment(
        win=values.win,
        loss=values.loss,
        no_result=values.no_result,
        score=values.score,
        visits=values.visits if values.reanalysis_visits is None else values.reanalysis_visits,
        weight=values.weight,
        cheap_visits=None if values.reanalysis_visits is None else values.visits,
    )
