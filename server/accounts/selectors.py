"""Questions about contributors."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet

from server.accounts.models import Contributor
from server.errors import NotAllowed


def require_contributor(user: object) -> Contributor:
    """The contributor who is logged in.

    Raises:
        NotAllowed: the login has no contributor's account, may not contribute, or its address is not confirmed.
    """
    contributor = getattr(user, "contributor", None)
    if not isinstance(contributor, Contributor):
        raise NotAllowed("this login is not a contributor's; ask the run's maintainers")
    if not contributor.may_contribute:
        raise NotAllowed("this account may not contribute at the moment; ask the run's maintainers")
    if settings.VERIFY_EMAIL and not contributor.email_verified:
        raise NotAllowed(
            "this account's e-mail address is not confirmed yet; the account's page sends the letter again"
        )
    return contributor


def active_contributors(since: datetime, most: int) -> int:
    """How many contributors have asked for jobs since then, counted up to ``most``."""
    return Contributor.objects.filter(may_contribute=True, last_seen__gte=since)[:most].count()


def contributor_of(user: Any) -> Contributor | None:
    """The contributor that a user is; None for a user who was made without."""
    return Contributor.objects.filter(user_id=user.pk).first()


def contributors() -> QuerySet[Contributor]:
    """All contributors with their users, those with most training rows first."""
    return Contributor.objects.select_related("user").order_by("-training_rows", "pk")


def players() -> QuerySet[Contributor]:
    """The contributors of whom a game counts, those with most training rows first."""
    return contributors().filter(Q(training_games__gt=0) | Q(match_games__gt=0))


def contributor_by_name(username: str) -> Contributor | None:
    """The contributor of that name, with the user; None if there is none."""
    return Contributor.objects.select_related("user").filter(user__username=username).first()
