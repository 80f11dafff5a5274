"""Strengths over HTTP: the strongest network, and the list that graphs are drawn from (contribute-protocol.md 16)."""

from __future__ import annotations

from typing import Any, Final

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.wire import NetworkInfo, format_created_at
from server.errors import NoRun, Refused
from server.networks.api import network_info
from server.ratings.selectors import elo_list, strongest
from server.runs.selectors import current_run

LEAST_GAMES: Final = 25
"""A network with fewer games is no point of a graph yet."""


class NoneStrongest(Refused):
    """No network has played enough."""

    status = 404


class StrongestNetworkApi(APIView):
    """The network of the current run that is surely the strongest."""

    @extend_schema(operation_id="network_strongest", responses=NetworkInfo)
    def get(self, request: Request) -> Response:
        """Answer it."""
        run = current_run()
        if run is None:
            raise NoRun
        network = strongest(run)
        if network is None:
            raise NoneStrongest(f"no network of the run {run.name} has played enough games yet")
        return Response(network_info(request, network).to_object())


class EloListApi(APIView):
    """The strengths of a run's networks, all at once."""

    @extend_schema(operation_id="network_elo_list", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request) -> Response:
        """Answer the networks of the run ``?run__name=``, or of the current one, in the order of creation."""
        name = request.query_params.get("run__name")
        if name is None:
            run = current_run()
            if run is None:
                raise NoRun
            name = run.name
        rated = elo_list(name.replace("\0", ""), LEAST_GAMES)  # PostgreSQL knows no such character
        columns = ("network__name", "network__created_at", "network__architecture", "network__data_rows")
        points: list[dict[str, Any]] = [  # thousands, so that no objects are made of them
            {
                "name": name,
                "created_at": format_created_at(created_at),
                "network_size": architecture,
                "total_num_data_rows": rows,
                "log_gamma": log_gamma,
                "log_gamma_uncertainty": error,
            }
            for name, created_at, architecture, rows, log_gamma, error in rated.values_list(
                *columns, "log_gamma", "error"
            )
        ]
        return Response(points)
