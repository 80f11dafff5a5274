"""The runs that are not closed, kept by each process for as long as nothing of them has changed.

A run's row holds texts of many kilobytes and is asked for by nearly every request of a client. Its version in the
database (``xmin`` and ``ctid``, which change with every update) is asked for instead, together with those of the
networks that the run names; so what is kept is never older than the question.
"""

from __future__ import annotations

from typing import Final

from django.db import connection

from server.runs.models import Run, RunState

_VERSIONS: Final = """
    SELECT run.id, run.xmin::text, run.ctid::text, now.xmin::text, now.ctid::text, old.xmin::text, old.ctid::text
    FROM runs_run AS run
    LEFT JOIN networks_network AS now ON now.id = run.current_network_id
    LEFT JOIN networks_network AS old ON old.id = run.previous_network_id
    WHERE run.state <> %s ORDER BY run.id DESC
"""
_Versions = list[tuple[object, ...]]
_kept: tuple[_Versions, list[Run]] = [], []


def open_runs_kept() -> list[Run]:
    """The runs that are not closed by hand, newest first, with their current and previous networks.

    Shared by all requests of this process: nobody may change or save them.
    """
    global _kept
    with connection.cursor() as cursor:
        cursor.execute(_VERSIONS, [RunState.CLOSED])
        versions: _Versions = cursor.fetchall()
    known, runs = _kept
    if versions != known:
        # Read after its version: a change in between is found by the next question, which has a newer version.
        found = Run.objects.select_related("current_network", "previous_network").exclude(state=RunState.CLOSED)
        runs = list(found.order_by("-pk"))
        for run in runs:
            for network in (run.current_network, run.previous_network):
                if network is not None:
                    network.run = run
        _kept = versions, runs
    return list(runs)
