"""JSON that strangers wrote: read with a limit on its depth, as nested values cost stack wherever they are visited."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

MAX_DEPTH: Final = 64
_TOKENS: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?+|[\[{]|[\]}]', re.DOTALL)


class JsonError(ValueError):
    """A text that is not JSON, or nested too deeply; says which."""


def loads(
    text: str,
    *,
    parse_float: Callable[[str], Any] | None = None,
    parse_constant: Callable[[str], Any] | None = None,
) -> Any:
    """What ``text`` stands for. Takes time in proportion to its length.

    ``parse_float`` and ``parse_constant`` are those of `json.loads`; their ``ValueError`` says what is no JSON.

    Raises:
        JsonError: not JSON, or more than `MAX_DEPTH` values inside each other.
    """
    depth = 0
    for token in _TOKENS.finditer(text):
        first = token[0][0]
        if first in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise JsonError(f"nested too deeply: at most {MAX_DEPTH} values inside each other are read")
        elif first in "]}":
            depth -= 1
    try:
        return json.loads(text, parse_float=parse_float, parse_constant=parse_constant)
    except ValueError as error:
        raise JsonError(f"not JSON: {error}") from None
