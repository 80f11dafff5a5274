"""The addresses that katago-server's pages have, for links and habits: each leads to the page that shows the same here.

Specification: contribute-protocol.md 16.
"""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from server.accounts import selectors as accounts
from server.games import selectors as games
from server.runs import selectors as runs


@require_safe
def of_current_run(request: HttpRequest, page: str) -> HttpResponse:
    """A page of the current run: ``/networks/``, ``/games/``."""
    run = runs.current_run()
    if run is None:
        raise Http404("there is no run")
    return redirect(f"web:{page}", run.name)


@require_safe
def of_network(request: HttpRequest, run_name: str, network: str) -> HttpResponse:
    """The games of a network: ``/networks/RUN/NETWORK/training-games/``."""
    return redirect(reverse("web:games", args=[run_name]) + "?" + urlencode({"network": network}))


@require_safe
def contributions(request: HttpRequest, name: str = "") -> HttpResponse:
    """Who contributed how much: ``/contributions/``, ``/contributions/RUN/``; of a user, the games."""
    if name and runs.run_by_name(name) is None and accounts.contributor_by_name(name) is not None:
        return of_contributor(request, name)
    return redirect("web:contributors")


@require_safe
def of_contributor(request: HttpRequest, name: str) -> HttpResponse:
    """The games of a user in the current run: ``/contributions/USER/training-games/``."""
    run = runs.current_run()
    if run is None or accounts.contributor_by_name(name) is None:
        raise Http404(f"there is no run, or no contributor {name}")
    return redirect(reverse("web:games", args=[run.name]) + "?" + urlencode({"user": name}))


@require_safe
def own_account(request: HttpRequest, page: str) -> HttpResponse:
    """One's own account: ``/accounts/login/``, ``/accounts/signup/``, ``/accounts/password/reset/`` …"""
    known = {"login": "login", "logout": "home", "signup": "sign-up", "password": "reset"}
    return redirect(f"account:{known.get(page, 'home')}")


@require_safe
def player(request: HttpRequest, kind: str, key: str) -> HttpResponse:
    """One game on a board: ``/sgfplayer/training-games/ID/``."""
    game = games.games().filter(kind=kind, pk=key).first()
    if game is None:
        raise Http404(f"there is no {kind} game with the number {key}")
    return redirect("web:game", game.kind, game.uid)
