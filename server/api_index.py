"""``/api/``: what there is to read."""

from __future__ import annotations

from typing import Final

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

_LISTS: Final = {
    "runs": "run-list",
    "networks": "network-list",
    "networks-for-elo": "network-elo",
    "games/training": "training-games",
    "games/rating": "rating-games",
    "users": "users",
    "schema": "schema",
}
"""Names of the addresses in `server.urls`."""


class ApiIndex(APIView):
    """The lists of the API."""

    @extend_schema(operation_id="index", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request) -> Response:
        """Answer their addresses by name."""
        return Response({label: request.build_absolute_uri(reverse(name)) for label, name in _LISTS.items()})
