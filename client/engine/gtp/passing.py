"""When the engine passes although it would rather play, and plays although it would rather pass (engine.md 3, 6 and 7).

Friendly passing ends a game whose dead stones both agree on; cleaning up takes dead stones off where the rules count
every stone on the board.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from client.engine.gtp.session import Session
from client.engine.gtp.settings import Switch
from client.engine.gtp.thinking import genmove_parameters, query_of
from client.engine.queries import Query, Ticket
from client.engine.statuses import alive_by_ownership, stones, strict_area, whole_area
from client.search.limits import Limits
from client.search.pool import SearchResult
from client.search.report import ReportOptions
from common.go.game import Game
from common.go.play import is_legal, pass_would_end_game
from common.go.points import BLACK, EMPTY, PASS, STRIDE, WHITE, opponent, point_at
from common.go.rules import Scoring
from common.go.start import GameStart

_LEAST_VISITS: Final = 8
_MOST_MORE_VISITS: Final = 1000
_SHARE_OF_VISITS: Final = 10
_OWNED: Final = 0.75
_WORTH_UTILITY: Final = 0.1  # what the intended move may be worth at most beyond a pass, as the next
_WORTH_POINTS: Final = 0.25
_NEAR: Final = (-STRIDE, -1, 1, STRIDE)


def friendly_or_cleaning(session: Session, colour: int, point: int, *, seconds: float = math.inf) -> int:
    """What to play where the search would play ``point``; takes hardly more than ``seconds`` to find out."""
    if point == PASS:
        cleaning = _cleaning_point(session, colour) if _cleans_up(session) else None
        return PASS if cleaning is None else cleaning
    searches = _Searches(session, colour, session.clock() + seconds)
    return PASS if _may_pass_friendly(session, colour) and _is_settled(searches, point) else point


def _cleans_up(session: Session) -> bool:
    game, switch = session.game, session.settings.cleanup_before_pass
    if game.state["button_left"] != 0:
        return False
    rules = game.rules
    if switch == Switch.AUTO:
        return rules.scoring == Scoring.AREA and not rules.friendly_pass_ok
    return switch == Switch.ON and (rules.scoring == Scoring.AREA or game.phase == 2)


def _cleaning_point(session: Session, colour: int) -> int | None:
    """The last empty point of the own pass-alive area beside a stone of the opponent that may be played."""
    game = session.game
    area, colours = strict_area(game), game.state["colour"]
    state, history = game.position(colour)
    for y in reversed(range(game.y_size)):
        for x in reversed(range(game.x_size)):
            point = point_at(x, y)
            is_own = area[point] == colour and colours[point] == EMPTY
            if (
                is_own
                and any(colours[point + step] == opponent(colour) for step in _NEAR)
                and is_legal(state, history, point)
            ):
                return point
    return None


def _may_pass_friendly(session: Session, colour: int) -> bool:
    """Whether the settings and the rules allow it, and the opponent has just passed, so that a pass ends the game."""
    game, settings = session.game, session.settings
    rules = game.rules
    is_allowed = settings.friendly_pass == Switch.ON or (
        settings.friendly_pass == Switch.AUTO and rules.friendly_pass_ok and rules.scoring == Scoring.AREA
    )
    return (
        is_allowed
        and settings.cleanup_before_pass != Switch.ON
        and bool(game.moves)
        and game.moves[-1] == (opponent(colour), PASS)
        and game.state["button_left"] == 0
        and bool(pass_would_end_game(game.state, game.history))
    )


class _Searches:
    """The short searches that a friendly pass rests on, all of them before a deadline by the session's clock."""

    def __init__(self, session: Session, colour: int, deadline: float) -> None:
        self.session, self.colour = session, colour
        self._deadline = deadline
        self._limit = min(session.search.max_visits, session.search.max_playouts)

    def ownership(self) -> npt.NDArray[np.float64] | None:
        """Who owns what, White 1 and Black -1, [y_size, x_size]; None if there was no time to find out."""
        ticket = self._run(self._query(self.colour, ownership=True))
        if ticket is None:
            return None
        report = self.session.queries.report(ticket, ReportOptions(ownership=True))
        return None if report is None or report.ownership is None else report.ownership.mean

    def after(self, point: int) -> SearchResult | None:
        """What is found once ``point`` is played; None if there was no time to find out."""
        game = self.session.game.copy()
        game.play(point, self.colour, tolerant=True)
        ticket = self._run(replace(self._query(opponent(self.colour)), game=game))
        return None if ticket is None else ticket.result

    def _query(self, colour: int, *, ownership: bool = False) -> Query:
        visits = _LEAST_VISITS + min(_MOST_MORE_VISITS, self._limit // _SHARE_OF_VISITS)
        limits = Limits(visits=visits, seconds=self._deadline - self.session.clock())
        parameters = genmove_parameters(self.session)
        return query_of(self.session, colour, parameters, limits, is_of_game=False, ownership=ownership)

    def _run(self, query: Query) -> Ticket | None:
        """The finished search; None without time for it: a few playouts are no ground to end a game on."""
        if query.limits.seconds <= 0.0:
            return None
        ticket = self.session.ask(query)
        self.session.finish(ticket)
        return ticket if self.session.clock() < self._deadline else None


def _is_settled(searches: _Searches, point: int) -> bool:
    """Whether everybody knows who owns what, and ``point`` changes nothing of it."""
    ownership = searches.ownership()
    if ownership is None:
        return False
    game, colour = searches.session.game, searches.colour
    alive = alive_by_ownership(game, ownership)
    if not _agrees(game, ownership, [each for each in stones(game) if alive[each]]):
        return False
    colours, state = game.state["colour"], game.state
    for step in _NEAR:
        near = point + step
        if colours[near] == opponent(colour) and alive[near]:
            return False
        if colours[near] == colour and state["chain_liberties"][state["chain_head"][near]] == 1:
            return False  # without the move the opponent could capture
    return _is_worth_nothing(searches, point)


def _agrees(game: Game, ownership: npt.NDArray[np.float64], living: list[int]) -> bool:
    """Whether every point that is owned for certain lies in its owner's area once the dead stones are gone."""
    set_up = tuple((game.colour_at(point), point) for point in living)
    try:
        cleared = Game(GameStart(game.x_size, game.y_size, game.rules, set_up))
    except ValueError:  # a chain that lives only by the dead ones beside it
        return False
    area = whole_area(cleared)
    for y in range(game.y_size):
        for x in range(game.x_size):
            value = ownership[y, x]
            owner = WHITE if value > _OWNED else BLACK if value < -_OWNED else EMPTY
            if owner not in (EMPTY, area[point_at(x, y)]):
                return False
    return True


def _is_worth_nothing(searches: _Searches, point: int) -> bool:
    """Whether a search after the move finds hardly more than one after a pass."""
    best, other = searches.after(point), searches.after(PASS)
    if best is None or other is None:
        return False
    sign = 1.0 if searches.colour == WHITE else -1.0
    return (
        sign * (best.utility - other.utility) <= _WORTH_UTILITY
        and sign * (best.mean.score_mean - other.mean.score_mean) <= _WORTH_POINTS
        and sign * (best.mean.lead - other.mean.lead) <= _WORTH_POINTS
    )
