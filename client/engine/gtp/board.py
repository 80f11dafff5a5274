"""Commands that set, show and change the position (engine.md 2, 7)."""

from __future__ import annotations

import re

from client.engine.gtp.protocol import GtpError
from client.engine.gtp.session import Session
from client.engine.gtp.texts import board_text
from client.engine.gtp.thinking import ponder_if_wanted
from client.engine.gtp.words import colour_of, expected, is_colour, point_of_word, shown
from common.go.points import BLACK, MAX_LENGTH, MIN_LENGTH, PASS, from_vertex, to_vertex


def boardsize(session: Session, words: list[str]) -> str:
    """Empty board of another size: ``n``, ``x y`` or ``x:y``."""
    found = re.fullmatch(r"([+-]?\d{1,9})(?:[ :]([+-]?\d{1,9}))?", " ".join(words))
    if found is None:
        raise expected("int argument", "boardsize or pair of ints", words)
    size = int(found[1]), int(found[2] or found[1])
    if min(size) < MIN_LENGTH:
        raise GtpError("unacceptable size")
    if max(size) > MAX_LENGTH:
        raise GtpError(f"unacceptable size (sides up to {MAX_LENGTH} are supported)")
    if size != session.position.size:
        session.queries.forget_all()
    session.position.resize(*size)
    session.begin_anew()
    session.restart_clocks()
    return ""


def clear_board(session: Session, words: list[str]) -> str:
    """Empty board of the same size."""
    session.position.clear()
    session.begin_anew()
    session.restart_clocks()
    return ""


def set_position(session: Session, words: list[str]) -> str:
    """Stones on an empty board, Black to move."""
    refusal = f"Expected a space-separated sequence of <COLOR> <VERTEX> pairs but got '{shown(' '.join(words))}'"
    if len(words) % 2:
        raise GtpError(refusal)
    stones = []
    for colour, vertex in zip(words[::2], words[1::2], strict=True):
        if not is_colour(colour):
            raise GtpError(f"{refusal}: could not parse color: '{shown(colour)}'")
        try:
            point = from_vertex(vertex, *session.position.size)
        except ValueError:
            point = PASS
        if point == PASS:
            raise GtpError(f"{refusal}: could not parse vertex: '{shown(vertex)}'")
        stones.append((colour_of(colour), point))
    try:
        session.position.set_up(stones, BLACK)
    except ValueError:
        raise GtpError("Illegal stone placements - overlapping stones or stones with no liberties?") from None
    session.begin_anew()
    return ""


def play(session: Session, words: list[str]) -> str:
    """A move of either colour."""
    if len(words) != 2:
        raise expected("two arguments", "play", words)
    colour, point = colour_of(words[0]), point_of_word(words[1], session.position.size)
    try:
        session.position.play(colour, point)
    except ValueError:
        raise GtpError("illegal move") from None
    ponder_if_wanted(session)
    return ""


def undo(session: Session, words: list[str]) -> str:
    """Take the last move back."""
    try:
        session.position.undo()
    except ValueError:
        raise GtpError("cannot undo") from None
    session.begin_anew()
    return ""


def showboard(session: Session, words: list[str]) -> str:
    """The board and what belongs to it, for people."""
    return board_text(session.game)


def debug_moves(session: Session, words: list[str]) -> str:
    """The moves so far, colour and vertex each."""
    height = session.position.size[1]
    return " ".join(f"{'.BW'[colour]} {to_vertex(point, height)}" for colour, point in session.game.moves)
