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
    settings.DATABASES["default"]["CONN_MAX_AGE"] = None
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


def _requests(run: str) -> dict[str, Callable[[], object]]:
    """Everything that is asked, by the name of its line."""
    from django.contrib.auth import get_user_model
    from django.test import Client

    from server.games.models import Game
    from server.networks.models import Network

    keys = Game.objects.order_by("pk").values_list("pk", flat=True)
    middle = ((keys.first() or 0) + (keys.last() or 0)) // 2
    nets = Network.objects.filter(run__name=run).order_by("pk")
    network, game = nets[nets.count() // 2], Game.objects.get(pk=middle)
    pages = int(Client().get("/api/games/training/").json()["count"]) // 20
    users = get_user_model().objects
    maintainer = users.filter(username="bench-root").first() or users.create_superuser("bench-root")
    admin = Client()
    admin.force_login(maintainer)
    uid, games = game.uid, f"/games/{run}/"
    of_network = f"{games}?network={network.name}&"
    found: dict[str, Callable[[], object]] = {}
    for name, path in {
        "front page, charts kept": "/",
        "runs": "/runs/",
        "a game": f"/game/{game.kind}/{uid}/",
        "networks, first": f"/networks/{run}/",
        "networks, last": f"/networks/{run}/?page=99999",
        "games, first": games,
        "games, middle": f"{games}?before={middle}&page=50000",
        "games, last": f"{games}?oldest=1&page=99999999",
        "games of a network, first": of_network[:-1],
        "games of a network, middle": f"{of_network}before={middle}&page=25",
        "games of a network, last": f"{of_network}oldest=1&page=99999999",
        "contributors, first": "/contributors/",
        "contributors, last": "/contributors/?page=9999",
        "API, training games, first": "/api/games/training/",
        "API, training games, middle": f"/api/games/training/?page={pages // 2}",
        "API, training games, last": f"/api/games/training/?page={pages}",
        "API, rating games, first": "/api/games/rating/",
        "API, rating games, middle": f"/api/games/rating/?page={pages // 40}",
        "API, a game": f"/api/games/{game.kind}/{middle}/",
        "API, networks, first": "/api/networks/",
        "API, networks, last": f"/api/networks/?page={-(-Network.objects.count() // 20)}",
        "API, runs": "/api/runs/",
        "API, current run": "/api/runs/current_for_client/",
        "API, newest network": "/api/networks/newest_training/",
    }.items():
        found[name] = _getter(Client(), path)
    found["front page, charts made anew"] = _without_cache(found["front page, charts kept"])
    lists = "/admin/games/game/"
    for name, path in {
        "admin, games, first": lists,
        "admin, games, middle": f"{lists}?before={middle}",
        "admin, games, last": f"{lists}?oldest=1",
        "admin, games refused": f"{lists}?state__exact=refused",
        "admin, games of matches": f"{lists}?kind__exact=rating",
        "admin, search for a game": f"{lists}?q={uid}",
        "admin, search for a contributor": f"{lists}?q={game.contributor.user.username}",
        "admin, a game": f"{lists}{middle}/change/",
        "admin, jobs": "/admin/jobs/job/",
        "admin, metrics": "/admin/training/trainingmetric/",
        "admin, networks": "/admin/networks/network/",
        "admin, contributors": "/admin/accounts/contributor/",
        "admin, ratings": "/admin/ratings/rating/",
    }.items():
        found[name] = _getter(admin, path)
    found |= {f"job request, {name}": _asker(game.contributor, **told) for name, told in _TOLD.items()}
    return found


_TOLD: Final[dict[str, dict[str, bool]]] = {
    "any kind": {},
    "matches only": {"allow_selfplay_task": False},
}


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
