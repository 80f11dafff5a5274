"""Settings that hold for a share of a run's games of self-play: pure functions over the run's list.

One line for each; ``#`` starts a comment. The shares sum up to at most 1, and the other games are played by the run's
text alone::

    0.1  cpuctExploration=1.2,rootNoiseEnabled=false
    0.05 maxVisits=1200
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from common.config_text import ConfigError, parse_overrides
from common.wire import MAX_OVERRIDE_BYTES

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Variant:
    """One line of the list."""

    share: float
    overrides: str
    """``key=value,key=value``."""


def parse_variants(text: str) -> list[Variant]:
    """The lines of a list.

    Raises:
        ValueError: a line is malformed, or the shares are; the text names it.
    """
    variants = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split(maxsplit=1)
        if not words:
            continue
        try:
            share = float(words[0])
            is_share = math.isfinite(share) and 0.0 < share <= 1.0
        except ValueError:
            is_share = False
        if not is_share or len(words) < 2:
            raise ValueError(f"line {number}: expected 'SHARE KEY=VALUE,…' with a share up to 1, found {line!r}")
        overrides = words[1].strip()
        if len(overrides.encode()) > MAX_OVERRIDE_BYTES:
            raise ValueError(f"line {number}: has more than {MAX_OVERRIDE_BYTES} bytes")
        try:
            parse_overrides(overrides)
        except ConfigError as error:
            raise ValueError(f"line {number}: {error}") from None
        variants.append(Variant(share, overrides))
    if sum(variant.share for variant in variants) > 1.0 + _ROUNDING:
        raise ValueError("the shares sum up to more than 1")
    return variants


def drawn_overrides(variants: list[Variant], draw: float) -> str:
    """The overrides of the game for which ``draw``, in [0, 1), was drawn; empty for most."""
    for variant in variants:
        if draw < variant.share:
            return variant.overrides
        draw -= variant.share
    return ""
