"""Networks in the admin pages: what they are used for can be changed, what they are cannot."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from server.admin_forms import ChangedFieldsAdmin
from server.networks.models import Network

EDITABLE = {"training_games_enabled", "rating_games_enabled", "log_gamma_offset", "notes"}


@admin.register(Network)
class NetworkAdmin(ChangedFieldsAdmin):
    """Networks; they come from the trainer or from ``manage.py add_network``."""

    list_per_page = 30
    list_display = ("name", "run", "state", "training_games", "match_games", "created_at")
    list_filter = ("state", "run")
    search_fields = ("name",)
    readonly_fields = tuple(field.name for field in Network._meta.fields if field.name not in EDITABLE)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """A network needs its file checked and stored."""
        return False
