"""``kata-benchmark``: how fast this engine searches the present position (engine.md 2)."""

from __future__ import annotations

from client.engine.gtp.protocol import GtpError
from client.engine.gtp.session import Session
from client.engine.gtp.thinking import genmove_parameters, query_of
from client.engine.gtp.words import expected, shown, whole_number
from client.search.limits import Limits


def benchmark(session: Session, words: list[str]) -> str:
    """Search from nothing to so many visits, and tell visits a second."""
    if len(words) != 1:
        raise expected("one argument", "kata-benchmark", words)
    visits = whole_number(words[0])
    if visits is None or visits < 1:
        raise GtpError(f"Could not parse number of visits: '{shown(words[0])}'")
    colour = session.game.to_move
    limits = Limits(visits=visits)
    query = query_of(session, colour, genmove_parameters(session), limits, is_of_game=False)
    began = session.clock()
    ticket = session.ask(query)
    session.finish(ticket)
    seconds = max(session.clock() - began, 1e-9)
    assert ticket.result is not None
    found = ticket.result.visits
    return (
        f"numSearchThreads = {session.search.num_search_threads}: {found} visits in {seconds:.3f} s, "
        f"{found / seconds:.2f} visits/s"
    )
