"""Text files that people hand in: UTF-8 with or without a byte order mark, or UTF-16 with one; any ends of lines.

Knows encodings only. What cannot be read says the file, the place and what to do.
"""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Any, Final

from common import json_text

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins like the mark of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_REMEDY: Final = "save it as UTF-8"


class TextError(ValueError):
    """Bytes that are no text of a known encoding, or a text of the wrong form; says where and what to do."""


def read_text(path: Path) -> str:
    """The content of a file, its lines ended by a line feed each.

    Raises:
        TextError: with the file's name.
        OSError: it cannot be read.
    """
    try:
        return decode(path.read_bytes())
    except TextError as error:
        raise TextError(f"{path}: {error}") from None


def decode(data: bytes) -> str:
    """`read_text` of content that is read already."""
    mark, encoding = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", "utf-8"))
    body = data[len(mark) :]
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise TextError(
            f"line {line}: the byte 0x{body[error.start]:02X} is not {encoding.upper()}; {_REMEDY}"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise TextError(f"line {line}: a zero byte: this is no text, or one in UTF-16 without its mark; {_REMEDY}")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_json_object(path: Path) -> dict[str, Any]:
    """The object that a JSON file holds.

    Raises:
        TextError: it is no JSON object; with the file's name.
        OSError: it cannot be read.
    """
    try:
        found = json_text.loads(read_text(path))
    except json_text.JsonError as error:
        raise TextError(f"{path} is {error}") from None
    if not isinstance(found, dict):
        raise TextError(f"{path} must hold one JSON object")
    return found
