"""The tree of addresses. Paths of the API end with a slash, and none of them redirects."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularJSONAPIView

from common import wire
from server.accounts.api import UserApi, UsersApi
from server.api import not_found
from server.api_index import ApiIndex
from server.games.api import RatingGameApi, RatingGamesApi, TrainingGameApi, TrainingGamesApi
from server.health import healthz
from server.jobs.api import TaskApi
from server.networks.api import NetworkApi, NewestTrainingNetworkApi, model_file, model_zip
from server.positions.api import StartPositionsApi
from server.ratings.api import EloListApi, StrongestNetworkApi
from server.runs.api import CurrentRunApi, RunApi, RunListApi
from server.schema import BasicLogin as BasicLogin
from server.schema import TokenLogin as TokenLogin
from server.training.uploads import NetworksApi


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
    path("api/networks/get_strongest/", StrongestNetworkApi.as_view(), name="network-strongest"),
    path("api/networks-for-elo/", EloListApi.as_view(), name="network-elo"),
    path(_relative(wire.PATH_NETWORKS), NetworksApi.as_view(), name="network-list"),
    path("api/networks/<slug:name>/", NetworkApi.as_view(), name="network"),
    path(_relative(wire.PATH_START_POSITIONS), StartPositionsApi.as_view(), name="start-positions"),
    path(_relative(wire.PATH_TASKS), TaskApi.as_view(), name="tasks"),
    path(_relative(wire.PATH_TRAINING_GAMES), TrainingGamesApi.as_view(), name="training-games"),
    path("api/games/training/<int:key>/", TrainingGameApi.as_view(), name="training-game"),
    path(_relative(wire.PATH_RATING_GAMES), RatingGamesApi.as_view(), name="rating-games"),
    path("api/games/rating/<int:key>/", RatingGameApi.as_view(), name="rating-game"),
    path("api/users/", UsersApi.as_view(), name="users"),
    path("api/users/<int:key>/", UserApi.as_view(), name="user"),
    path("api/", ApiIndex.as_view(), name="api-index"),
    path("api/schema/", SpectacularJSONAPIView.as_view(), name="schema"),
    re_path(r"^api/", not_found),
    path("models/<slug:name>.bin.gz", model_file, name="network-file"),
    path("models/<slug:name>.zip", model_zip, name="network-zip"),
    path("healthz/", healthz, name="healthz"),
    path("admin/password_change/", RedirectView.as_view(pattern_name="account:password")),  # where tries are counted
    path("admin/", admin.site.urls),
    path("account/", include("server.web.account_urls")),
    path("", include("server.web.urls")),
]
