"""Searches for a move: which parameters, how long, who is the stronger (engine.md 3, search.md 8)."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import replace
from typing import Final

from client.engine.allotment import Thinking, allot
from client.engine.clock import Clock, byo_yomi, full_clock
from client.engine.gtp.advantage import dynamic_advantage, handicap_points
from client.engine.gtp.session import LINE, Session
from client.engine.queries import Query, Ticket
from client.search.guidance import Avoided, Guidance
from client.search.limits import Limits, limits_of, playouts_in, pondering_limits, winning_factor
from client.search.parameters import to_record
from common.go.points import BLACK, WHITE
from common.parameters import SearchParameters

UNTIMED: Final = full_clock(byo_yomi(1.0, 5.0, 5))
"""Of an engine that neither settings nor a clock keep from thinking for ever."""
_RECKONED_EVERY_S: Final = 0.1


def genmove_parameters(session: Session) -> SearchParameters:
    """Of searches that choose a move, or that prepare for the choice."""
    search = replace(session.search, anti_mirror=session.settings.genmove_anti_mirror)
    if session.parameters.is_given("playoutDoublingAdvantage"):
        return search
    return replace(search, playout_doubling_advantage=session.advantage, playout_doubling_advantage_pla=WHITE)


def analysis_parameters(session: Session) -> SearchParameters:
    """Of searches that are only looked at."""
    settings = session.settings
    return replace(
        session.search,
        wide_root_noise=settings.analysis_wide_root_noise,
        ignore_pre_root_history=settings.analysis_ignore_history,
    )


def query_of(
    session: Session,
    colour: int,
    parameters: SearchParameters,
    limits: Limits,
    *,
    is_of_game: bool = True,
    ownership: bool = False,
    avoid: tuple[Avoided, ...] = (),
) -> Query:
    """The present position for ``colour``; ``is_of_game``: in the tree that follows the game."""
    turns = (*session.game.start.moves, *session.game.moves)
    return Query(
        game=session.game,
        parameters=to_record(parameters),
        seed=session.draw_seed(),
        colour=colour,
        draw_white_wins=parameters.draw_equivalent_wins_for_white,
        limits=limits,
        guidance=Guidance(avoid=avoid, turns=turns),
        line=LINE if is_of_game else None,
        ownership=ownership,
    )


def think(
    session: Session, colour: int, *, ownership: bool = False, avoid: tuple[Avoided, ...] = ()
) -> Generator[Ticket, None, Ticket]:
    """Search for a move of ``colour`` within its limits and time; yields the running search after every round.

    Whoever closes the generator, or throws into it, ends the search.
    """
    session.advantage = _present_advantage(session)
    parameters = genmove_parameters(session)
    factor = _winning_factor(session, colour)
    limits = limits_of(parameters).scaled(factor)
    began = session.clock()
    ticket = session.ask(query_of(session, colour, parameters, limits, ownership=ownership, avoid=avoid))
    timer = _Timer(session, ticket, colour, factor, began)
    try:
        while not ticket.is_finished:
            session.work(ticket)
            timer.look()
            yield ticket
    finally:
        session.cut_short(ticket)
        seconds = session.clock() - began
        session.genmove_seconds += seconds
        if ticket.result is not None:
            session.last_search = seconds, ticket.result.visits
    if ticket.result is not None:
        session.win_losses.append(ticket.result.mean.win_loss)
    return ticket


class _Timer:
    """Ends a search by the clock, and where more of it would change nothing."""

    def __init__(self, session: Session, ticket: Ticket, colour: int, factor: float, began: float) -> None:
        self._session, self._ticket, self._began = session, ticket, began
        self._next = began
        self._colour, self._factor = colour, factor
        self._thinking: Thinking | None = None

    def look(self) -> None:
        """Once after every round."""
        session, ticket = self._session, self._ticket
        now = session.clock()
        if ticket.is_finished or now < self._next:
            return
        self._next = now + _RECKONED_EVERY_S
        result = session.queries.result(ticket)
        if result is None:
            return
        spent, playouts = now - self._began, result.visits - ticket.kept_visits
        seconds = min(self._plan().seconds(result.policy_entropy, result.policy_surprise), ticket.seconds)
        if not math.isinf(seconds):
            session.queries.expect(ticket, playouts_in(seconds - spent, playouts, spent))
        if (spent >= seconds and playouts >= 2) or session.queries.is_decided(ticket):
            session.queries.cancel(ticket)

    def _plan(self) -> Thinking:
        if self._thinking is None:
            session, game = self._session, self._session.game
            seconds, visits = session.last_search
            self._thinking = Thinking(
                clock=_clock_of(session, self._colour),
                area=game.start.area,
                stones=_stones_on_board(session),
                turn=game.turn,
                parameters=session.settings,
                carried=seconds * min(1.0, self._ticket.kept_visits / max(1, visits)),
                factor=self._factor * self._ticket.pass_factor,
            )
        return self._thinking


def seconds_left(session: Session, colour: int, spent: float) -> float:
    """How long a turn that has taken ``spent`` seconds may go on, by the clock and by maxTime."""
    area, lag = session.game.start.area, session.settings.lag_buffer
    most = allot(_clock_of(session, colour), area, _stones_on_board(session), lag).maximum
    return max(0.0, min(most, session.search.max_time) - spent)


def _clock_of(session: Session, colour: int) -> Clock:
    clock = session.clocks[colour]
    return UNTIMED if clock.control.is_unlimited and not session.parameters.is_limited else clock


def _stones_on_board(session: Session) -> int:
    colours = session.game.state["colour"]
    return int(((colours == BLACK) | (colours == WHITE)).sum())


def _winning_factor(session: Session, colour: int) -> float:
    """What the limits are multiplied by for a player who has been winning."""
    own = [value if colour == WHITE else -value for value in session.win_losses]
    return winning_factor(own, session.search.win_loss_utility_factor, session.settings)


def _present_advantage(session: Session) -> float:
    """White's dynamic playout doubling advantage for the search that comes."""
    game = session.game
    has_white_stones = bool((game.state["colour"] == WHITE).any())
    return dynamic_advantage(
        session.advantage,
        handicap_points(game),
        x_size=game.x_size,
        y_size=game.y_size,
        white_win_loss=session.win_losses[-1] if session.win_losses and has_white_stones else None,
        cap_per_point=session.settings.dynamic_advantage_cap,
    )


def ponder_if_wanted(session: Session) -> None:
    """Search on in the opponent's time, if the settings say so and the game goes on."""
    game = session.game
    if not session.settings.pondering or game.finished:
        return
    parameters = genmove_parameters(session)
    session.ponder(query_of(session, game.to_move, parameters, pondering_limits(session.settings)))
