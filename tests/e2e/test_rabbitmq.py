"""The deployment of ``deploy/`` without containers: its commands, a real RabbitMQ, and clients that come through nginx.

One installation serves all tests of this file; each goes on from where the one before left it.
"""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Iterator

import psycopg2  # type: ignore[import-untyped]
import pytest
import requests

from common import wire
from deploy.installation import CONTRIBUTOR, MAINTAINER
from deploy.processes import Child, tail
from server import database
from tests.e2e.services import ComposedInstallation, missing_programs
from tests.e2e.system import System, running_system
from tests.e2e.test_circle import SETTINGS, TINY, TINY_SELFPLAY

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing_programs()), reason=missing_programs()),
]

PATIENCE_S = 900.0
"""On a busy machine the client alone may compile for some minutes."""


@pytest.fixture(scope="module")
def system() -> Iterator[System]:
    with running_system(
        "tiny",
        *("--data-board-len", "5", "--architecture", "b2c16-bn", "--lease-seconds", "20"),
        *("--gate-games", "8", "--gate-required", "0.25", "--gating-share", "0.5"),
        texts="7x7",
        selfplay=TINY_SELFPLAY,
        gating=TINY,
        training=SETTINGS,
        patience_s=PATIENCE_S,
        make=ComposedInstallation,
        prefix="tengen-composed-",  # RabbitMQ's own scripts take no other names
    ) as running:
        composed = of(running)
        for program in [*composed.broker.programs(), composed.nginx.program()]:
            running.children[program.name] = Child(program, composed.logs, program.environment)
        running.wait_until(composed.broker.answers, "RabbitMQ")
        running.start_server()
        running.wait_until(lambda: get(running, "/healthz/").status_code == 200, "the web server")
        yield running


def of(system: System) -> ComposedInstallation:
    assert isinstance(system.installation, ComposedInstallation)
    return system.installation


def get(system: System, path: str, **headers: str) -> requests.Response:
    """What nginx answers."""
    return requests.get(system.installation.url + path, headers=headers, timeout=60, allow_redirects=False)


def games(system: System, state: str) -> int:
    return system.one(f"select count(*) from games_game where state = '{state}'")


def samples(system: System) -> int:
    return system.one("select coalesce(max(samples), 0)::int from training_trainingstate")


def test_games_are_played_trained_on_and_gated_through_nginx_and_rabbitmq(system: System) -> None:
    system.start_client()
    system.wait_until(
        lambda: system.one("select count(*) from gates_gate where played > 0 and state in ('passed', 'failed')") >= 1,
        "the decision of a gate",
    )
    assert games(system, "counted") >= 10
    assert games(system, "refused") == 0
    assert samples(system) >= 640


def test_addresses_are_those_by_which_the_client_came(system: System) -> None:
    url = system.installation.url
    assert get(system, wire.PATH_CURRENT_RUN).json()["url"] == f"{url}/api/runs/tiny/"
    behind_tls = get(
        system, wire.PATH_CURRENT_RUN, **{"X-Forwarded-Proto": "https", "X-Forwarded-Host": "other.example"}
    )
    assert behind_tls.json()["url"] == f"{url.replace('http:', 'https:')}/api/runs/tiny/"


def test_a_network_arrives_byte_for_byte_also_in_parts(system: System) -> None:
    networks = get(system, "/api/networks/").json()["results"]
    network = next(network for network in networks if network["model_file"])
    path = network["model_file"].removeprefix(system.installation.url)
    whole = get(system, path)
    assert hashlib.sha256(whole.content).hexdigest() == network["model_file_sha256"]
    assert len(whole.content) == network["model_file_bytes"]
    for form in ("bytes=1000-", "1000-"):  # the second as KataGo's client writes it
        rest = get(system, path, Range=form)
        assert (rest.status_code, rest.content) == (206, whole.content[1000:])


@pytest.mark.parametrize("size", [wire.MAX_BODY_BYTES, 9 << 20])  # the form's own lines come on top
def test_an_oversized_upload_is_refused_with_a_reason(system: System, size: int) -> None:
    login = (CONTRIBUTOR, system.installation.secrets["contributor"])
    files = {"sgf_file": ("game.sgf", bytes(size))}
    answer = requests.post(system.installation.url + wire.PATH_TRAINING_GAMES, auth=login, files=files, timeout=60)
    assert answer.status_code == 400
    assert wire.read_error(400, answer.content).code == wire.ErrorCode.DROP_GAME
    assert wire.PHRASE_NO_LONGER_ENABLED in answer.text


