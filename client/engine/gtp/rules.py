"""Commands about rules and komi (engine.md 2). Positions stay, and moves are replayed under the new rules."""

from __future__ import annotations

import json
from typing import Final

from client.engine.gtp.protocol import GtpError
from client.engine.gtp.session import Session
from client.engine.gtp.texts import rules_json
from client.engine.gtp.words import expected, number, shown
from common.go.rules import MAX_KOMI, NAMED_RULES, Rules, komi_text

_KGS: Final = {"chinese": "chinesekgs", "aga": "aga", "new_zealand": "newzealand", "japanese": "japanese"}


def komi(session: Session, words: list[str]) -> str:
    """Another komi; the position stays."""
    value = number(" ".join(words))
    if value is None:
        raise expected("single float argument", "komi", words)
    if abs(value) > MAX_KOMI:
        raise GtpError("unacceptable komi")
    if not (2 * value).is_integer():
        raise GtpError("komi must be an integer or half-integer")
    session.position.use_rules(session.position.rules.with_komi(value))
    return ""


def get_komi(session: Session, words: list[str]) -> str:
    """The komi."""
    return komi_text(session.position.rules.komi)


def get_rules(session: Session, words: list[str]) -> str:
    """The rules but for komi, as JSON."""
    return rules_json(session.position.rules, komi=False)


def set_rules(session: Session, words: list[str]) -> str:
    """Other rules, by name or JSON; komi stays, and a text that has one is refused."""
    text = " ".join(words)
    try:
        rules = Rules.parse(text)
        if "komi" in text:  # as a key of JSON or of the short string; no name has it
            raise ValueError("Unknown rules option: komi")
    except ValueError as error:
        raise GtpError(f"Unknown rules '{shown(text)}', {shown(str(error))}") from None
    _use(session, rules)
    return ""


def set_rule(session: Session, words: list[str]) -> str:
    """One rule, by its key in the JSON form."""
    if len(words) != 2:
        raise expected("two arguments", "kata-set-rule", words)
    fields = session.position.rules.to_json(komi=False)
    key, value = words
    if key not in fields:
        raise GtpError(f"Unknown rules option: {shown(key)}")
    fields[key] = value.lower() == "true" if value.lower() in ("true", "false") else value.upper()
    try:
        rules = Rules.from_json(fields)
    except ValueError as error:
        raise GtpError(f"Unknown rules '{shown(json.dumps(fields))}', {shown(str(error))}") from None
    _use(session, rules)
    return ""


def kgs_rules(session: Session, words: list[str]) -> str:
    """The rules of a server, by its names."""
    if not words:
        raise GtpError("Expected one argument kgs-rules")
    name = " ".join(words).lower()
    if name not in _KGS:
        raise GtpError(f"Unknown rules '{shown(' '.join(words))}'")
    _use(session, NAMED_RULES[_KGS[name]])
    return ""


def _use(session: Session, rules: Rules) -> None:
    session.position.use_rules(rules.with_komi(session.position.rules.komi))
