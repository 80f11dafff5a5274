"""KataGo's configuration text: lines of ``key = value``, read into entries and written again.

Knows the grammar (spec contribute-protocol.md 5) and no key; what keys mean is in `common.parameters`. The directive by
which KataGo's parser reads further files is refused, as such a text comes from another machine. Whatever its parser
would refuse is refused here, since one such line ends every client of a run.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BLANKS: Final = " \t\v\f\r"
"""Around keys and values; others, such as the blank of fixed width, are part of them."""
_NEEDS_QUOTES: Final = re.compile(r'^["]|^[ \t\v\f]|[ \t\v\f]$|#')
_MARK: Final = "\ufeff"


class ConfigError(ValueError):
    """A configuration text that cannot be used; each line of the message is one problem, with key and line number."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The value of one key, and where it came from: ``line 12``, ``override``."""

    value: str
    place: str
    cut: str = ""
    """The comment, where its ``#`` follows the value without a blank: it may have been meant as part of the value."""


def parse(text: str) -> dict[str, Entry]:
    """The entries of a text by key, in its order.

    Raises:
        ConfigError: a line that is not ``key = value``, a key without a value, an unclosed quotation, a key given
            twice, an include directive. All problems are listed.
    """
    entries: dict[str, Entry] = {}
    problems = []
    if text.startswith(_MARK):
        raise ConfigError("line 1: the text begins with a byte order mark; remove it")
    for number, line in enumerate(text.split("\n"), start=1):
        place = f"line {number}"
        try:
            found = _parse_line(line)
            if found is None:
                continue
            key, value, cut = found
            if key in entries:
                raise ConfigError(f"{key} is given a second time, first on {entries[key].place}")
            entries[key] = Entry(value, place, cut)
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
        key, value, cut = found
        if key in entries:
            raise ConfigError(f"override: {key} is given twice")
        entries[key] = Entry(value, "override", cut)
    return entries


def write(values: Mapping[str, str]) -> str:
    """One line ``key = value`` for each entry; quoted where the value would be read differently.

    Raises:
        ConfigError: a value that no line can hold: it is empty, or has an end of line.
    """
    return "".join(f"{key} = {quoted(value)}\n" for key, value in values.items())


def overlay(base: str, changes: str, without: Collection[str] = ()) -> str:
    """``base`` with the values of the keys in ``changes``: replaced in their lines, new keys at the end.

    Comments and order of ``base`` stay; its lines of the keys in ``without`` go.

    Raises:
        ConfigError: either text is malformed.
    """
    parse(base)
    pending = {key: entry.value for key, entry in parse(changes).items()}
    lines = []
    for line in base.removesuffix("\n").split("\n"):
        found = _parse_line(line)
        if found is not None and found[0] in pending:
            line = write({found[0]: pending.pop(found[0])}).rstrip("\n")
        if found is None or found[0] not in without:
            lines.append(line)
    return "\n".join(lines) + "\n" + write(pending)


def overridden(base: str, overrides: str) -> str:
    """``base`` with the values of ``key=value,key=value`` put over it, as a task's ``overrides`` give them for a game.

    Raises:
        ConfigError: either text is malformed.
    """
    changes = parse_overrides(overrides)
    return overlay(base, write({key: entry.value for key, entry in changes.items()})) if changes else base


def quoted(value: str) -> str:
    """``value`` as it is written after the equals sign; ``ConfigError`` as in `write`."""
    if not value:
        raise ConfigError("an empty value cannot be written")
    if "\n" in value or "\r" in value:
        raise ConfigError(f"{value[:40]!r} has an end of line, which a value cannot have")
    if not _NEEDS_QUOTES.search(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _parse_line(line: str) -> tuple[str, str, str] | None:
    """Key and value of a line and what `Entry.cut` says, None for a blank line or a comment."""
    stripped = line.strip(_BLANKS)
    if not stripped or stripped.startswith("#"):
        return None
    if "\r" in stripped:
        raise ConfigError("a carriage return in the middle of the line; end lines by a line feed")
    if stripped.startswith("@"):
        raise ConfigError("directives such as @include are not allowed here; put the settings into this text")
    key, equals, rest = stripped.partition("=")
    key = key.strip(_BLANKS)
    if not equals:
        raise ConfigError(f"{stripped[:60]!r} is not of the form key = value")
    if not _KEY.fullmatch(key):
        raise ConfigError(f"{key[:60]!r} is not a key: letters, digits and underscores, a letter first")
    rest = rest.strip(_BLANKS)
    if rest.startswith('"'):
        value, cut = _unquote(key, rest), ""
    else:
        before, mark, after = rest.partition("#")
        value = before.strip(_BLANKS)
        cut = mark + after if before == value else ""
    if not value:
        hint = '; a value that begins with # is written in quotes, as in "#1"' if rest.startswith("#") else ""
        raise ConfigError(f"{key} has no value: give one, or remove the line{hint}")
    return key, value, cut


def _unquote(key: str, text: str) -> str:
    """Value of a quotation that begins ``text``; only a comment may follow it. A backslash stands before a character
    that is taken as it is, whichever it is."""
    value: list[str] = []
    characters = iter(enumerate(text[1:], start=1))
    for index, character in characters:
        if character == '"':
            rest = text[index + 1 :].strip(_BLANKS)
            if rest and not rest.startswith("#"):
                raise ConfigError(f"{key}: {rest[:40]!r} follows the closing quote")
            return "".join(value)
        if character == "\\":
            _, character = next(characters, (0, ""))
        value.append(character)
    raise ConfigError(f"{key}: the closing quote is missing")
