"""``/healthz/``: does this process reach its database and its storage?"""

from __future__ import annotations

from django.core.files.storage import default_storage
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """200 with ``{"database": "ok", "storage": "ok"}``, else 503 with what is wrong."""
    found = {"database": _database(), "storage": _storage()}
    return JsonResponse(found, status=200 if set(found.values()) == {"ok"} else 503)


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "away"
    return "ok"


def _storage() -> str:
    try:
        default_storage.exists("health")
    except Exception:  # each storage has errors of its own
        return "away"
    return "ok"
