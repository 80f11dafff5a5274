"""KataGo's configuration text: lines of ``key = value``, read into entries and written again.

Knows the grammar (spec contribute-protocol.md 5) and no key; what keys mean is in `common.parameters`. The directive by
which KataGo's parser reads further files is refused, as such a text comes from another machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}
_NEEDS_QUOTES: Final = re.compile(r'^\s|\s$|["#\n\r\t\\]')


class ConfigError(ValueError):
    """A configuration text that cannot be used; each line of the message is one problem, with key and line number."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The value of one key, and where it came from: ``line 12``, ``override``."""

    value: str
    place: str


def parse(text: str) -> dict[str, Entry]:
    """The entries of a text by key, in its order.

    Raises:
        ConfigError: a line that is not ``key = value``, an unclosed quotation, a key given twice, an include
            directive. All problems are listed.
    """
    entries: dict[str, Entry] = {}
    problems = []
    for number, line in enumerate(text.splitlines(), start=1):
        place = f"line {number}"
        try:
            found = _parse_line(line)
            if found is None:
                continue
            key, value = found
            if key in entries:
                raise ConfigError(f"{key} is given a second time, first on {entries[key].place}")
            entries[key] = Entry(value, place)
        except ConfigError as problem:
            problems.append(f"{place}: {problem}")
    if problems:
        raise ConfigError("\n".join(problems))
    return entries


def parse_overrides(text: str) -> dict[str, Entry]:
    """The entries of ``key=value,key=value``; a comma inside quotes, or before a part without ``=``, is the value's.

    Raises:
        ConfigError: a part that is not ``key=value``; a key given twice.
    """
    parts: list[str] = []
    for part in re.findall(r'(?:"(?:[^"\\]|\\.)*"|[^,])+', text):
        if "=" in part or not parts:
            parts.append(part)
        else:
            parts[-1] += "," + part
    entries: dict[str, Entry] = {}
    for part in parts:
        try:
            found = _parse_line(part)
        except ConfigError as problem:
            raise ConfigError(f"override: {problem}") from None
        if found is None:
            continue
        key, value = found
        if key in entries:
            raise ConfigError(f"override: {key} is given twice")
        entries[key] = Entry(value, "override")
    return entries


def write(values: Mapping[str, str]) -> str:
    """One line ``key = value`` for each entry; quoted where the value would be read differently."""
    return "".join(f"{key} = {quoted(value)}\n" for key, value in values.items())


def overlay(base: str, changes: str) -> str:
    """``base`` with the values of the keys in ``changes``: replaced in their lines, new keys at the end.

    Comments and order of ``base`` stay.

    Raises:
        ConfigError: either text is malformed.
    """
    parse(base)
    pending = {key: entry.value for key, entry in parse(changes).items()}
    lines = []
    for line in base.splitlines():
        found = _parse_line(line)
        if found is not None and found[0] in pending:
            line = write({found[0]: pending.pop(found[0])}).rstrip("\n")
        lines.append(line)
    return "\n".join(lines) + "\n" + write(pending)


def quoted(value: str) -> str:
    """``value`` as it is written after the equals sign."""
    if value and not _NEEDS_QUOTES.search(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    for letter, character in _ESCAPES.items():
        escaped = escaped.replace(character, "\\" + letter)
    return f'"{escaped}"'


def _parse_line(line: str) -> tuple[str, str] | None:
    """Key and value of a line, None for a blank line or a comment."""
    stripped = line.strip()
    if not stripped or stripped.startswith("#"):
        return None
    if stripped.startswith("@"):
        raise ConfigError("directives such as @include are not allowed here; put the settings into this text")
    key, equals, rest = stripped.partition("=")
    key = key.strip()
    if not equals:
        raise ConfigError(f"{stripped[:60]!r} is not of the form key = value")
    if not _KEY.fullmatch(key):
        raise ConfigError(f"{key[:60]!r} is not a key: letters, digits and underscores, a letter first")
    rest = rest.strip()
    if rest.startswith('"'):
        return key, _unquote(key, rest)
    return key, rest.partition("#")[0].strip()


def _unquote(key: str, text: str) -> str:
    """Value of a quotation that begins ``text``; only a comment may follow it."""
    value: list[str] = []
    characters = iter(enumerate(text[1:], start=1))
    for index, character in characters:
        if character == '"':
            rest = text[index + 1 :].strip()
            if rest and not rest.startswith("#"):
                raise ConfigError(f"{key}: {rest[:40]!r} follows the closing quote")
            return "".join(value)
        if character == "\\":
            _, character = next(characters, (0, ""))
            character = _ESCAPES.get(character, character)
        value.append(character)
    raise ConfigError(f"{key}: the closing quote is missing")
