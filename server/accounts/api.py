"""Users over HTTP (contribute-protocol.md 16)."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from server.accounts.models import Contributor
from server.accounts.selectors import contributors
from server.api import paged


def user_details(request: Request, contributor: Contributor) -> dict[str, Any]:
    """A contributor for readers; the address of mails is for maintainers."""
    user = contributor.user
    told = {
        "id": contributor.pk,
        "url": request.build_absolute_uri(reverse("user", args=[contributor.pk])),
        "username": user.get_username(),
    }
    return told | ({"email": user.email} if getattr(request.user, "is_staff", False) else {})


class UsersApi(APIView):
    """All contributors."""

    @extend_schema(operation_id="user_list", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request) -> Response:
        """Answer a page of contributors."""
        return paged(request, self, contributors(), lambda contributor: user_details(request, contributor))


class UserApi(APIView):
    """One contributor."""

    @extend_schema(operation_id="user_details", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request, key: int) -> Response:
        """Answer the contributor of that id."""
        contributor = contributors().filter(pk=key).first()
        if contributor is None:
            raise Http404
        return Response(user_details(request, contributor))
