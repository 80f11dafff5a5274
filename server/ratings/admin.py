"""Ratings in the admin: to be read, since they are computed."""

from __future__ import annotations

from django.contrib import admin

from server.admin_forms import ReadOnlyAdmin
from server.ratings.models import Rating


@admin.register(Rating)
class RatingAdmin(ReadOnlyAdmin):
    """A list that cannot be changed."""

    list_per_page = 30
    list_display = ("network", "run", "log_gamma", "error", "games", "computed_at")
    list_filter = ("run",)
    list_select_related = ("network", "run")
