"""Questions about training; imports no torch, so that pages may ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from server.runs.models import Run
from server.training.models import TrainingMetric, TrainingState

MAX_POINTS: Final = 1000


@dataclass(frozen=True)
class LossPoint:
    """Mean losses by term up to ``samples``."""

    samples: int
    values: dict[str, float]


def loss_curve(run: Run) -> list[LossPoint]:
    """The losses of a run in order of samples, thinned to at most about `MAX_POINTS`; the newest is always there."""
    found = list(TrainingMetric.objects.filter(run=run).order_by("samples").values_list("samples", "losses"))
    step = max(1, len(found) // MAX_POINTS)
    return [LossPoint(samples, losses) for samples, losses in found[::-1][::step][::-1]]


def samples_trained(run: Run) -> int:
    """Samples up to the newest checkpoint."""
    return TrainingState.objects.filter(run=run).values_list("samples", flat=True).first() or 0


def trouble(run: Run) -> str:
    """Why a run does not train; empty if nothing is wrong."""
    return TrainingState.objects.filter(run=run).values_list("trouble", flat=True).first() or ""


def activity(run: Run) -> str:
    """What a run's trainer does."""
    return TrainingState.objects.filter(run=run).values_list("activity", flat=True).first() or ""
