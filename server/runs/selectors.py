"""Questions about runs."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Case, F, Q, QuerySet, Value, When
from django.utils import timezone

from server.runs.kept import open_runs_kept
from server.runs.models import Audience, Run, RunState


def current_run(*, own_client: bool = False, username: str = "") -> Run | None:
    """The run that clients are sent to: the newest that is active, else the newest that is paused.

    Naming a paused run keeps clients with it: they wait for jobs instead of ending. KataGo's client ends where it is
    told another run than before, so it is told of the runs for all alone, whoever asks; ours is told the newest that
    the user may play for. Shared by requests: not to be changed.
    """
    now = timezone.now()
    open_ones = [run for run in open_runs_kept() if own_client or run.audience == Audience.ALL]
    for state in (RunState.ACTIVE, RunState.PAUSED):
        for run in open_ones:
            if run.state_at(now) == state and (not own_client or may_play(run, username)):
                return run
    return None


def run_of_upload(name: str) -> Run | None:
    """The run of that name for a game that arrives, not to be changed; None if there is none."""
    kept = next((run for run in open_runs_kept() if run.name == name), None)
    return run_by_name(name) if kept is None else kept


def may_play(run: Run, username: str) -> bool:
    """Whether a user may play for a run; without a name, whether everybody may."""
    allowed = {line.partition("#")[0].strip() for line in run.allowed_users.splitlines()} - {""}
    return not allowed or username in allowed


def next_opening(run: Run) -> str:
    """When a paused run goes on, as far as that is known."""
    if run.state == RunState.ACTIVE and run.opens_at is not None:
        return f"it opens at {run.opens_at:%Y-%m-%d %H:%M} UTC"
    return "jobs are given again when it goes on"


def run_by_name(name: str) -> Run | None:
    """The run of that name, with its current network; None if there is none."""
    return Run.objects.select_related("current_network", "totals").filter(name=name).first()


def runs() -> QuerySet[Run]:
    """All runs, newest first, with their current networks and totals."""
    return Run.objects.select_related("current_network", "totals").order_by("-pk")


def open_runs() -> QuerySet[Run]:
    """Runs whose training and ratings go on: all that are not closed, oldest first."""
    found = in_states(Run.objects.all(), [RunState.ACTIVE, RunState.PAUSED])
    return found.select_related("current_network").order_by("pk")


def in_states(found: QuerySet[Run], states: Collection[RunState]) -> QuerySet[Run]:
    """Those of the runs that are in one of ``states`` now, as `Run.state_at` has it."""
    now = timezone.now()
    closed = When(Q(state=RunState.CLOSED) | Q(closes_at__lte=now), then=Value(RunState.CLOSED.value))
    paused = When(opens_at__gt=now, then=Value(RunState.PAUSED.value))
    return found.annotate(in_state=Case(closed, paused, default=F("state"))).filter(in_state__in=states)
