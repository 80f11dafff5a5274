"""Games in the admin pages: for reading, and to be moved between counted and refused, alone or a contributor's all."""

from __future__ import annotations

from typing import Final

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from server.accounts.admin import ContributorAdmin
from server.accounts.models import Contributor
from server.games.models import Game
from server.games.moderation import contributor_refuse, games_refuse, games_requeue, games_restore
from server.games.moving import Refusal

EXCLUDED: Final = Refusal("excluded", "all games of this contributor were taken out by a maintainer")
MODERATED: Final = Refusal("moderated", "taken out by a maintainer")


def _keys(games: QuerySet[Game]) -> list[int]:
    return list(games.values_list("pk", flat=True))


@admin.register(Game)
class GameAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable without stubs
    """Uploaded games."""

    list_display = ("uid", "kind", "run", "contributor", "state", "reason_code", "num_training_rows", "received_at")
    list_filter = ("kind", "state", "reason_code", "run")
    search_fields = ("uid", "contributor__user__username")
    list_select_related = ("run", "contributor__user")
    readonly_fields = tuple(field.name for field in Game._meta.fields)
    actions = ("refuse", "restore", "requeue")
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Games are uploaded."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Game | None = None) -> bool:
        """A game is refused, not deleted: its counts have to follow."""
        return False

    @admin.action(description="Refuse: take the counted games out of all counts", permissions=["change"])
    def refuse(self, request: HttpRequest, games: QuerySet[Game]) -> None:
        """Take games out."""
        self.message_user(request, f"{games_refuse(_keys(games), MODERATED)} games refused")

    @admin.action(description="Restore: count the refused games after all", permissions=["change"])
    def restore(self, request: HttpRequest, games: QuerySet[Game]) -> None:
        """Put games in."""
        self.message_user(request, f"{games_restore(_keys(games))} games counted")

    @admin.action(description="Audit the refused games again", permissions=["change"])
    def requeue(self, request: HttpRequest, games: QuerySet[Game]) -> None:
        """Send games to the audit."""
        self.message_user(request, f"{games_requeue(_keys(games))} games wait for their audit")


admin.site.unregister(Contributor)


@admin.register(Contributor)
class ModeratedContributorAdmin(ContributorAdmin):
    """The page of contributors, from which all that somebody sent can be taken out."""

    actions = ("take_out",)

    @admin.action(description="Exclude: refuse all games, also from training, and take no more", permissions=["change"])
    def take_out(self, request: HttpRequest, contributors: QuerySet[Contributor]) -> None:
        """Take contributors out, with what they sent."""
        refused = sum(contributor_refuse(contributor, EXCLUDED) for contributor in contributors)
        self.message_user(request, f"{refused} games refused")
