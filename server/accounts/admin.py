"""Contributors in the admin pages; counts are for reading only."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import UserChangeForm

from server.accounts.models import Contributor
from server.admin_forms import ChangedFieldsAdmin, ShownForm


@admin.register(Contributor)
class ContributorAdmin(ChangedFieldsAdmin):
    """Who may contribute."""

    list_per_page = 30
    list_display = ("user", "may_contribute", "training_games", "training_rows", "match_games", "refused_games")
    list_filter = ("may_contribute",)
    search_fields = ("user__username",)
    list_select_related = ("user",)
    readonly_fields = (
        *("client_revision", "last_seen", "created_at"),
        *("training_games", "training_rows", "match_games", "refused_games"),
    )
    raw_id_fields = ("user",)


class UserForm(ShownForm, UserChangeForm):  # type: ignore[type-arg]  # not subscriptable without stubs
    """A user's page."""


admin.site.unregister(get_user_model())


@admin.register(get_user_model())
class AccountAdmin(ChangedFieldsAdmin, UserAdmin):  # type: ignore[type-arg]  # not subscriptable without stubs
    """Django's page of users, which writes what was changed on it."""

    form = UserForm
    readonly_fields = ("last_login", "date_joined")
