"""Standings in the admin pages: alarms are read and overruled there, with a reason that is kept."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.helpers import ActionForm
from django.db.models import QuerySet
from django.http import HttpRequest

from server.admin_forms import ReadOnlyAdmin
from server.games.models import Recheck, Replay
from server.inspection.verdicts import contributor_quarantine, contributor_reject, contributor_trust
from server.trust.models import Alarm, Decision, Standing, Tally


class ReasonForm(ActionForm):
    """The choice of what to do, and why."""

    reason = forms.CharField(required=False, max_length=500)


class _Lines(admin.TabularInline):  # type: ignore[type-arg]  # not subscriptable without stubs
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Written by the server."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never changed."""
        return False


class AlarmLines(_Lines):
    """What was found."""

    model = Alarm


class DecisionLines(_Lines):
    """What was decided, by whom and why."""

    model = Decision


@admin.register(Standing)
class StandingAdmin(ReadOnlyAdmin):
    """How contributors stand with runs."""

    list_display = ("contributor", "run", "trust", "games", "since", "reason")
    list_filter = ("trust", "run")
    list_select_related = ("contributor__user", "run")
    search_fields = ("contributor__user__username",)
    inlines = (AlarmLines, DecisionLines)
    actions = ("trust", "quarantine", "reject")
    action_form = ReasonForm

    @admin.action(description="Trust: count the games that wait, and those to come", permissions=["decide"])
    def trust(self, request: HttpRequest, standings: QuerySet[Standing]) -> None:
        """Overrule alarms."""
        self._decide(request, standings, contributor_trust, "games counted")

    @admin.action(description="Quarantine: let all games wait, also those that count", permissions=["decide"])
    def quarantine(self, request: HttpRequest, standings: QuerySet[Standing]) -> None:
        """Let games wait."""
        self._decide(request, standings, contributor_quarantine, "games wait")

    @admin.action(description="Reject: quarantine, and refuse the games that wait", permissions=["decide"])
    def reject(self, request: HttpRequest, standings: QuerySet[Standing]) -> None:
        """Refuse games."""
        self._decide(request, standings, contributor_reject, "games refused")

    def has_decide_permission(self, request: HttpRequest) -> bool:
        """Who may change standings."""
        return request.user.has_perm("trust.change_standing")

    def _decide(self, request: HttpRequest, standings: QuerySet[Standing], action: Any, what: str) -> None:
        reason = request.POST.get("reason", "").strip()
        if not reason:
            self.message_user(request, "Give a reason: it is kept, and the contributor reads it.", "error")
            return
        moved = 0
        for standing in standings:
            moved += action(standing, reason, request.user)
            self.log_change(request, standing, f"{action.__name__}: {reason}")
        self.message_user(request, f"{moved} {what}")


@admin.register(Recheck)
class RecheckAdmin(ReadOnlyAdmin):
    """Games of which rows were evaluated again."""

    list_display = ("game", "done_at", "rows", "misfits", "text")
    list_select_related = ("game",)
    show_full_result_count = False


@admin.register(Replay)
class ReplayAdmin(ReadOnlyAdmin):
    """Match games that were looked at once more before their gate's candidate was promoted."""

    list_display = ("game", "done_at", "outcome", "text")
    list_filter = ("outcome",)
    list_select_related = ("game",)
    show_full_result_count = False


@admin.register(Tally)
class TallyAdmin(ReadOnlyAdmin):
    """What games were like, by login, machine and network: number, sum and sum of squares of each figure."""

    list_display = ("run", "contributor", "machine", "black_network", "white_network", "sums")
    list_filter = ("run",)
    search_fields = ("contributor__user__username", "machine", "black_network__name", "white_network__name")
    list_select_related = ("run", "contributor__user", "black_network", "white_network")
    show_full_result_count = False
