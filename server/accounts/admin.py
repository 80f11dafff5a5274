"""Contributors, users and their roles in the admin pages; counts are for reading only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import UserChangeForm
from django.db.models import QuerySet
from django.http import HttpRequest

from server.accounts.forms import UserEmailMixin
from server.accounts.models import Contributor
from server.accounts.registration import account_delete
from server.accounts.roles import Role, role_set
from server.admin_forms import ChangedFieldsAdmin, ShownForm
from server.errors import InvalidSettings


@admin.register(Contributor)
class ContributorAdmin(ChangedFieldsAdmin):
    """Who may contribute."""

    list_per_page = 30
    list_display = (
        *("user", "may_contribute", "email_verified"),
        *("training_games", "training_rows", "match_games", "refused_games"),
    )
    list_filter = ("may_contribute",)
    search_fields = ("user__username",)
    list_select_related = ("user",)
    readonly_fields = (
        *("client_revision", "last_seen", "created_at"),
        *("training_games", "training_rows", "match_games", "refused_games"),
    )
    raw_id_fields = ("user",)


class UserForm(UserEmailMixin, ShownForm, UserChangeForm):  # type: ignore[type-arg]  # not subscriptable without stubs
    """A user's page."""


admin.site.unregister(get_user_model())


@admin.register(get_user_model())
class AccountAdmin(ChangedFieldsAdmin, UserAdmin):  # type: ignore[type-arg]  # not subscriptable without stubs
    """Django's page of users, which writes what was changed on it; roles have a form of their own."""

    form = UserForm
    readonly_fields = ("last_login", "date_joined")
    actions = (*(f"make_{role.value}" for role in Role), "delete_account")

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """An account's games stay; see the action."""
        return False

    @admin.action(description="Delete: remove all but the games", permissions=["change"])
    def delete_account(self, request: HttpRequest, users: QuerySet[Any]) -> None:
        """Do for users what their own page would."""
        for user in users:
            try:
                account_delete(user)
            except InvalidSettings as error:
                self.message_user(request, f"{user.get_username()}: {error}", messages.ERROR)


def _role_action(role: Role) -> Callable[..., None]:
    @admin.action(description=f"Role: {role.value}", permissions=["change"])
    def give(self: AccountAdmin, request: HttpRequest, users: QuerySet[Any]) -> None:
        for user in users:
            if user == request.user:
                self.message_user(request, "your own role is for another admin to change", messages.ERROR)
            else:
                role_set(user, role)

    return give


for _role in Role:
    setattr(AccountAdmin, f"make_{_role.value}", _role_action(_role))
