"""Commands that tell what a search sees while it goes on (engine.md 4)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from client.engine.analysis_answer import viewer
from client.engine.gtp.analyze_words import Wanted, avoided, parse_wanted
from client.engine.gtp.info import Form, info_line
from client.engine.gtp.moves import Decision, decide, play_decision
from client.engine.gtp.protocol import Interrupted, Lines, Stream
from client.engine.gtp.session import Session
from client.engine.gtp.thinking import analysis_parameters, ponder_if_wanted, query_of
from client.engine.position import symmetries_of
from client.engine.queries import Ticket
from client.search.limits import Limits
from client.search.report import ReportOptions, seen_by
from common.go.rules import Scoring

IDENTITY: Final = 0
_REST_S: Final = 0.01
"""Between two looks at the clock when a tree is full."""


def analyze(form: Form, session: Session, words: list[str]) -> Stream:
    """Report until another line comes."""
    wanted = parse_wanted(words, session.position.size, command="analyze", is_lz=form == Form.LZ)
    colour = session.game.to_move if wanted.colour is None else wanted.colour
    return Stream(_analysis(session, colour, wanted, form))


def genmove_analyze(form: Form, session: Session, words: list[str]) -> Stream:
    """Report on the search for a move, which is played."""
    wanted = parse_wanted(words, session.position.size, command="genmove_analyze", is_lz=form == Form.LZ)
    return Stream(_move_analysis(session, wanted, form, plays=True), goes_on=True)


def search_analyze(session: Session, words: list[str]) -> Stream:
    """Report on the search for a move, which is not played."""
    wanted = parse_wanted(words, session.position.size, command="genmove_analyze")
    return Stream(_move_analysis(session, wanted, Form.KATA, plays=False), goes_on=True)


def search_analyze_cancellable(session: Session, words: list[str]) -> Stream:
    """The same, given up when another line comes."""
    wanted = parse_wanted(words, session.position.size, command="genmove_analyze")
    return Stream(_cancellable(_move_analysis(session, wanted, Form.KATA, plays=False)))


def _cancellable(lines: Lines) -> Lines:
    try:
        yield from lines
    except Interrupted:
        yield "play cancelled"


def _analysis(session: Session, colour: int, wanted: Wanted, form: Form) -> Lines:
    query = query_of(
        session,
        colour,
        analysis_parameters(session),
        Limits(),
        ownership=wanted.any_ownership,
        avoid=avoided(wanted, session.position.size),
    )
    ticket = session.ask(query)
    reporter = _Reporter(session, ticket, colour, wanted, form)
    try:
        while not ticket.is_finished:
            session.work(ticket)
            yield reporter.line_if_due()
        while True:
            session.sleep(_REST_S)
            yield reporter.line_if_due()
    finally:
        session.cut_short(ticket)


def _move_analysis(session: Session, wanted: Wanted, form: Form, *, plays: bool) -> Lines:
    """Reports, one at least, and the move."""
    colour = session.game.to_move if wanted.colour is None else wanted.colour
    deciding = decide(session, colour, ownership=wanted.any_ownership, avoid=avoided(wanted, session.position.size))
    reporter: _Reporter | None = None
    decision: Decision | None = None
    while decision is None:
        try:
            ticket = next(deciding)
        except StopIteration as end:
            decision = end.value
        else:
            reporter = reporter or _Reporter(session, ticket, colour, wanted, form)
            try:
                yield reporter.line_if_due()
            except BaseException:
                deciding.close()
                raise
    if reporter is not None:
        yield reporter.line()
    if plays:
        play_decision(session, colour, decision)
    yield f"play {decision.text}"
    if plays:
        ponder_if_wanted(session)


class _Reporter:
    """Says what a search has found, every so often."""

    def __init__(self, session: Session, ticket: Ticket, colour: int, wanted: Wanted, form: Form) -> None:
        self._session, self._ticket, self._colour, self._wanted, self._form = session, ticket, colour, wanted, form
        self._next = session.clock() + wanted.interval

    def line_if_due(self) -> str | None:
        """The report, when the interval has passed."""
        now = self._session.clock()
        if now < self._next:
            return None
        self._next = now + self._wanted.interval
        return self.line()

    def line(self) -> str | None:
        """The report; None before the first visit, and where there is nothing to tell."""
        session, wanted = self._session, self._wanted
        rules = session.game.rules
        unlisted_points = frozenset(
            each.point for each in avoided(wanted, session.position.size) if each.colour == self._colour
        )
        options = ReportOptions(
            pv_length=1 + session.settings.analysis_pv_length,
            min_moves=wanted.min_moves,
            cut_at_phase_end=session.settings.prevent_cleanup_phase and rules.scoring == Scoring.TERRITORY,
            ownership=wanted.ownership or wanted.ownership_stdev,
            moves_ownership=wanted.any_moves_ownership,
            symmetries=_symmetries(session),
            unlisted=unlisted_points,
        )
        report = session.queries.report(self._ticket, options)
        if report is None or not report.moves:
            return None
        seen = seen_by(report, viewer(session.settings.perspective, self._colour))
        return info_line(seen, wanted, self._form) or None


def _symmetries(session: Session) -> tuple[int, ...]:
    """Of which the root searches one move each, and that leave the present board as it is."""
    if not session.search.root_symmetry_pruning:
        return (IDENTITY,)
    return symmetries_of(session.game)


Analysis = Callable[[Session, list[str]], Stream]
LZ_ANALYZE: Final[Analysis] = partial(analyze, Form.LZ)
KATA_ANALYZE: Final[Analysis] = partial(analyze, Form.KATA)
SABAKI_ANALYZE: Final[Analysis] = partial(analyze, Form.SABAKI)
LZ_GENMOVE: Final[Analysis] = partial(genmove_analyze, Form.LZ)
KATA_GENMOVE: Final[Analysis] = partial(genmove_analyze, Form.KATA)
SABAKI_GENMOVE: Final[Analysis] = partial(genmove_analyze, Form.SABAKI)
