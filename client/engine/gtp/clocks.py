"""Commands about time (engine.md 5)."""

from __future__ import annotations

import math
from typing import Final

from client.engine.clock import Clock, TimeControl, absolute, byo_yomi, canadian, fischer, no_limit
from client.engine.gtp.protocol import GtpError
from client.engine.gtp.session import Session
from client.engine.gtp.words import colour_of, expected, number, shown, whole_number
from common.go.points import BLACK, WHITE

MOST_SECONDS: Final = 1e9
MOST_STONES: Final = 100_000
KGS_SETTINGS: Final = ("none", "absolute", "byoyomi", "canadian")
SETTINGS: Final = (*KGS_SETTINGS, "fischer", "fischer-capped")


def time_settings(session: Session, words: list[str]) -> str:
    """Main time, overtime and its stones."""
    if len(words) != 3:
        raise expected("3 arguments", "time_settings", words)
    session.set_time(canadian(_seconds(words[0]), _seconds(words[1]), _count(words[2])))
    return ""


def kgs_time_settings(session: Session, words: list[str]) -> str:
    """A control by its name."""
    _set_by_name(session, "kgs-time_settings", words, KGS_SETTINGS)
    return ""


def kata_time_settings(session: Session, words: list[str]) -> str:
    """A control by its name, also with increments."""
    _set_by_name(session, "kata-time_settings", words, SETTINGS)
    return ""


def list_time_settings(session: Session, words: list[str]) -> str:
    """The names of controls."""
    return " ".join(SETTINGS)


def time_left(session: Session, words: list[str]) -> str:
    """What the controller says is left of a player's time."""
    if len(words) != 3:
        raise expected("player and int time and int stones", "time_left", words)
    colour, seconds, stones = colour_of(words[0]), number(words[1]), whole_number(words[2])
    if seconds is None or seconds > MOST_SECONDS or stones is None or not 0 <= stones <= MOST_STONES:
        raise expected("player and int time and int stones", "time_left", words)
    try:
        session.clocks[colour] = session.clocks[colour].told(seconds, stones)
    except ValueError as error:
        raise GtpError(str(error)) from None
    return ""


def debug_time_controls(session: Session, words: list[str]) -> str:
    """Both clocks, for people."""
    return "\n".join(f"{name} {_told(session.clocks[colour])}" for name, colour in (("B", BLACK), ("W", WHITE)))


def _told(clock: Clock) -> str:
    if clock.control.is_unlimited:
        return "no limit"
    if clock.in_overtime:
        return (
            f"overtime: {clock.period_left:.6g} s left of a period of {clock.control.period:.6g} s, "
            f"periods left {clock.periods_left}, stones left {clock.stones_left}"
        )
    parts = [f"main time: {clock.main_left:.6g} s left of {clock.control.main:.6g} s"]
    if clock.control.increment:
        parts.append(f"increment {clock.control.increment:.6g} s")
    if clock.control.has_overtime:
        parts.append(
            f"then {clock.control.periods} periods of {clock.control.period:.6g} s, {clock.control.stones} stones each"
        )
    return ", ".join(parts)


def _set_by_name(session: Session, command: str, words: list[str], known: tuple[str, ...]) -> None:
    name = words[0].lower() if words else ""
    if name not in known:
        choices = ", ".join(f"'{each}'" for each in known)
        raise GtpError(f"Expected one of {choices} as first argument for {command} but got '{shown(' '.join(words))}'")
    values = words[1:]
    wanted = {"none": 0, "absolute": 1, "byoyomi": 3, "canadian": 3, "fischer": 2, "fischer-capped": 4}[name]
    if len(values) != wanted:
        raise expected(f"{wanted} arguments after {name}", command, words)
    session.set_time(_control(name, values))


def _control(name: str, values: list[str]) -> TimeControl:
    if name == "none":
        return no_limit()
    main = _seconds(values[0])
    if name == "absolute":
        return absolute(main)
    if name == "byoyomi":
        return byo_yomi(main, _seconds(values[1]), _count(values[2]))
    if name == "canadian":
        return canadian(main, _seconds(values[1]), _count(values[2]))
    increment = _seconds(values[1])
    if name == "fischer":
        return fischer(main, increment)
    try:
        return fischer(main, increment, main_limit=_limit(values[2]), move_limit=_limit(values[3]))
    except ValueError as error:
        raise GtpError(str(error)) from None


def _seconds(word: str) -> float:
    value = number(word)
    if value is None or not 0 <= value <= MOST_SECONDS:
        raise GtpError(f"Expected a number of seconds from 0 to {MOST_SECONDS:g} but got '{shown(word)}'")
    return value


def _limit(word: str) -> float:
    """Seconds; negative ones are no limit."""
    value = number(word)
    return math.inf if value is not None and value < 0 else _seconds(word)


def _count(word: str) -> int:
    value = whole_number(word)
    if value is None or not 0 <= value <= MOST_STONES:
        raise GtpError(f"Expected an integer from 0 to {MOST_STONES} but got '{shown(word)}'")
    return value
