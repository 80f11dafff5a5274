"""Commands that choose a move (engine.md 3)."""

from __future__ import annotations

import sys
from collections.abc import Generator
from dataclasses import dataclass

from client.engine.gtp.analyze_words import Wanted
from client.engine.gtp.info import Form, info_line
from client.engine.gtp.passing import friendly_or_cleaning
from client.engine.gtp.protocol import Interrupted, Lines, Stream
from client.engine.gtp.resignation import has_lost
from client.engine.gtp.session import Session
from client.engine.gtp.thinking import ponder_if_wanted, seconds_left, think
from client.engine.gtp.words import colour_of, expected
from client.engine.queries import Ticket
from client.search.guidance import Avoided
from client.search.report import ReportOptions, seen_by
from common.go.points import PASS, to_vertex


@dataclass(frozen=True, slots=True)
class Decision:
    """What a search for a move led to."""

    point: int | None  # None: the engine resigns
    text: str  # a vertex, ``pass`` or ``resign``
    seconds: float  # that it took


def genmove(session: Session, words: list[str]) -> str:
    """Choose a move and play it."""
    colour = _colour(words, "genmove")
    decision = _run(decide(session, colour))
    play_decision(session, colour, decision)
    ponder_if_wanted(session)
    return decision.text


def genmove_debug(session: Session, words: list[str]) -> str:
    """The same, and what the search saw on stderr."""
    colour = _colour(words, "genmove_debug")
    decision = _run(_logged(session, colour))
    play_decision(session, colour, decision)
    ponder_if_wanted(session)
    return decision.text


def search(session: Session, words: list[str]) -> str:
    """Choose a move and do not play it."""
    return _run(decide(session, _colour(words, "kata-search"))).text


def search_debug(session: Session, words: list[str]) -> str:
    """The same, and what the search saw on stderr."""
    return _run(_logged(session, _colour(words, "kata-search_debug"))).text


def search_cancellable(session: Session, words: list[str]) -> Stream:
    """The same, given up when another line comes."""
    return Stream(_cancellable(decide(session, _colour(words, "kata-search_cancellable"))), is_list=False)


def decide(
    session: Session, colour: int, *, ownership: bool = False, avoid: tuple[Avoided, ...] = ()
) -> Generator[Ticket, None, Decision]:
    """Search for a move and decide on it; yields the running search after every round. Nothing is played.

    Where the game is over the move is a pass, whatever the search says of playing on.
    """
    began = session.clock()
    ticket = yield from think(session, colour, ownership=ownership, avoid=avoid)
    assert ticket.result is not None
    assert ticket.point is not None
    if session.game.finished:
        return Decision(PASS, to_vertex(PASS, session.position.size[1]), session.clock() - began)
    left = seconds_left(session, colour, session.clock() - began)
    point = friendly_or_cleaning(session, colour, ticket.point, seconds=left)
    _say_to_players(session, ticket, colour)
    _wait(session, colour, ticket, began)
    if session.settings.allow_resignation and has_lost(
        session.settings, session.game, colour, session.win_losses, ticket.result.mean.lead
    ):
        return Decision(None, "resign", session.clock() - began)
    return Decision(point, to_vertex(point, session.position.size[1]), session.clock() - began)


def play_decision(session: Session, colour: int, decision: Decision) -> None:
    """Play what was decided, unless it is to resign; the player's clock runs on, until somebody tells it better."""
    if decision.point is not None:
        session.position.play(colour, decision.point)
        session.clocks[colour] = session.clocks[colour].after_turn(decision.seconds)


def _run(deciding: Generator[Ticket, None, Decision]) -> Decision:
    """The decision, after as much work as it takes."""
    while True:
        try:
            next(deciding)
        except StopIteration as end:
            decision: Decision = end.value
            return decision


def _cancellable(deciding: Generator[Ticket, None, Decision]) -> Lines:
    try:
        while True:
            next(deciding)
            yield None
    except StopIteration as end:
        yield end.value.text
    except Interrupted:
        deciding.close()
        yield "cancelled"


def _logged(session: Session, colour: int) -> Generator[Ticket, None, Decision]:
    """`decide`, with the last report on stderr."""
    ticket: Ticket | None = None
    deciding = decide(session, colour)
    while True:
        try:
            ticket = next(deciding)
            yield ticket
        except StopIteration as end:
            if ticket is not None:
                _log(session, ticket, colour)
            decision: Decision = end.value
            return decision


def _log(session: Session, ticket: Ticket, colour: int) -> None:
    report = session.queries.report(ticket, ReportOptions(pv_length=1 + session.settings.analysis_pv_length))
    if report is not None:
        line = info_line(seen_by(report, colour), Wanted(root_info=True), Form.KATA)
        sys.stderr.write(line.replace(" info ", "\ninfo ").replace(" rootInfo ", "\nrootInfo ") + "\n")


def _say_to_players(session: Session, ticket: Ticket, colour: int) -> None:
    """What a bot of online-go.com tells in the chat."""
    if not session.settings.ogs_chat:
        return
    report = session.queries.report(ticket, ReportOptions(pv_length=1 + session.settings.analysis_pv_length))
    if report is None or not report.moves:
        return
    seen = seen_by(report, colour)
    values, line = seen.root.values, seen.moves[0].pv.points
    vertices = " ".join(to_vertex(point, seen.y_size) for point in line)
    sys.stderr.write(
        f"MALKOVICH:Visits {seen.root.visits} Winrate {100 * values.winrate:.2f}% ScoreLead {values.score_lead:.1f} "
        f"ScoreStdev {values.score_stdev:.1f} PV {vertices}\n"
    )
    sys.stderr.flush()


def _wait(session: Session, colour: int, ticket: Ticket, began: float) -> None:
    """Take as long as a person might: a random time, shorter where the net has no doubt (delayMoveScale).

    Never longer than the clock lets a turn take.
    """
    settings = session.settings
    if settings.delay_scale <= 0.0 or ticket.result is None:
        return
    doubt = 1.0 - 1.0 / (1.0 + ticket.result.raw_policy_entropy)
    wanted = settings.delay_scale * doubt * float(session.random.gamma(2.0, 0.5))
    spent = session.clock() - began
    left = min(min(wanted, settings.delay_most) - spent, seconds_left(session, colour, spent))
    if left > 0.0:
        session.sleep(left)


def _colour(words: list[str], command: str) -> int:
    if len(words) != 1:
        raise expected("one argument", command, words)
    return colour_of(words[0])
