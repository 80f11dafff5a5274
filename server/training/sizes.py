"""The sizes of net that a run trains at the same time, each with a training of its own. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from server.runs.models import Run
from server.training.models import TrainingState


@dataclass(frozen=True)
class TrainedNet:
    """The net of one architecture that a run trains: its own, or the next one beside it (training.md 9)."""

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


def trained_nets(run: Run) -> list[TrainedNet]:
    """What ``run`` trains: the net of its own size first."""
    return [TrainedNet(run, name) for name in (run.architecture, run.next_architecture) if name]
