"""Contributors in the admin pages; counts are for reading only."""

from __future__ import annotations

from typing import Final

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import UserChangeForm
from django.db.models import QuerySet
from django.http import HttpRequest

from server.accounts.models import Contributor
from server.admin_forms import ChangedFieldsAdmin, ShownForm
from server.games.moderation import contributor_refuse
from server.games.moving import Refusal

EXCLUDED: Final = Refusal("excluded", "all games of this contributor were taken out by a maintainer")


@admin.register(Contributor)
class ContributorAdmin(ChangedFieldsAdmin):
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
    actions = ("take_out",)

    @admin.action(description="Exclude: refuse all games, also from training, and take no more")
    def take_out(self, request: HttpRequest, contributors: QuerySet[Contributor]) -> None:
        """Take contributors out, with what they sent."""
        refused = sum(contributor_refuse(contributor, EXCLUDED) for contributor in contributors)
        self.message_user(request, f"{refused} games refused")


class UserForm(ShownForm, UserChangeForm):  # type: ignore[type-arg]  # not subscriptable without stubs
    """A user's page."""


admin.site.unregister(get_user_model())


@admin.register(get_user_model())
class AccountAdmin(ChangedFieldsAdmin, UserAdmin):  # type: ignore[type-arg]  # not subscriptable without stubs
    """Django's page of users, which writes what was changed on it."""

    form = UserForm
    readonly_fields = ("last_login", "date_joined")
