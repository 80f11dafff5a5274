"""The pages: each asks selectors and fills a template."""

from __future__ import annotations

import sys
from typing import Any, Final

from django.core.cache import cache
from django.core.paginator import Page, Paginator
from django.db import InterfaceError, OperationalError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import is_valid_path
from django.utils.html import json_script
from django.utils.http import urlencode
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views import defaults
from django.views.decorators.http import require_safe

from server.accounts import selectors as accounts
from server.api import is_api, plain_answer
from server.errors import Unavailable
from server.games import selectors as games
from server.gates import selectors as gates
from server.networks import selectors as networks
from server.paging import Cursor
from server.ratings import selectors as ratings
from server.runs import selectors as runs
from server.tables import MIGRATE, is_missing_table
from server.training import selectors as training
from server.web import charts, viewer

PER_PAGE: Final = 50
GATES_SHOWN: Final = 12
NETWORKS_SHOWN: Final = 50
CURVES_S: Final = 60
"""Seconds for which the charts of a run's page are kept: they hold hundreds of points, and change little meanwhile."""


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The current run, or the list of runs; a plain 200 for clients that test the connection."""
    run = runs.current_run()
    return run_list(request) if run is None else run_page(request, run.name)


@require_safe
def icon(request: HttpRequest) -> HttpResponse:
    """The icon's address for pages that do not name it: the admin's, and bare answers of the API."""
    return redirect(static("web/icon.svg"))


@require_safe
def run_list(request: HttpRequest) -> HttpResponse:
    """All runs."""
    return render(request, "web/runs.html", {"runs": runs.runs(), "run": runs.current_run()})


@require_safe
def run_page(request: HttpRequest, name: str) -> HttpResponse:
    """Status of one run: totals, strengths, gates, losses."""
    run = _run(name)
    context = {
        "run": run,
        "totals": run.totals,
        "samples": training.samples_trained(run),
        "activity": training.activity(run),
        "trouble": training.trouble(run),
        "newest": ratings.newest_rated(run, NETWORKS_SHOWN),
        "strongest": ratings.strongest(run),
        "gates": gates.gates_of(run)[:GATES_SHOWN],
    } | _curves(run)
    return render(request, "web/run.html", context)


def _curves(run: Any) -> dict[str, Any]:
    """What the charts of a run's page draw, which costs most of it, as it was at most `CURVES_S` ago."""
    key = f"curves-{run.pk}-{get_language()}"
    curves: dict[str, Any] | None = cache.get(key)
    if curves is None:
        rated, losses = ratings.rating_curve(run), training.loss_curves(run)
        drawn = charts.loss_chart(losses)
        curves = {
            "ratings": json_script(charts.rating_chart(rated), "rating-data") if rated else "",
            "losses": json_script(drawn, "loss-data") if drawn else "",
            "latest_losses": charts.latest_losses(losses),
        }
        cache.set(key, curves, CURVES_S)
    return curves


@require_safe
def network_list(request: HttpRequest, run_name: str) -> HttpResponse:
    """Networks of a run with strengths and downloads."""
    run = _run(run_name)
    page = _page(request, networks.networks_of(run))
    shown = list(page.object_list)
    rated = ratings.ratings_of(shown)
    page.object_list = [(network, rated.get(network.pk)) for network in shown]
    return render(request, "web/networks.html", {"run": run, "page": page, "query": ""})


@require_safe
def game_list(request: HttpRequest, run_name: str) -> HttpResponse:
    """Games of a run, of one of its networks, or of one of its contributors."""
    run = _run(run_name)
    network = None
    name = request.GET.get("network", "")
    if name:
        network = networks.network_by_name(name)
        if network is None or network.run_id != run.pk:
            raise Http404(f"the run {run.name} has no network {name}")
    contributor, user = None, request.GET.get("user", "")
    if user:
        contributor = accounts.contributor_by_name(user)
        if contributor is None:
            raise Http404(f"there is no contributor {user}")
    page = games.game_list(Cursor.of(request.GET), PER_PAGE, run=run, network=network, contributor=contributor)
    given = {"network": name, "user": user}
    query = "".join(f"{urlencode({key: value})}&" for key, value in given.items() if value)
    context = {"run": run, "network": network, "contributor": contributor, "page": page, "query": query}
    return render(request, "web/games.html", context)


