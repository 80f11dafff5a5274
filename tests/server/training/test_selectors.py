"""Loss curves are thinned by the database, whatever their points hold, and end with the newest."""

from __future__ import annotations

import pytest

from server.runs.models import Run
from server.training import selectors
from server.training.models import TrainingMetric
from server.training.selectors import latest_losses, loss_curve, loss_curves, validation_curve
from server.training.sizes import trained_nets

pytestmark = pytest.mark.django_db


def write(run: Run, samples: list[int], every: int = 3) -> None:
    rest = {"run": run, "architecture": run.architecture, "rows": 1, "samples_per_second": 1, "waiting_share": 0}
    TrainingMetric.objects.bulk_create(
        TrainingMetric(
            samples=at, losses={"total": at / 2}, validation={"total": at / 4} if number % every == 0 else {}, **rest
        )
        for number, at in enumerate(samples)
    )


def test_few_points_are_all_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    net = trained_nets(run)[0]
    assert (loss_curve(net), latest_losses(net), loss_curves(run)) == ([], {}, {"b2c32": []})
    samples = [1, 2, 3, 50, 1000, 1001]
    write(run, samples)
    monkeypatch.setattr(selectors, "MAX_POINTS", 6)
    assert [(point.samples, point.values) for point in loss_curve(net)] == [(at, {"total": at / 2}) for at in samples]
    assert [(point.samples, point.values["total"]) for point in validation_curve(net)] == [(1, 0.25), (50, 12.5)]
    assert latest_losses(net) == {"total": 500.5}


@pytest.mark.parametrize("points", [2, 5, 40])
def test_many_points_are_evenly_thinned(run: Run, monkeypatch: pytest.MonkeyPatch, points: int) -> None:
    monkeypatch.setattr(selectors, "MAX_POINTS", points)
    net = trained_nets(run)[0]
    samples = list(range(1000, 1500, 4))
    write(run, samples)
    for curve, there in ((loss_curve(net), samples), (validation_curve(net), samples[::3])):
        ends = there[0], there[-1]
        wanted = [ends[0] + (ends[1] - ends[0]) * step // (points - 1) for step in range(points)]
        assert [point.samples for point in curve] == sorted({min(at for at in there if at >= goal) for goal in wanted})
