"""The page on which a contributor reads what was decided about his games, and why; maintainers read it too."""

from __future__ import annotations

from typing import Final

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from server.accounts import selectors as accounts
from server.games import selectors as games
from server.runs import selectors as runs
from server.trust import selectors as trust

REFUSED_SHOWN: Final = 50
MOST_HELD: Final = 10_000
"""Held games are counted up to here."""


@require_safe
def contributor_page(request: HttpRequest, name: str) -> HttpResponse:
    """Standings, alarms, decisions and refused games of one contributor: for the owner and for maintainers."""
    user = request.user
    is_owner = user.is_authenticated and user.get_username() == name
    is_maintainer = user.is_active and user.is_staff
    if not is_owner and not is_maintainer:
        raise PermissionDenied
    contributor = accounts.contributor_by_name(name)
    if contributor is None:
        raise Http404(f"there is no contributor {name}")
    context = {
        "run": runs.current_run(),
        "contributor": contributor,
        "standings": trust.standings_of(contributor.pk),
        "held": games.held_games_of(contributor.pk, MOST_HELD),
        "refused": games.refused_games_of(contributor.pk, REFUSED_SHOWN),
    }
    return render(request, "web/contributor.html", context)
