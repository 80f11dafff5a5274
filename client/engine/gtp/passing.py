"""When the engine passes although it would rather play, and plays although it would rather pass (engine.md 3, 6 and 7).

Friendly passing ends a game whose dead stones both agree on; cleaning up takes dead stones off where the rules count
every stone on the board.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from client.engine.gtp.session import Session
from client.engine.gtp.settings import Switch
from client.engine.gtp.thinking import genmove_parameters, query_of
from client.engine.queries import Ticket
from client.engine.statuses import alive_by_ownership, stones, strict_area, whole_area
from client.search.limits import Limits
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


def friendly_or_cleaning(session: Session, colour: int, point: int) -> int:
    """What to play where the search would play ``point``."""
    game = session.game
    if point == PASS:
        cleaning = _cleaning_point(session, colour) if _cleans_up(session) else None
        return PASS if cleaning is None else cleaning
    if _may_pass_friendly(session, colour) and _is_settled(session, game, colour, point):
        return PASS
    return point


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


def _is_settled(session: Session, game: Game, colour: int, point: int) -> bool:
    """Whether everybody knows who owns what, and ``point`` changes nothing of it."""
    visits = _visits(session)
    ownership = _ownership(session, colour, visits)
    if ownership is None:
        return False
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
    return _is_worth_nothing(session, colour, point, visits)


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


def _is_worth_nothing(session: Session, colour: int, point: int, visits: int) -> bool:
    """Whether a search after the move finds hardly more than one after a pass."""
    played, passed = (_after(session, colour, each, visits) for each in (point, PASS))
    if played.result is None or passed.result is None:
        return False
    sign = 1.0 if colour == WHITE else -1.0
    best, other = played.result, passed.result
    return (
        sign * (best.utility - other.utility) <= _WORTH_UTILITY
        and sign * (best.mean.score_mean - other.mean.score_mean) <= _WORTH_POINTS
        and sign * (best.mean.lead - other.mean.lead) <= _WORTH_POINTS
    )


def _after(session: Session, colour: int, point: int, visits: int) -> Ticket:
    game = session.game.copy()
    game.play(point, colour, tolerant=True)
    parameters = genmove_parameters(session)
    query = query_of(session, opponent(colour), parameters, Limits(visits=visits), is_of_game=False)
    ticket = session.ask(replace(query, game=game))
    session.finish(ticket)
    return ticket


def _ownership(session: Session, colour: int, visits: int) -> npt.NDArray[np.float64] | None:
    parameters = genmove_parameters(session)
    query = query_of(session, colour, parameters, Limits(visits=visits), is_of_game=False, ownership=True)
    ticket = session.ask(query)
    session.finish(ticket)
    report = session.queries.report(ticket, ReportOptions(ownership=True))
    return None if report is None or report.ownership is None else report.ownership.mean


def _visits(session: Session) -> int:
    limit = min(session.search.max_visits, session.search.max_playouts)
    return _LEAST_VISITS + min(_MOST_MORE_VISITS, limit // _SHARE_OF_VISITS)
