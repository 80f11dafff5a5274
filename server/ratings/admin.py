"""Ratings in the admin: to be read, since they are computed."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from server.ratings.models import Rating


@admin.register(Rating)
class RatingAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable without stubs
    """A list that cannot be changed."""

    list_display = ("network", "run", "log_gamma", "error", "games", "computed_at")
    list_filter = ("run",)
    list_select_related = ("network", "run")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Rating | None = None) -> bool:
        """Never."""
        return False
