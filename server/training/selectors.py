"""Questions about training; imports no torch, so that pages may ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.db.models import Max, QuerySet

from server.runs.models import Run
from server.training.models import TrainingMetric
from server.training.sizes import TrainedNet, trained_nets

MAX_POINTS: Final = 1000


@dataclass(frozen=True)
class LossPoint:
    """Mean losses by term up to ``samples``."""

    samples: int
    values: dict[str, float]


def loss_curves(run: Run) -> dict[str, list[LossPoint]]:
    """The losses of each net that a run trains, by the curve's title: its architecture, and ``…, validation``."""
    curves: dict[str, list[LossPoint]] = {}
    for net in trained_nets(run):
        curves[net.architecture] = loss_curve(net)
        if validation := validation_curve(net):
            curves[f"{net.architecture}, validation"] = validation
    return curves


def loss_curve(net: TrainedNet) -> list[LossPoint]:
    """The losses of a net in order of samples, thinned to at most about `MAX_POINTS`; the newest is always there."""
    found = _metrics(net).order_by("samples").values_list("samples", "losses")
    return _thinned([LossPoint(samples, losses) for samples, losses in found])


def validation_curve(net: TrainedNet) -> list[LossPoint]:
    """The losses of a net on rows that it is not trained on, one point an epoch, thinned as its other losses."""
    found = _metrics(net).exclude(validation={}).order_by("samples").values_list("samples", "validation")
    return _thinned([LossPoint(samples, losses) for samples, losses in found])


def _thinned(points: list[LossPoint]) -> list[LossPoint]:
    step = max(1, len(points) // MAX_POINTS)
    return points[::-1][::step][::-1]


def recent_losses(net: TrainedNet, samples: int) -> list[dict[str, float]]:
    """What was measured over the last so many samples; empty before there were as many."""
    newest = _metrics(net).aggregate(newest=Max("samples"))["newest"] or 0
    if newest < samples:
        return []
    return list(_metrics(net).filter(samples__gt=newest - samples).values_list("losses", flat=True))


def samples_trained(run: Run) -> int:
    """Samples of the run's size up to the newest checkpoint."""
    return trained_nets(run)[0].state.values_list("samples", flat=True).first() or 0


def trouble(run: Run) -> str:
    """Why a run does not train; empty if nothing is wrong."""
    return _told(run, "trouble")


def activity(run: Run) -> str:
    """What a run's trainers do."""
    return _told(run, "activity")


def _told(run: Run, field: str) -> str:
    """A text of each net's state that has one, with its architecture where there are two."""
    trained = trained_nets(run)
    texts = [(net, net.state.values_list(field, flat=True).first()) for net in trained]
    return "; ".join(text if len(trained) == 1 else f"{net.architecture}: {text}" for net, text in texts if text)


def _metrics(net: TrainedNet) -> QuerySet[TrainingMetric]:
    return TrainingMetric.objects.filter(run_id=net.run.pk, architecture=net.architecture)
