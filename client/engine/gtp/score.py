"""Commands about the result and about what the net says without search (engine.md 6, 7)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from client.engine.gtp.protocol import GtpError
from client.engine.gtp.session import Session
from client.engine.gtp.texts import raw_outputs_text, score_text
from client.engine.gtp.thinking import query_of
from client.engine.gtp.words import colour_of, expected, shown
from client.engine.raw_outputs import raw_outputs
from client.engine.statuses import alive_by_ownership, alive_by_rules
from client.games.fair_komi import Worth, answered, lead
from client.networks import RANDOM_MODEL
from client.search.limits import Limits
from client.search.report import ReportOptions
from common.go.points import to_vertex
from common.go.result import DRAW, VOID, result_text
from common.go.rules import Scoring
from common.go.symmetry import NUM_SYMMETRIES
from common.parameters import SearchParameters

STATUSES: Final = ("alive", "seki", "dead")
_SCORE_VISITS: Final = 50
_SCORE_VISITS_PER_THREAD: Final = 10
_STATUS_VISITS: Final = 100
_STATUS_VISITS_PER_THREAD: Final = 20


def final_score(session: Session, words: list[str]) -> str:
    """The score of a finished game, else an estimate."""
    game = session.game
    if _is_exact(session):
        return DRAW if game.result == VOID else score_text(game.score())
    return score_text(_estimate(session))


def settled_result(session: Session) -> str | None:
    """How the game ended, as forms and SGF have it; None if it goes on.

    Where dead stones are left to agreement it is what `final_score` says, not the score with all of them on the board.
    """
    game = session.game
    if not game.finished or game.result == VOID or _is_exact(session):
        return game.result
    return result_text(_estimate(session))


def final_status_list(session: Session, words: list[str]) -> str:
    """The stones that live, or that are dead."""
    if len(words) != 1:
        raise expected("one argument", "final_status_list", words)
    if words[0] not in STATUSES:
        raise GtpError("Argument to final_status_list must be 'alive' or 'seki' or 'dead'")
    if words[0] == "seki":
        return ""
    alive = alive_by_rules(session.game) if _is_exact(session) else _alive_by_search(session)
    wanted = words[0] == "alive"
    height = session.position.size[1]
    return " ".join(to_vertex(point, height) for point, lives in alive.items() if lives == wanted)


def raw_nn(session: Session, words: list[str]) -> str:
    """The net's own outputs: ``[colour] symmetry [optimism]``, the symmetry 0 to 7 or ``all``."""
    pattern = r"(?:(?P<colour>[a-z]+) )?(?P<symmetry>[0-7]|all)(?: (?P<optimism>[0-9.]+))?"
    found = re.fullmatch(pattern, " ".join(words).lower())
    try:
        optimism = float(found["optimism"] or session.search.root_policy_optimism) if found else math.nan
    except ValueError:
        optimism = math.nan
    if found is None or not 0.0 <= optimism <= 1.0:
        told = f" but got '{shown(' '.join(words))}'" if words else ""
        raise GtpError(
            f"Expected a symmetry argument 'all' or index [0-7]{told} for kata-raw-nn (expected an optional color, a "
            "symmetry 'all' or index [0-7], and an optional optimism [0-1])"
        )
    colour = colour_of(found["colour"]) if found["colour"] else session.game.to_move
    symmetries = range(NUM_SYMMETRIES) if found["symmetry"] == "all" else [int(found["symmetry"])]
    evaluator = session.evaluator()
    return "\n".join(
        raw_outputs_text(
            raw_outputs(evaluator, session.game, colour, symmetry, optimism), symmetry, *session.position.size
        )
        for symmetry in symmetries
    )


def _is_exact(session: Session) -> bool:
    """Whether the rules themselves say how the game ended: no dead stone is left to agreement."""
    rules = session.game.rules
    return session.game.finished and (not rules.friendly_pass_ok or rules.scoring == Scoring.TERRITORY)


def _estimate(session: Session) -> float:
    """White's points if the position were played out."""
    game = session.game
    if session.queries.network.name == RANDOM_MODEL:
        return game.score()  # it has no idea of a score
    found = answered(lead(game.rules, game.start.area), lambda komi: _worth(session, komi))
    return math.floor(found + 0.5) if game.rules.result_is_integer else math.floor(found) + 0.5


def _worth(session: Session, komi: float) -> Worth:
    """The position under another komi, by a short search."""
    visits = max(_SCORE_VISITS, _SCORE_VISITS_PER_THREAD * session.search.num_search_threads)
    game = session.game.under(session.game.rules.with_komi(komi))
    query = query_of(session, game.to_move, _plain(session), Limits(visits=visits), is_of_game=False)
    ticket = session.ask(replace(query, game=game))
    session.finish(ticket)
    assert ticket.result is not None
    return Worth(ticket.result.mean.lead, ticket.result.mean.win_loss)


def _alive_by_search(session: Session) -> Mapping[int, bool]:
    visits = max(_STATUS_VISITS, _STATUS_VISITS_PER_THREAD * session.search.num_search_threads)
    limits = Limits(visits=visits)
    query = query_of(session, session.game.to_move, _plain(session), limits, is_of_game=False, ownership=True)
    ticket = session.ask(query)
    session.finish(ticket)
    report = session.queries.report(ticket, ReportOptions(ownership=True))
    assert report is not None
    assert report.ownership is not None
    return alive_by_ownership(session.game, report.ownership.mean)


def _plain(session: Session) -> SearchParameters:
    """For estimates: no advantage to either side, and passes that the opponent is not thought to accept."""
    return replace(session.search, conservative_pass=True, playout_doubling_advantage=0.0)
