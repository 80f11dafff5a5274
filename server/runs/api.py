"""Runs over HTTP: the one that clients are sent to, and a read-only list."""

from __future__ import annotations

from typing import Any, Final

from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.wire import RunInfo, own_client_version
from server.api import paged, run_url
from server.errors import NoRun
from server.runs.models import Run, RunState
from server.runs.selectors import current_run, in_states, run_by_name, runs


def run_info(request: Request, run: Run) -> RunInfo:
    """A run as the protocol tells it (contribute-protocol.md 3)."""
    return RunInfo(
        name=run.name,
        url=run_url(request, run.name),
        data_board_len=run.data_board_len,
        inputs_version=run.inputs_version,
        max_search_threads_allowed=run.max_search_threads_allowed,
    )


def run_details(request: Request, run: Run) -> dict[str, Any]:
    """A run for readers: what clients get, its settings and its totals."""
    current, state = run.current_network, run.state_now
    return run_info(request, run).to_object() | {
        "id": run.pk,
        "status": "Active" if state == RunState.ACTIVE else "Inactive",
        "state": state,
        "state_since": run.state_since,
        "opens_at": run.opens_at,
        "closes_at": run.closes_at,
        "created_at": run.created_at,
        "current_network": None if current is None else current.name,
        "architecture": run.architecture,
        "selfplay_client_config": run.selfplay_config,
        "rating_client_config": run.gating_config,
        "git_revision_hash_whitelist": run.client_revisions,
        "selfplay_config": run.selfplay_config,
        "gating_config": run.gating_config,
        "client_revisions": run.client_revisions,
        "promotion_rule": run.promotion_rule,
        "gate_games": run.gate_games,
        "gate_required": run.gate_required,
        "training_games": run.totals.training_games,
        "training_rows": run.totals.training_rows,
        "match_games": run.totals.match_games,
        "refused_games": run.totals.refused_games,
    }


_STATES: Final = {
    "inactive": [RunState.PAUSED, RunState.CLOSED],
    **{state.value: [state] for state in RunState},
}
"""By what ``?status=`` asks for: katago-server's two words, and ours."""


class CurrentRunApi(APIView):
    """The run that a client plays for."""

    @extend_schema(operation_id="run_current", responses=RunInfo)
    def get(self, request: Request) -> Response:
        """Answer the newest active run that this client may play for."""
        own_client = own_client_version(request.headers.get("User-Agent", "")) is not None
        run = current_run(own_client=own_client, username=request.user.get_username())
        if run is None:
            raise NoRun
        return Response(run_info(request, run).to_object())


class RunListApi(APIView):
    """All runs."""

    @extend_schema(operation_id="run_list", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request) -> Response:
        """Answer a page of runs, newest first; ``?status=`` keeps those that are active, or are not."""
        found, status = runs(), request.query_params.get("status")
        if status is not None:
            found = in_states(found, _STATES.get(status.lower(), []))
        return paged(request, self, found, lambda run: run_details(request, run))


class RunApi(APIView):
    """One run."""

    @extend_schema(operation_id="run_details", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request, name: str) -> Response:
        """Answer the run of that name."""
        run = run_by_name(name)
        if run is None:
            raise Http404
        return Response(run_details(request, run))
