"""Start positions in the admin pages: to be looked at, and taken out of what is drawn."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from server.positions.models import Position
from server.positions.services import positions_enable


@admin.register(Position)
class PositionAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable without stubs
    """Positions; they come from ``POST /api/startposes/``."""

    list_display = ("id", "run", "weight", "is_enabled", "notes", "created_at")
    list_filter = ("run", "is_enabled")
    list_select_related = ("run",)
    readonly_fields = tuple(field.name for field in Position._meta.fields)
    actions = ("enable", "disable")
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        """They are checked where they are sent."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Position | None = None) -> bool:
        """Jobs name them."""
        return False

    @admin.action(description="Draw them", permissions=["change"])
    def enable(self, request: HttpRequest, positions: QuerySet[Position]) -> None:
        """Draw them again."""
        positions_enable(list(positions.values_list("pk", flat=True)), enabled=True)

    @admin.action(description="Draw them no more", permissions=["change"])
    def disable(self, request: HttpRequest, positions: QuerySet[Position]) -> None:
        """Draw them no more."""
        positions_enable(list(positions.values_list("pk", flat=True)), enabled=False)
