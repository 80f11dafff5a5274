"""Commands about the program itself (engine.md 2)."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable

from client.engine.gtp.protocol import GtpError
from client.engine.gtp.session import Session
from client.engine.gtp.words import expected


def protocol_version(session: Session, words: list[str]) -> str:
    """The version of GTP."""
    return "2"


def name(session: Session, words: list[str]) -> str:
    """Ours, or what an interface wants to see."""
    return session.settings.name


def version(session: Session, words: list[str]) -> str:
    """Of the program and the net."""
    return session.version


def known_command(known: Container[str], words: list[str]) -> str:
    """Whether a command exists."""
    if len(words) != 1:
        raise expected("single argument", "known_command", words)
    return "true" if words[0] in known else "false"


def list_commands(listed: Iterable[str]) -> str:
    """Those that interfaces look for."""
    return "\n".join(listed)


def nothing(session: Session, words: list[str]) -> str:
    """``quit`` and ``stop``: the line itself does it."""
    return ""


def get_models(session: Session, words: list[str]) -> str:
    """The net, as JSON."""
    return json.dumps(session.models, sort_keys=True, separators=(",", ":"))


def clear_cache(session: Session, words: list[str]) -> str:
    """Forget every tree."""
    session.queries.forget_all()
    return ""


def cpu_time(session: Session, words: list[str]) -> str:
    """Seconds that moves were thought about."""
    return f"{session.genmove_seconds:.6g}"


def raw_human_nn(session: Session, words: list[str]) -> str:
    """No net that imitates people is played."""
    raise GtpError("Cannot run kata-raw-human-nn, -human-model was not provided")
