"""Whether there is a net of a name; imports no torch, so that a web process may ask."""

from __future__ import annotations

from nets.architecture.config import named


def architecture_fault(name: str) -> str:
    """What is wrong with the name of an architecture; empty if nothing is."""
    try:
        named(name)
    except ValueError as error:
        return str(error)
    return ""
