"""Commands that tell and change the settings of searches (engine.md 2)."""

from __future__ import annotations

import json
from typing import Any

from client.engine.gtp.protocol import GtpError
from client.engine.gtp.session import Session
from client.engine.gtp.settings import UnknownParameterError, problems_in_a_line
from client.engine.gtp.words import expected, shown
from common import json_text
from common.config_text import ConfigError


def list_params(session: Session, words: list[str]) -> str:
    """The names of what can be set."""
    return " ".join(session.parameters.names)


def get_param(session: Session, words: list[str]) -> str:
    """One value: a number, true or false as JSON has it, or a text."""
    if len(words) != 1:
        raise expected("one arguments", "kata-get-param", words)
    try:
        return session.parameters.text(words[0])
    except UnknownParameterError:
        raise GtpError(f"Invalid parameter: {shown(words[0])}") from None


def get_params(session: Session, words: list[str]) -> str:
    """All values, as a JSON object."""
    values = {name: session.parameters.value(name) for name in session.parameters.names}
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


def set_param(session: Session, words: list[str]) -> str:
    """Another value; none is an empty text."""
    if not words or len(words) > 2:
        raise expected("one or two arguments", "kata-set-param", words)
    return _change(session, {words[0]: words[1] if len(words) == 2 else ""})


def set_params(session: Session, words: list[str]) -> str:
    """Other values, by a JSON object; all or none."""
    try:
        fields: Any = json_text.loads(" ".join(words))
    except json_text.JsonError as error:
        raise GtpError(f"Could not set params: {shown(str(error))}") from None
    if not isinstance(fields, dict):
        raise GtpError("Could not set params: Argument to kata-set-params must be a json object")
    return _change(session, {name: _text(name, value) for name, value in fields.items()})


def _text(name: str, value: Any) -> str:
    """A value of JSON as a configuration writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise GtpError(f"Could not set params: {shown(name)} is neither text, number, true nor false")


def _change(session: Session, changes: dict[str, str]) -> str:
    try:
        session.parameters.change(changes)
    except UnknownParameterError as error:
        name = shown(str(error.args[0]))
        raise GtpError(
            f"Could not set params: Unrecognized or non-overridable parameter in kata-set-params: {name}"
        ) from None
    except ConfigError as error:
        raise GtpError(f"Could not set params: {problems_in_a_line(error)}") from None
    session.queries.use_leaves(session.search.num_search_threads)
    return ""
