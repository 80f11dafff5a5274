"""How numbers and times are written on the pages."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from django import template
from django.utils.timesince import timesince

register = template.Library()


@register.filter
def grouped(value: int | None) -> str:
    """``1234567`` as ``1 234 567`` (narrow no-break spaces), nothing as a dash."""
    return "–" if value is None else f"{value:,}".replace(",", "\u202f")


@register.filter
def doubled(value: float) -> float:
    """Twice the value: two standard errors from one."""
    return 2 * value


@register.filter
def points(value: Decimal | None) -> str:
    """Size of a score without sign and without a trailing zero: ``-3.0`` as ``3``."""
    return "" if value is None else f"{abs(value):g}".removesuffix(".0")


@register.filter
def timesince_or_dash(moment: datetime | None) -> str:
    """How long ago, in the largest unit; a dash for never."""
    return "–" if moment is None else timesince(moment, depth=1)
