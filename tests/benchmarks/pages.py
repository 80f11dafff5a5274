"""What pages, lists and requests for jobs cost with a large database.

``python -m tests.benchmarks.pages [RUN]`` asks the server of the environment (DATABASE_URL and the others), in this
process and without HTTP, for every page and list of a run, `TIMES` times, in the order of a circle, so that none is
asked twice in a row: medians of the time that passed and of the processor time of this process and of its connection's
process in the database, which on a busy machine tells more. The run is one of ``manage.py seed_synthetic``; PostgreSQL
runs on this machine.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

TIMES: Final = 15
_PATIENCE_S: Final = 120.0
"""For one line of the table; what is slower is asked less often."""


def main(run: str = "big") -> None:
    """Print the table."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "server.settings")
    import django

    django.setup()
    from django.conf import settings
    from django.core.signals import request_finished, request_started
    from django.db import close_old_connections, connection

    settings.ALLOWED_HOSTS = ["*"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT split_part(version(), ' on ', 1), pg_backend_pid()")
        version, backend = cursor.fetchone()
        print(f"{version}, load {os.getloadavg()[0]:.1f}")
    request_started.disconnect(close_old_connections)
    request_finished.disconnect(close_old_connections)
    asked = _requests(run)
    walls: dict[str, list[float]] = {name: [] for name in asked}
    used: dict[str, list[tuple[float, ...]]] = {name: [] for name in asked}
    ours = Path("/proc/self/schedstat"), Path(f"/proc/{backend}/schedstat")
    for ask in asked.values():
        ask()  # templates are read at their first use
    for _ in range(TIMES):
        for name, ask in asked.items():
            if sum(walls[name]) < _PATIENCE_S:
                began, cpu = time.perf_counter(), [_seconds(path) for path in ours]
                ask()
                walls[name].append(time.perf_counter() - began)
                used[name].append(tuple(_seconds(path) - before for path, before in zip(ours, cpu, strict=True)))
    print("| | processor time | of it in the database | passed | least |\n|---|---|---|---|---|")
    for name in asked:
        both, database = statistics.median(map(sum, used[name])), statistics.median(there for _, there in used[name])
        times = (both, database, statistics.median(walls[name]), min(walls[name]))
        print("| " + " | ".join([name, *(f"{1000 * seconds:,.1f} ms" for seconds in times)]) + " |", flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")


def _seconds(schedstat: Path) -> float:
    """Processor time of a process so far."""
    return int(schedstat.read_text().split()[0]) / 1e9


_PAGES: Final = {
    "front page, charts kept": "/",
    "runs": "/runs/",
    "a game": "/game/{kind}/{uid}/",
    "a game's record": "/game/{kind}/{uid}/sgf/",
    "networks, first": "/networks/{run}/",
    "networks, middle": "/networks/{run}/?page={networks_middle}",
    "networks, last": "/networks/{run}/?page=99999",
    "games, first": "/games/{run}/",
    "games, middle": "/games/{run}/?before={key}&page=50000",
    "games, last": "/games/{run}/?oldest=1&page=99999999",
    "games of another run": "/games/{other}/",
    "games of a network, first": "/games/{run}/?network={network}",
    "games of a network, middle": "/games/{run}/?network={network}&before={key}&page=25",
    "games of a network, last": "/games/{run}/?network={network}&oldest=1&page=99999999",
    "contributors, first": "/contributors/",
    "contributors, last": "/contributors/?page=9999",
    "a contributor": "/contributors/{username}/",
    "API, training games, first": "/api/games/training/",
    "API, training games, middle": "/api/games/training/?page={training_middle}",
    "API, training games, last": "/api/games/training/?page={training_last}",
    "API, rating games, first": "/api/games/rating/",
    "API, rating games, middle": "/api/games/rating/?page={rating_middle}",
    "API, rating games, last": "/api/games/rating/?page={rating_last}",
    "API, a game": "/api/games/{kind}/{key}/",
    "API, networks, first": "/api/networks/",
    "API, networks, middle": "/api/networks/?page={api_networks_middle}",
    "API, networks, last": "/api/networks/?page={api_networks_last}",
    "API, networks of a run": "/api/networks/?run__name={run}",
    "API, a network": "/api/networks/{network}/",
    "API, networks' strengths": "/api/networks-for-elo/",
    "API, strongest network": "/api/networks/get_strongest/",
    "API, newest network": "/api/networks/newest_training/",
    "API, runs": "/api/runs/",
    "API, current run": "/api/runs/current_for_client/",
    "API, users, first": "/api/users/",
    "API, users, last": "/api/users/?page={users_last}",
    "health": "/healthz/",
}
"""What anybody may ask for, by the name of its line."""
_ADMINS: Final = {
    "admin, games, first": "/admin/games/game/",
    "admin, games, middle": "/admin/games/game/?before={key}",
    "admin, games, last": "/admin/games/game/?oldest=1",
    "admin, games refused": "/admin/games/game/?state__exact=refused",
    "admin, games of matches": "/admin/games/game/?kind__exact=rating",
    "admin, search for a game": "/admin/games/game/?q={uid}",
    "admin, search for a contributor": "/admin/games/game/?q={username}",
    "admin, a game": "/admin/games/game/{key}/change/",
    "admin, jobs": "/admin/jobs/job/",
    "admin, gates": "/admin/gates/gate/",
    "admin, metrics": "/admin/training/trainingmetric/",
    "admin, networks": "/admin/networks/network/",
    "admin, a network": "/admin/networks/network/{network_key}/change/",
    "admin, contributors": "/admin/accounts/contributor/",
    "admin, ratings": "/admin/ratings/rating/",
    "admin, a run": "/admin/runs/run/{run_key}/change/",
}
"""What a maintainer may."""
_JOBS: Final[dict[str, dict[str, bool]]] = {
    "job request, any kind": {},
    "job request, matches only": {"allow_selfplay_task": False},
}
_PER_PAGE: Final = 20
"""Rows of a page of the API."""


def _requests(run: str) -> dict[str, Callable[[], object]]:
    """Everything that is asked, by the name of its line."""
    from django.contrib.auth import get_user_model
    from django.test import Client

    places, contributor = _places(run)
    users = get_user_model().objects
    admin = Client()
    admin.force_login(users.filter(username="bench-root").first() or users.create_superuser("bench-root"))
    found = {name: _getter(Client(), path.format(**places)) for name, path in _PAGES.items()}
    found["front page, charts made anew"] = _without_cache(found["front page, charts kept"])
    found |= {name: _getter(admin, path.format(**places)) for name, path in _ADMINS.items()}
    return found | {name: _asker(contributor, **told) for name, told in _JOBS.items()}


def _places(run: str) -> tuple[dict[str, object], Any]:
    """What the addresses name: a game in the middle of the list, what belongs to it, and pages; and its contributor."""
    from server.accounts.models import Contributor
    from server.games.blocks import games_count
    from server.games.models import Game, GameKind
    from server.networks.models import Network
    from server.runs.models import Run

    keys = Game.objects.order_by("pk").values_list("pk", flat=True)
    game = Game.objects.get(pk=((keys.first() or 0) + (keys.last() or 0)) // 2)
    nets = Network.objects.filter(run__name=run).order_by("pk")
    networks = nets.count()
    training, rating, all_networks, users = (
        -(-count // _PER_PAGE)
        for count in (
            *(games_count(kind) for kind in (GameKind.TRAINING, GameKind.RATING)),
            *(Network.objects.count(), Contributor.objects.count()),
        )
    )
    return {
        "run": run,
        "run_key": game.run_id,
        "other": Run.objects.exclude(name=run).values_list("name", flat=True).first() or run,
        "kind": game.kind,
        "uid": game.uid,
        "key": game.pk,
        "network": nets[networks // 2].name,
        "network_key": nets[networks // 2].pk,
        "username": game.contributor.user.get_username(),
        "networks_middle": networks // 100,
        "training_middle": training // 2,
        "training_last": training,
        "rating_middle": rating // 2,
        "rating_last": rating,
        "api_networks_middle": all_networks // 2,
        "api_networks_last": all_networks,
        "users_last": users,
    }, game.contributor


def _without_cache(ask: Callable[[], object]) -> Callable[[], object]:
    from django.core.cache import cache

    def ask_anew() -> object:
        cache.clear()
        return ask()

    return ask_anew


def _getter(client: Any, path: str) -> Callable[[], object]:
    def get() -> object:
        answer = client.get(path)
        if answer.status_code not in (200, 302):
            print(f"{path}: {answer.status_code}", file=sys.stderr)
        return answer

    return get


def _asker(contributor: Any, **told: Any) -> Callable[[], object]:
    """A request for a job as the view makes it, rolled back, without the password's check."""
    from django.db import transaction

    from common.wire import TaskRequest
    from server.errors import Refused
    from server.jobs.services import job_request

    request = TaskRequest(git_revision="f" * 40, task_rep_factor=4, **told)

    def ask() -> None:
        with transaction.atomic():
            try:
                job_request(contributor=contributor, request=request, own_client=True)
            except Refused as refusal:
                print(refusal, file=sys.stderr)
            transaction.set_rollback(True)

    return ask


if __name__ == "__main__":
    main(*sys.argv[1:])