def test_what_the_protocol_allows_passes_nginx(system: System) -> None:
    login = (CONTRIBUTOR, system.installation.secrets["contributor"])
    files = {"sgf_file": ("game.sgf", bytes(wire.MAX_BODY_BYTES - 1000))}
    answer = requests.post(system.installation.url + wire.PATH_TRAINING_GAMES, auth=login, files=files, timeout=60)
    assert "its form is malformed" in answer.json()["detail"], "the server's own words"


def test_pages_static_files_and_the_admin(system: System) -> None:
    assert get(system, "/").status_code == 200
    assert get(system, "/static/web/site.css").status_code == 200
    with requests.Session() as session:
        login = system.installation.url + "/admin/login/"
        session.get(login, timeout=60)
        form = {
            "username": MAINTAINER,
            "password": system.installation.secrets["maintainer"],
            "csrfmiddlewaretoken": session.cookies["csrftoken"],
        }
        answer = session.post(login + "?next=/admin/", form, timeout=60, headers={"Referer": login})
        assert answer.url == system.installation.url + "/admin/"
        assert answer.status_code == 200


def test_work_goes_on_after_the_broker_was_killed(system: System) -> None:
    system.children.pop("rabbitmq").kill()
    received = system.one("select count(*) from games_game")
    system.wait_until(
        lambda: system.one("select count(*) from games_game") >= received + 10, "games while the broker is away"
    )
    program = of(system).broker.programs()[1]
    broker = Child(program, of(system).logs, program.environment)
    system.children["rabbitmq"] = broker
    system.wait_until(of(system).broker.answers, "RabbitMQ")
    ((returned,),) = system.ask("select now()")
    before, counted = samples(system), games(system, "counted")
    system.wait_until(lambda: samples(system) > before, "training after the broker's return")
    system.wait_until(lambda: games(system, "counted") >= counted + 20, "audits after the broker's return")
    system.wait_until(  # which nobody asks for but beat
        lambda: system.one(f"select count(*) from ratings_rating where computed_at > '{returned}'") > 0,
        "ratings after the broker's return",
    )


def test_a_database_away_is_a_reason_to_wait(system: System) -> None:
    folder = system.installation.folder / "postgres"
    database.stop(folder)
    answer = get(system, wire.PATH_CURRENT_RUN)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "30")
    assert get(system, "/").status_code == 503
    assert get(system, "/models/tiny.bin.gz").content == b""
    database.start(folder, durable=False)
    system.connection.close()
    system.connection = psycopg2.connect(system.installation.environment()["DATABASE_URL"])
    system.connection.autocommit = True
    counted = games(system, "counted")
    system.wait_until(lambda: games(system, "counted") >= counted + 10, "audits after the database's return")


def test_a_killed_web_server_is_a_reason_to_wait(system: System) -> None:
    system.children["web"].kill()
    answer = get(system, wire.PATH_CURRENT_RUN)
    assert answer.status_code == 503
    assert wire.read_error(503, answer.content).code == wire.ErrorCode.RETRY
    assert get(system, "/models/tiny.bin.gz").content == b""
    counted = games(system, "counted")
    system.wait_until(lambda: games(system, "counted") >= counted + 10, "games after the web server's return")


def test_nothing_was_lost_or_doubled(system: System) -> None:
    client = system.children.pop("client")
    client.signal(signal.SIGINT)
    assert client.wait(60), tail(client.log_path)
    assert list((system.installation.folder / "client" / "spool" / "waiting").iterdir()) == []
    system.wait_until(lambda: games(system, "received") == 0, "the last audits")
    assert games(system, "refused") == 0
    assert system.one("select count(*) - count(distinct (kind, uid)) from games_game") == 0
    finished = int(client.log_path.read_text().rpartition(" games finished in")[0].split()[-1])
    assert games(system, "counted") == finished, "every game that the client finished counts once"
