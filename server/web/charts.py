"""What the charts of a page draw, as plain data for its script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def loss_chart(curves: Mapping[str, Sequence[LossPoint]]) -> dict[str, Any] | None:
    """Each loss of each curve over its samples, by the curve's title; None before training has begun."""
    lines = []
    for title, points in curves.items():
        names = sorted({name for point in points for name in point.values})
        shown = [name for name in names if name in SHOWN] or names[:2]
        lines += [
            {
                "name": name if len(curves) == 1 else f"{name}, {title}",
                "samples": [point.samples for point in points],
                "values": [point.values.get(name) for point in points],
                "shown": name in shown,
            }
            for name in names
        ]
    return {"lines": lines, "x_title": _("samples")} if lines else None


def latest_losses(curves: Mapping[str, Sequence[LossPoint]]) -> list[tuple[str, list[tuple[str, float]]]]:
    """The newest value of each loss, by name, of each curve that has begun."""
    return [(title, sorted(points[-1].values.items())) for title, points in curves.items() if points]
