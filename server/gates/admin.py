"""Gates in the admin pages, for reading."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from server.gates.models import Gate


@admin.register(Gate)
class GateAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable without stubs
    """Matches of candidates."""

    list_per_page = 30
    list_display = ("candidate", "opponent", "state", "played", "games", "points", "pending", "sample_since")
    list_filter = ("state", "run")
    list_select_related = ("candidate", "opponent")
    readonly_fields = tuple(field.name for field in Gate._meta.fields)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Opened by the server alone."""
        return False
