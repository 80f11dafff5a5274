"""The tree of addresses. Paths of the API end with a slash, and none of them redirects."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularJSONAPIView

from common import wire
from server.api import not_found
from server.games.api import RatingGameApi, RatingGamesApi, TrainingGameApi, TrainingGamesApi
from server.health import healthz
from server.jobs.api import TaskApi
from server.networks.api import NetworkApi, NetworkListApi, NewestTrainingNetworkApi, model_file
from server.runs.api import CurrentRunApi, RunApi, RunListApi
from server.schema import BasicLogin as BasicLogin
from server.schema import TokenLogin as TokenLogin


def _relative(wire_path: str) -> str:
    """A path of the wire as Django's patterns have it."""
    return wire_path.removeprefix("/")


handler400 = "server.web.views.malformed"
handler500 = "server.web.views.trouble"

urlpatterns = [
    path(_relative(wire.PATH_CURRENT_RUN), CurrentRunApi.as_view(), name="run-current"),
    path("api/runs/", RunListApi.as_view(), name="run-list"),
    path("api/runs/<slug:name>/", RunApi.as_view(), name="run"),
    path(_relative(wire.PATH_NEWEST_NETWORK), NewestTrainingNetworkApi.as_view(), name="network-newest-training"),
    path("api/networks/", NetworkListApi.as_view(), name="network-list"),
    path("api/networks/<slug:name>/", NetworkApi.as_view(), name="network"),
    path(_relative(wire.PATH_TASKS), TaskApi.as_view(), name="tasks"),
    path(_relative(wire.PATH_TRAINING_GAMES), TrainingGamesApi.as_view(), name="training-games"),
    path("api/games/training/<int:key>/", TrainingGameApi.as_view(), name="training-game"),
    path(_relative(wire.PATH_RATING_GAMES), RatingGamesApi.as_view(), name="rating-games"),
    path("api/games/rating/<int:key>/", RatingGameApi.as_view(), name="rating-game"),
    path("api/schema/", SpectacularJSONAPIView.as_view(), name="schema"),
    re_path(r"^api/", not_found),
    path("models/<slug:name>.bin.gz", model_file, name="network-file"),
    path("healthz/", healthz, name="healthz"),
    path("admin/password_change/", RedirectView.as_view(pattern_name="account:password")),  # where tries are counted
    path("admin/", admin.site.urls),
    path("account/", include("server.web.account_urls")),
    path("", include("server.web.urls")),
]
