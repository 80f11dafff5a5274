"""What no line of a log may hold: the addresses of letters, each of which opens an account for a while."""

from __future__ import annotations

import logging
import re
from typing import Final

_OF_LETTERS: Final = re.compile(r"(/account/(?:reset|verify)/)[^\s\"'?#]*[^\s\"'?#/][^\s\"'?#]*")


def without_letters(text: str) -> str:
    """The text, with ``…`` for the secret part of such addresses."""
    return _OF_LETTERS.sub(r"\1…", text)


class WithoutLetters(logging.Filter):
    """Takes them out of every record: Django names the address of each request that it refuses or that fails."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record where it has one; none is dropped."""
        text = record.getMessage()
        kept = without_letters(text)
        if kept != text:
            record.msg, record.args = kept, None
        return True
