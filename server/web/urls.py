"""Addresses of the pages."""

from __future__ import annotations

from django.urls import path, re_path

from server.web import contributor_page, views

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
    re_path(r"^(?P<path>(?:runs|networks|games|game|contributors|admin)(?:/.*)?(?<!/))$", views.with_slash),
]
