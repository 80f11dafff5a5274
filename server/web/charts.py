"""What the charts of a page draw, as plain data for its script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.utils.translation import gettext as _

from server.ratings.selectors import RatedNetwork
from server.training.selectors import LossPoint

SHOWN: Final = ("policy", "value")
"""Losses that a chart shows at first; the others are a click away."""


def rating_chart(curve: Sequence[RatedNetwork]) -> dict[str, Any]:
    """Elo over rows with two standard errors."""
    points = [
        {
            "name": net.name,
            "state": net.state,
            "rows": net.data_rows,
            "elo": round(net.elo, 1),
            "error": round(2 * net.elo_error, 1),
        }
        for net in curve
    ]
    return {"networks": points, "x_title": _("training rows")}


def loss_chart(losses: Sequence[LossPoint]) -> dict[str, Any] | None:
    """Each loss over samples; None before training has begun."""
    if not losses:
        return None
    names = sorted({name for point in losses for name in point.values})
    values = {name: [point.values.get(name) for point in losses] for name in names}
    return {
        "names": names,
        "samples": [point.samples for point in losses],
        "values": values,
        "shown": [name for name in names if name in SHOWN] or names[:2],
        "x_title": _("samples"),
    }


def latest_losses(losses: Sequence[LossPoint]) -> list[tuple[str, float]]:
    """The newest value of each loss, by name."""
    return sorted(losses[-1].values.items()) if losses else []
