"""Checks of values on a command line, for argparse; every command refuses the same things in the same words."""

from __future__ import annotations

import argparse


def positive(text: str) -> int:
    """The value of an option that counts something: a whole number of at least 1."""
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, not {text!r}")
    return int(text)
