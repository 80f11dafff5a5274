"""``/healthz/``: does this process reach its database and its storage, and has that room left?"""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from server.storage import free_bytes

_EARLY: Final = 2
"""Space is called low at so many times of what uploads are refused at."""


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """200 with ``{"database": "ok", "storage": "ok", "space": "ok"}``, else 503 with what is wrong."""
    found = {"database": _database(), "storage": _storage(), "space": _space()}
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


def _space() -> str:
    """Low while games are still taken, so that somebody has time to make room."""
    try:
        free = free_bytes()
    except OSError:
        return "away"
    return "low" if free is not None and free < _EARLY * settings.MIN_FREE_BYTES else "ok"
