"""Addresses of the pages."""

from __future__ import annotations

from django.urls import path, re_path

from server.web import contributor_page, views
from server.web import katago_addresses as katago

app_name = "web"
urlpatterns = [
    path("favicon.ico", views.icon, name="icon"),
    path("", views.home, name="home"),
    path("runs/", views.run_list, name="runs"),
    path("runs/<str:name>/", views.run_page, name="run"),
    path("networks/<str:run_name>/", views.network_list, name="networks"),
    path("games/<str:run_name>/", views.game_list, name="games"),
    path("game/<str:kind>/<str:uid>/", views.game_page, name="game"),
    path("game/<str:kind>/<str:uid>/sgf/", views.game_sgf, name="sgf"),
    path("contributors/", views.contributor_list, name="contributors"),
    path("contributors/<str:name>/", contributor_page.contributor_page, name="contributor"),
    path("networks/", katago.of_current_run, {"page": "networks"}, name="networks-now"),
    path("games/", katago.of_current_run, {"page": "games"}, name="games-now"),
    re_path(
        r"^networks/(?P<run_name>[^/]+)/(?P<network>[^/]+)/(?:training|rating)-games/$",
        katago.of_network,
        name="network-games",
    ),
    re_path(r"^accounts/(?P<page>[^/]*)/?(?:.*/)?$", katago.own_account, name="accounts"),
    path("contributions/", katago.contributions, name="contributions"),
    path("contributions/<str:name>/", katago.contributions, name="contributions-of"),
    re_path(
        r"^contributions/(?P<name>[^/]+)/(?:training|rating)-games/$",
        katago.of_contributor,
        name="contributor-games",
    ),
    re_path(r"^sgfplayer/(?P<kind>training|rating)-games/(?P<key>[0-9]{1,18})/$", katago.player, name="sgfplayer"),
    re_path(
        r"^(?P<path>(?:runs|networks|games|game|contributors|contributions|sgfplayer|account|admin)(?:/.*)?(?<!/))$",
        views.with_slash,
    ),
]
