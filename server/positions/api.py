"""``/api/startposes/``: an administrator's program gives start positions (contribute-protocol.md 14)."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import JSONParser
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.wire import MAX_POSITIONS_BYTES, MAX_START_POSITIONS, ErrorAnswer, GivenPosition, MessageError
from server.api import Malformed, paged, permission_to, refuse_oversized_body, run_name_of, run_url
from server.errors import InvalidSettings
from server.positions.models import Position
from server.positions.selectors import positions
from server.positions.services import positions_add
from server.runs.models import Run
from server.runs.selectors import run_by_name


def position_details(request: Request, position: Position) -> dict[str, Any]:
    """A position for maintainers."""
    return {
        "id": position.pk,
        "run": run_url(request, position.run.name),
        "weight": position.weight,
        "data": position.data,
        "notes": position.notes,
        "enabled": position.is_enabled,
        "created_at": position.created_at,
    }


class StartPositionsApi(APIView):
    """Start positions of all runs."""

    parser_classes = (JSONParser,)

    def get_permissions(self) -> list[BasePermission]:
        """Whose role says so may read them, or add to them."""
        verb = "add" if self.request.method == "POST" else "view"
        return [permission_to(f"positions.{verb}_position")()]

    @extend_schema(operation_id="start_position_list", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request) -> Response:
        """Answer a page of positions, newest first."""
        return paged(request, self, positions(), lambda position: position_details(request, position))

    @extend_schema(
        operation_id="start_positions_add",
        request=OpenApiTypes.OBJECT,
        responses={201: OpenApiTypes.OBJECT, 400: ErrorAnswer, 403: ErrorAnswer},
    )
    def post(self, request: Request) -> Response:
        """Add an array of positions, all or none; those that the run has already are passed over."""
        refuse_oversized_body(request, MAX_POSITIONS_BYTES)
        try:
            given = request.data
        except RecursionError:
            raise Malformed("the JSON is nested too deeply") from None
        if not isinstance(given, list) or not 1 <= len(given) <= MAX_START_POSITIONS:
            raise Malformed(f"give a JSON array of 1 to {MAX_START_POSITIONS} positions")
        by_run: dict[str, list[GivenPosition]] = {}
        for number, each in enumerate(given, start=1):
            try:
                position = GivenPosition.from_object(each)
            except MessageError as error:
                raise Malformed(f"position {number}: {error}") from None
            by_run.setdefault(position.run, []).append(position)
        runs = {url: _run_of(url) for url in by_run}
        try:
            added = sum(positions_add(runs[url], each) for url, each in by_run.items())
        except InvalidSettings as error:
            raise Malformed(str(error)) from None
        return Response({"added": added, "known": len(given) - added}, status=201)


def _run_of(url: str) -> Run:
    name = run_name_of(url)
    run = run_by_name(name) if name else None
    if run is None:
        raise Malformed(f"{url} is no run of this server")
    return run
