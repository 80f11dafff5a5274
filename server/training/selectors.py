"""Questions about training; imports no torch, so that pages may ask."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from django.db import connection
from django.db.models import Max, QuerySet

from server.runs.models import Run
from server.training.models import TrainingMetric
from server.training.sizes import TrainedNet, trained_nets

MAX_POINTS: Final = 250
"""Points of a curve: a chart has hardly more pixels."""


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
    return _thinned(net, "losses", "true")


def validation_curve(net: TrainedNet) -> list[LossPoint]:
    """The losses of a net on rows that it is not trained on, one point an epoch, thinned as its other losses."""
    return _thinned(net, "validation", "NOT (validation = '{}'::jsonb)")


def latest_losses(net: TrainedNet) -> dict[str, float]:
    """What was measured last; empty before training has begun."""
    return _metrics(net).order_by("-samples").values_list("losses", flat=True).first() or {}


def _thinned(net: TrainedNet, column: str, condition: str) -> list[LossPoint]:
    """The metrics that hold ``condition``: all, or where there are many, those nearest above evenly spaced samples.

    A year of metrics is a million rows; each of the chosen ones is looked up by the index.
    """
    values: dict[str, str | int] = {"run": net.run.pk, "architecture": net.architecture, "points": MAX_POINTS}
    of_net = f"run_id = %(run)s AND architecture = %(architecture)s AND {condition}"
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT samples, {column} FROM training_trainingmetric WHERE {of_net}
            ORDER BY samples LIMIT %(points)s + 1
            """,
            values,
        )
        found = cursor.fetchall()
        if len(found) > MAX_POINTS:
            cursor.execute(
                f"""
                WITH ends AS (
                    SELECT min(samples) AS first, max(samples) AS last FROM training_trainingmetric WHERE {of_net}
                )
                SELECT DISTINCT ON (metric.samples) metric.samples, metric.value
                FROM ends CROSS JOIN generate_series(0, %(points)s - 1) AS step CROSS JOIN LATERAL (
                    SELECT samples, {column} AS value FROM training_trainingmetric
                    WHERE {of_net} AND samples >= first + (last - first) * step / (%(points)s - 1)
                    ORDER BY samples LIMIT 1
                ) AS metric ORDER BY metric.samples
                """,
                values,
            )
            found = cursor.fetchall()
    return [LossPoint(samples, json.loads(value)) for samples, value in found]


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
