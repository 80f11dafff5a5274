"""Questions about contributors."""

from __future__ import annotations

from django.db.models import QuerySet

from server.accounts.models import Contributor
from server.errors import NotAllowed


def require_contributor(user: object) -> Contributor:
    """The contributor who is logged in.

    Raises:
        NotAllowed: the login has no contributor's account, or may not contribute.
    """
    contributor = getattr(user, "contributor", None)
    if not isinstance(contributor, Contributor):
        raise NotAllowed("this login is not a contributor's; ask the run's maintainers")
    if not contributor.may_contribute:
        raise NotAllowed("this account may not contribute at the moment; ask the run's maintainers")
    return contributor


def contributors() -> QuerySet[Contributor]:
    """All contributors with their users, those with most training rows first."""
    return Contributor.objects.select_related("user").order_by("-training_rows", "pk")


def contributor_by_name(username: str) -> Contributor | None:
    """The contributor of that name, with the user; None if there is none."""
    return Contributor.objects.select_related("user").filter(user__username=username).first()
