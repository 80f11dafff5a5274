"""Contributors in the admin pages; counts are for reading only."""

from __future__ import annotations

from django.contrib import admin

from server.accounts.models import Contributor


@admin.register(Contributor)
class ContributorAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable without stubs
    """Who may contribute."""

    list_display = ("user", "may_contribute", "training_games", "training_rows", "match_games", "refused_games")
    list_filter = ("may_contribute",)
    search_fields = ("user__username",)
    list_select_related = ("user",)
    readonly_fields = (
        *("client_revision", "last_seen", "created_at"),
        *("training_games", "training_rows", "match_games", "refused_games"),
    )
    raw_id_fields = ("user",)
