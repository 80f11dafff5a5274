"""Jobs in the admin pages, for reading."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from server.admin_forms import ChangedFieldsAdmin
from server.admin_lists import KeyPagedAdmin
from server.jobs.models import Job, WantedMatch


@admin.register(Job)
class JobAdmin(KeyPagedAdmin):
    """Batches of games handed out."""

    list_display = ("id", "kind", "contributor", "black_network", "white_network", "state", "received", "games")
    list_filter = ("kind", "state", "run")
    list_select_related = ("contributor__user", "black_network", "white_network")
    readonly_fields = tuple(field.name for field in Job._meta.fields)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Leased by the server alone."""
        return False


@admin.register(WantedMatch)
class WantedMatchAdmin(ChangedFieldsAdmin):
    """Matches that maintainers ask for."""

    list_display = ("first", "second", "run", "received", "games", "created_at")
    list_filter = ("run",)
    list_select_related = ("first", "second", "run")
    raw_id_fields = ("first", "second")
    readonly_fields = ("received", "handed_out", "created_at")

    def has_delete_permission(self, request: HttpRequest, obj: WantedMatch | None = None) -> bool:
        """Jobs name it; fewer games end it."""
        return False
