"""Questions about training; imports no torch, so that pages may ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.db.models import Max, QuerySet

from server.runs.models import Run
from server.training.models import TrainingMetric, TrainingState

MAX_POINTS: Final = 1000


@dataclass(frozen=True)
class LossPoint:
    """Mean losses by term up to ``samples``."""

    samples: int
    values: dict[str, float]


@dataclass(frozen=True)
class Size:
    """A network size that a run trains: its own, or the next one beside it (training.md 9)."""

    run: Run
    architecture: str

    @property
    def is_next(self) -> bool:
        """Whether it is the one that is to take the place of the run's own."""
        return self.architecture == self.run.next_architecture

    @property
    def state(self) -> QuerySet[TrainingState]:
        """Its training, if it has begun."""
        return TrainingState.objects.filter(run_id=self.run.pk, architecture=self.architecture)

    def __str__(self) -> str:
        return f"{self.run.name}, {self.architecture}"


def sizes(run: Run) -> list[Size]:
    """What ``run`` trains: its size first."""
    return [Size(run, name) for name in (run.architecture, run.next_architecture) if name]


def loss_curves(run: Run) -> dict[str, list[LossPoint]]:
    """What a run's sizes have measured, by what it is: the architecture, and the same for validation."""
    curves: dict[str, list[LossPoint]] = {}
    for size in sizes(run):
        curves[size.architecture] = loss_curve(size)
        if validation := validation_curve(size):
            curves[f"{size.architecture}, validation"] = validation
    return curves


def loss_curve(size: Size) -> list[LossPoint]:
    """The losses of a size in order of samples, thinned to at most about `MAX_POINTS`; the newest is always there."""
    found = _metrics(size).order_by("samples").values_list("samples", "losses")
    return _thinned([LossPoint(samples, losses) for samples, losses in found])


def validation_curve(size: Size) -> list[LossPoint]:
    """The losses of a size on rows that it is not trained on, one point an epoch, thinned as its other losses."""
    found = _metrics(size).exclude(validation={}).order_by("samples").values_list("samples", "validation")
    return _thinned([LossPoint(samples, losses) for samples, losses in found])


def _thinned(points: list[LossPoint]) -> list[LossPoint]:
    step = max(1, len(points) // MAX_POINTS)
    return points[::-1][::step][::-1]


def recent_losses(size: Size, samples: int) -> list[dict[str, float]]:
    """What was measured over the last so many samples; empty before there were as many."""
    newest = _metrics(size).aggregate(newest=Max("samples"))["newest"] or 0
    if newest < samples:
        return []
    return list(_metrics(size).filter(samples__gt=newest - samples).values_list("losses", flat=True))


def samples_trained(run: Run) -> int:
    """Samples of the run's size up to the newest checkpoint."""
    return sizes(run)[0].state.values_list("samples", flat=True).first() or 0


def trouble(run: Run) -> str:
    """Why a run does not train; empty if nothing is wrong."""
    return _told(run, "trouble")


def activity(run: Run) -> str:
    """What a run's trainers do."""
    return _told(run, "activity")


def _told(run: Run, field: str) -> str:
    """A text of each size's state that has one, with the size's name where there are two."""
    trained = sizes(run)
    texts = [(size, size.state.values_list(field, flat=True).first()) for size in trained]
    return "; ".join(text if len(trained) == 1 else f"{size.architecture}: {text}" for size, text in texts if text)


def _metrics(size: Size) -> QuerySet[TrainingMetric]:
    return TrainingMetric.objects.filter(run_id=size.run.pk, architecture=size.architecture)