@require_safe
def game_page(request: HttpRequest, kind: str, uid: str) -> HttpResponse:
    """One game on a board that one can step through."""
    game = games.game_by_uid(kind, uid)
    if game is None:
        raise Http404(f"there is no {kind} game {uid}")
    context: dict[str, Any] = {"run": game.run, "game": game}
    content = games.sgf_content(game)
    try:
        if content is None:
            raise viewer.NotShownError(_("The server no longer has the record of this game."))
        record = viewer.read(content)
    except viewer.NotShownError as error:
        context |= {"fault": str(error), "has_record": content is not None}
    else:
        wanted = request.GET.get("move", "")
        number = int(wanted) if wanted.isdecimal() and len(wanted) < 6 else len(record.frames)
        context |= {"record": record, "view": record.view(number), "data": record.data(number), "has_record": True}
    return render(request, "web/game.html", context)


@require_safe
def game_sgf(request: HttpRequest, kind: str, uid: str) -> HttpResponse:
    """The record of one game as it was uploaded."""
    game = games.game_by_uid(kind, uid)
    if game is None:
        raise Http404(f"there is no {kind} game {uid}")
    content = games.sgf_content(game)
    if content is None:
        raise Http404(f"the record of the {kind} game {uid} is gone")
    answer = HttpResponse(content, content_type="application/x-go-sgf")
    answer.headers["Content-Disposition"] = f'attachment; filename="{game.uid}.sgf"'
    return answer


@require_safe
def contributor_list(request: HttpRequest) -> HttpResponse:
    """Who contributed how much."""
    page = _page(request, accounts.players())
    return render(request, "web/contributors.html", {"run": runs.current_run(), "page": page, "query": ""})


def _run(name: str) -> Any:
    run = runs.run_by_name(name)
    if run is None:
        raise Http404(f"there is no run {name}")
    return run


def _page(request: HttpRequest, found: QuerySet[Any]) -> Page[Any]:
    return Paginator(found, PER_PAGE).get_page(request.GET.get("page"))


@require_safe
def with_slash(request: HttpRequest, path: str) -> HttpResponse:
    """Send people to a page whose last slash they left out; programs use the API, where nothing redirects."""
    if not is_valid_path(f"/{path}/"):
        raise Http404(f"there is no page {path}")
    return redirect(request.get_full_path(force_append_slash=True))


def malformed(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer to a request that Django refused before a view saw it, such as one for a foreign host."""
    text = "malformed request, or a host name that this server does not answer to"
    if is_api(request):
        return plain_answer(400, text)
    return HttpResponse(text + "\n", status=400, content_type="text/plain; charset=utf-8")


def trouble(request: HttpRequest) -> HttpResponse:
    """Answer where a page raised: 503 while database or storage is away or the tables are missing, else Django's 500.

    Without a template, which would ask the database again.
    """
    error = sys.exception()
    empty = is_missing_table(error)
    away = isinstance(error, (OperationalError, InterfaceError, Unavailable))
    if is_api(request):
        text = "trouble in the server; it has been logged, please try again later"
        return plain_answer(503 if away or empty else 500, MIGRATE if empty else text)
    if empty:
        text = f"{MIGRATE}\n"
    elif away:
        what = "storage" if isinstance(error, Unavailable) else "database"
        text = f"The server's {what} is away at the moment. Please try again in a minute.\n"
    else:
        return defaults.server_error(request)
    return HttpResponse(text, status=503, content_type="text/plain; charset=utf-8", headers={"Retry-After": "30"})
