"""Commands about time (engine.md 5)."""

from __future__ import annotations

import math
from typing import Final

from client.engine.clock import LEAST_TIME_TOLD, Clock, TimeControl, absolute, byo_yomi, canadian, fischer, no_limit
from client.engine.gtp.protocol import GtpError
from client.engine.gtp.session import Session
from client.engine.gtp.words import colour_of, expected, is_colour, number, shown, whole_number
from common.go.points import BLACK, WHITE

MOST_SECONDS: Final = 1e9
MOST_STONES: Final = 100_000
KGS_SETTINGS: Final = ("none", "absolute", "byoyomi", "canadian")
SETTINGS: Final = (*KGS_SETTINGS, "fischer", "fischer-capped")


def time_settings(session: Session, words: list[str]) -> str:
    """Main time, overtime and its stones."""
    session.set_time(_canadian(words, 0))
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
    values = (number(words[1]), whole_number(words[2])) if len(words) == 3 else (None, None)
    seconds, stones = values
    if seconds is None or stones is None or not is_colour(words[0]):
        raise expected("player and float time and int stones", "time_left", words)
    if not LEAST_TIME_TOLD <= seconds <= MOST_SECONDS:
        raise GtpError("invalid time")
    if not 0 <= stones <= MOST_STONES:
        raise GtpError("invalid stones")
    colour = colour_of(words[0])
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
        *others, last = (f"'{each}'" for each in known)
        raise GtpError(f"Expected {', '.join(others)}, or {last} as first argument for {command}")
    session.set_time(_control(name, words))


def _control(name: str, words: list[str]) -> TimeControl:
    """Of a name and the numbers after it."""
    if name == "none":
        return no_limit()
    if name == "canadian":
        return _canadian(words, 1)
    main = _seconds(words, 1, "main time")
    if name == "absolute":
        return absolute(main)
    if name == "byoyomi":
        return byo_yomi(
            main, _seconds(words, 2, "byo-yomi per-period time"), _count(words, 3, "byo-yomi overtime periods")
        )
    increment = _seconds(words, 2, "increment time")
    if name == "fischer":
        return fischer(main, increment)
    limits = _limit(words, 3, "main time limit"), _limit(words, 4, "max time per move")
    try:
        return fischer(main, increment, main_limit=limits[0], move_limit=limits[1])
    except ValueError:
        raise GtpError("TimeControls: mainTimeLimit is smaller than mainTime") from None


def _canadian(words: list[str], first: int) -> TimeControl:
    """Of the three numbers from argument ``first`` on."""
    return canadian(
        _seconds(words, first, "main time"),
        _seconds(words, first + 1, "byo-yomi per-period time"),
        _count(words, first + 2, "byo-yomi overtime stones"),
    )


def _float(words: list[str], index: int, what: str) -> float:
    value = number(words[index]) if index < len(words) else None
    if value is None:
        raise GtpError(f"Expected float for {what} as argument {index}")
    return value


def _seconds(words: list[str], index: int, what: str) -> float:
    value = _float(words, index, what)
    if not 0 <= value <= MOST_SECONDS:
        raise GtpError(f"{what} is an invalid value: {shown(words[index])}")
    return value


def _limit(words: list[str], index: int, what: str) -> float:
    """Seconds; negative ones are no limit."""
    return math.inf if _float(words, index, what) < 0 else _seconds(words, index, what)


def _count(words: list[str], index: int, what: str) -> int:
    value = whole_number(words[index]) if index < len(words) else None
    if value is None:
        raise GtpError(f"Expected int for {what} as argument {index}")
    if not 0 <= value <= MOST_STONES:
        raise GtpError(f"{what} is an invalid value: {shown(words[index])}")
    return value
