"""Games in the admin pages: for reading, and to be moved between counted and refused, alone or by what they share."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest

from common.audit_report import Reason
from server.accounts.admin import ContributorAdmin
from server.accounts.models import Contributor
from server.admin_forms import ReadOnlyAdmin
from server.admin_lists import KeyPagedAdmin
from server.errors import InvalidSettings
from server.games.exclusions import exclusion_check, exclusion_lift, exclusion_make
from server.games.models import Decided, Exclusion, ExclusionKind, Game, GameKind, GameState
from server.games.moderation import games_refuse, games_requeue, games_restore
from server.games.moving import Refusal

EXCLUDED: Final = "all games of this contributor were taken out by a maintainer"
MODERATED: Final = Refusal(Decided.MODERATED, "taken out by a maintainer")


def _keys(games: QuerySet[Game]) -> list[int]:
    return list(games.values_list("pk", flat=True))


class ReasonFilter(admin.SimpleListFilter):
    """By the reason of a refusal; those that there may be, not those that there are, which would take a scan."""

    title = "reason"
    parameter_name = "reason"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The reasons, in the order of the alphabet."""
        codes = {"audit_failed", *(code.value for code in Decided), *(reason.value for reason in Reason)}
        return [(code, code) for code in sorted(codes)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Game]) -> QuerySet[Game]:
        """The refused games with the chosen reason."""
        code = self.value()
        return queryset.filter(state=GameState.REFUSED, reason_code=code) if code else queryset


@admin.register(Game)
class GameAdmin(KeyPagedAdmin):
    """Uploaded games."""

    list_display = ("uid", "kind", "run", "contributor", "state", "reason_code", "num_training_rows", "received_at")
    list_filter = ("kind", "state", ReasonFilter, "run")
    search_fields = ("uid",)
    search_help_text = "The whole uid of a game, or the whole name of a contributor."
    list_select_related = ("run", "contributor__user")
    readonly_fields = tuple(field.name for field in Game._meta.fields)
    actions = ("refuse", "restore", "requeue")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Game], search_term: str
    ) -> tuple[QuerySet[Game], bool]:
        """What has an index: a uid, or a contributor."""
        term = search_term.strip()
        if not term:
            return queryset, False
        contributor = Contributor.objects.filter(user__username=term).first()
        if contributor is not None:
            return queryset.filter(contributor=contributor), False
        return queryset.filter(kind__in=GameKind.values, uid=term.upper()), False

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Games are uploaded."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Game | None = None) -> bool:
        """A game is refused, not deleted: its counts have to follow."""
        return False

    @admin.action(description="Refuse: take games that count or wait out of all counts", permissions=["change"])
    def refuse(self, request: HttpRequest, games: QuerySet[Game]) -> None:
        """Take games out."""
        self.message_user(request, f"{games_refuse(_keys(games), MODERATED)} games refused")

    @admin.action(
        description="Restore: take refused games back in, which wait if their login is not trusted",
        permissions=["change"],
    )
    def restore(self, request: HttpRequest, games: QuerySet[Game]) -> None:
        """Put games in."""
        self.message_user(request, f"{games_restore(_keys(games))} games taken back in")

    @admin.action(description="Audit the refused games again", permissions=["change"])
    def requeue(self, request: HttpRequest, games: QuerySet[Game]) -> None:
        """Send games to the audit."""
        self.message_user(request, f"{games_requeue(_keys(games))} games wait for their audit")


class ExclusionForm(ModelForm):  # type: ignore[type-arg]  # not subscriptable without stubs
    """A new exclusion."""

    def clean(self) -> dict[str, Any] | None:
        """Say what does not fit together."""
        cleaned = super().clean()
        if not self.errors:
            try:
                exclusion_check(Exclusion(**self.cleaned_data))
            except InvalidSettings as error:
                raise ValidationError(str(error)) from None
        return cleaned


@admin.register(Exclusion)
class ExclusionAdmin(ReadOnlyAdmin):
    """Games taken out together, and put back: made and lifted here, never changed."""

    form = ExclusionForm
    list_display = ("id", "kind", "subject", "run", "since", "until", "made_at", "lifted_at", "is_done")
    list_filter = ("kind", "is_done")
    list_select_related = ("run", "contributor__user", "network")
    raw_id_fields = ("contributor", "network")
    fields = ("kind", "contributor", "network", "name", "run", "since", "until", "reason")
    actions = ("lift",)

    @admin.display(description="what")
    def subject(self, exclusion: Exclusion) -> str:
        """Whose games."""
        return str(exclusion.contributor or exclusion.network or exclusion.name)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Whoever may add one of these rows."""
        return admin.ModelAdmin.has_add_permission(self, request)

    def has_delete_permission(self, request: HttpRequest, obj: Exclusion | None = None) -> bool:
        """It is lifted, not deleted: the games have to follow."""
        return False

    def save_model(self, request: HttpRequest, obj: Exclusion, form: Any, change: bool) -> None:
        """Make it; a worker takes the games out."""
        exclusion_make(obj)

    @admin.action(description="Lift: put back what was taken out", permissions=["add"])
    def lift(self, request: HttpRequest, exclusions: QuerySet[Exclusion]) -> None:
        """Lift exclusions; a worker puts the games back."""
        lifted = sum(exclusion_lift(exclusion.pk) for exclusion in exclusions)
        self.message_user(request, f"{lifted} lifted; a worker puts the games back")


admin.site.unregister(Contributor)


@admin.register(Contributor)
class ModeratedContributorAdmin(ContributorAdmin):
    """The page of contributors, from which all that somebody sent can be taken out."""

    actions = ("take_out",)

    @admin.action(
        description="Exclude: refuse all games, also from training, and take no more; can be lifted",
        permissions=["change"],
    )
    def take_out(self, request: HttpRequest, contributors: QuerySet[Contributor]) -> None:
        """Take contributors out, with what they sent."""
        for contributor in contributors:
            exclusion_make(Exclusion(kind=ExclusionKind.CONTRIBUTOR, contributor=contributor, reason=EXCLUDED))
        self.message_user(request, "a worker takes the games out; the exclusions can be lifted on their own page")
