"""Jobs in the admin pages, for reading."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from server.admin_lists import KeyPagedAdmin
from server.jobs.models import Job


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
