"""``POST /api/networks/`` as KataGo's upload script uses it, and what can be read of networks (protocol 14, 16)."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import pytest
import torch  # so that files are read here, and not each by a process of its own
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from common import wire
from server.accounts.models import Contributor
from server.accounts.roles import Role, role_set
from server.gates.models import Gate
from server.networks.models import Network, NetworkState
from server.networks.services import network_examined
from server.ratings.models import Rating
from server.runs.models import Run, RunState
from server.training import uploads
from tests import FIXTURES
from tests.server.factories import login, make_contributor, make_network, make_run

pytestmark = pytest.mark.django_db

NET = FIXTURES / "nets" / "mini-nbt-fson-mish-rvgl-bnh.bin.gz"
CONTENT = NET.read_bytes()


@pytest.fixture
def staff(db: None) -> Contributor:
    """Somebody who may bring networks."""
    contributor = make_contributor("staff")
    role_set(contributor.user, Role.OPERATOR)
    return contributor


def send(client: Client, who: Contributor | None, content: bytes | None = CONTENT, **changes: Any) -> Any:
    """Send a network as the script does."""
    form = {
        "run": "http://testserver/api/runs/seven/",
        "name": "seven-b2c16",
        "network_size": "b2c16",
        "is_random": "false",
        "model_file_bytes": str(len(content or b"")),
        "model_file_sha256": hashlib.sha256(content or b"").hexdigest(),
        "training_games_enabled": "false",
        "rating_games_enabled": "true",
        "parent_network": "http://testserver/api/networks/seven-random/",
        "train_step": "1000",
        "total_num_data_rows": "2000",
        "extra_stats": '{"loss": 1.5}',
        "notes": "by hand",
        "log_gamma_offset": "0.5",
    } | changes
    if content is not None:
        form["model_file"] = SimpleUploadedFile("model.bin.gz", content, "application/octet-stream")
    return client.post(wire.PATH_NETWORKS, form, headers=login(who))


def test_a_network_becomes_a_candidate(client: Client, staff: Contributor, run: Run) -> None:
    archive = SimpleUploadedFile("model.zip", b"PK and more", "application/zip")
    answer = send(client, staff, model_zip_file=archive)
    assert answer.status_code == 201, answer.content
    network = Network.objects.get(name="seven-b2c16")
    assert (network.state, network.architecture, network.train_step, network.data_rows) == (
        NetworkState.CANDIDATE,
        "b2c16",
        1000,
        2000,
    )
    assert (network.log_gamma_offset, network.extra_stats, network.notes) == (0.5, {"loss": 1.5}, "by hand")
    assert network.parent == Network.objects.get(is_random=True)
    assert Gate.objects.get().candidate == network
    told = answer.json()
    assert told["model_zip_file"] == "http://testserver/models/seven-b2c16.zip"
    page = client.get("/models/seven-b2c16.zip")
    assert b"".join(page.streaming_content) == b"PK and more"  # type: ignore[attr-defined]
    assert client.get("/models/seven-random.zip").status_code == 404
    assert not network.suits_katago_client
    assert "position 1 of the self-test" in told["katago_fault"]


def test_one_that_is_enabled_for_training_is_current_at_once(client: Client, staff: Contributor, run: Run) -> None:
    assert send(client, staff, training_games_enabled="true", rating_games_enabled="false").status_code == 201
    run.refresh_from_db()
    assert run.current_network is not None
    assert (run.current_network.name, run.current_network.state) == ("seven-b2c16", NetworkState.ACCEPTED)
    assert not run.current_network.rating_games_enabled


def test_a_repeated_upload_is_known(client: Client, staff: Contributor, run: Run) -> None:
    assert send(client, staff).status_code == 201
    again = send(client, staff)
    assert again.status_code == 400
    assert wire.PHRASE_ALREADY_EXISTS in again.json()["detail"]
    assert client.get("/api/networks/seven-b2c16/").status_code == 200


@pytest.mark.parametrize(
    ("content", "changes", "words"),
    [
        (CONTENT, {"model_file_bytes": "5"}, "did not arrive whole"),
        (CONTENT, {"model_file_sha256": "0" * 64}, "did not arrive whole"),
        (CONTENT, {"model_file_sha256": "xyz"}, "model_file_sha256"),
        (CONTENT, {"name": "other-net"}, "beginning with 'seven-'"),
        (CONTENT, {"run": "http://testserver/api/runs/other/"}, "no run of this server"),
        (CONTENT, {"parent_network": "http://testserver/api/networks/other-random/"}, "no network of the run"),
        (CONTENT, {"is_random": "true"}, "random network by itself"),
        (CONTENT, {"extra_stats": "{"}, "extra_stats"),
        (CONTENT, {"train_step": "-1"}, "train_step"),
        (None, {}, "model_file is missing"),
        (b"nonsense", {}, "cannot be used as a network"),
        (CONTENT[:-100], {}, "cannot be used as a network"),
    ],
)
def test_what_is_no_network_is_refused(
    client: Client, staff: Contributor, run: Run, content: bytes | None, changes: dict[str, str], words: str
) -> None:
    answer = send(client, staff, content, **changes)
    assert answer.status_code == 400
    told = wire.ErrorAnswer.from_json(answer.content).detail
    assert words in told
    assert wire.PHRASE_ALREADY_EXISTS not in told
    assert Network.objects.filter(run=run).count() == 1
    assert not default_storage.exists("networks")


def test_another_file_under_a_known_name_is_refused(
    client: Client, staff: Contributor, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_network(run, tmp_path, name="seven-b2c16")
    told = send(client, staff).json()["detail"]
    assert "with another file exists" in told
    assert wire.PHRASE_ALREADY_EXISTS not in told, "KataGo's script would take that for success"


def test_only_operators_bring_networks(client: Client, anna: Contributor, run: Run) -> None:
    assert send(client, anna).status_code == 403
    role_set(anna.user, Role.MODERATOR)
    assert send(client, anna).status_code == 403
    assert send(client, None).status_code == 401
    assert client.get(wire.PATH_NETWORKS).status_code == 200


def test_a_reader_that_dies_is_no_fault_of_the_file(
    client: Client, staff: Contributor, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, torch.__name__)  # as in a web process
    monkeypatch.setattr(uploads, "_PROGRAM", "raise SystemExit(3)")
    assert send(client, staff).status_code == 503


def test_a_process_of_its_own_reads_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    here = uploads.model_read(NET)
    monkeypatch.delitem(sys.modules, torch.__name__)
    assert uploads.model_read(NET) == here


# --------------------------------------------------------------------------------------------------------------- canary


def test_networks_are_examined_again(run: Run, staff: Contributor, client: Client) -> None:
    assert send(client, staff).status_code == 201
    network = Network.objects.get(name="seven-b2c16")
    network_examined(network, "")
    call_command("examine_networks", "seven", "--only", network.name)
    network.refresh_from_db()
    assert not network.suits_katago_client
    assert "position 1" in network.katago_fault


# ---------------------------------------------------------------------------------------------------------------- lists


def test_the_strongest_network_is_surely_so(client: Client, run: Run, tmp_path: Path) -> None:
    assert client.get("/api/networks/get_strongest/").status_code == 404
    nets = [make_network(run, tmp_path, is_candidate=False) for _ in range(4)]
    for network, values in zip(nets, [(3.0, 0.1), (3.4, 0.35), (9.0, 2.0), (2.9, 0.1)], strict=True):
        Rating.objects.create(network=network, run=run, log_gamma=values[0], error=values[1], games=30)
    told = wire.NetworkInfo.from_json(client.get("/api/networks/get_strongest/").content)
    assert told.name == nets[0].name, "3.0 - 0.2 against 3.4 - 0.7; the third is too uncertain"
    Network.objects.filter(pk=nets[3].pk).update(log_gamma_offset=0.2)
    assert client.get("/api/networks/get_strongest/").json()["name"] == nets[3].name
    Run.objects.update(state=RunState.CLOSED)
    assert client.get("/api/networks/get_strongest/").status_code == 404


def test_the_list_for_graphs_has_the_networks_that_have_played(client: Client, run: Run, tmp_path: Path) -> None:
    few, many = (make_network(run, tmp_path, is_candidate=False, data_rows=rows) for rows in (5, 7))
    for network, games in ((few, 24), (many, 25)):
        Rating.objects.create(network=network, run=run, log_gamma=1.5, error=0.25, games=games)
    make_run("other")
    (told,) = client.get("/api/networks-for-elo/?run__name=seven").json()
    assert told == {
        "name": many.name,
        "created_at": wire.format_created_at(many.created_at),
        "network_size": "b2c32",
        "total_num_data_rows": 7,
        "log_gamma": 1.5,
        "log_gamma_uncertainty": 0.25,
    }
    assert client.get("/api/networks-for-elo/").json() == [], "of the current run, which is another"
    assert client.get("/api/networks-for-elo/?run__name=%00").json() == []


def test_users_are_listed_and_their_mail_is_for_staff(client: Client, anna: Contributor, staff: Contributor) -> None:
    anna.user.email = "anna@example.org"
    anna.user.save()
    told = {user["username"]: user for user in client.get("/api/users/").json()["results"]}
    assert set(told) == {"anna", "staff"}
    assert "email" not in told["anna"]
    assert client.get(told["anna"]["url"]).json()["username"] == "anna"
    assert client.get(told["anna"]["url"], headers=login(staff)).json()["email"] == "anna@example.org"
    assert client.get("/api/users/999999/").status_code == 404


def test_runs_by_status(client: Client, run: Run) -> None:
    Run.objects.filter(pk=make_run("done").pk).update(state=RunState.CLOSED)
    for status, names in {"Active": ["seven"], "inactive": ["done"], "closed": ["done"], "x": []}.items():
        told = client.get("/api/runs/", {"status": status}).json()["results"]
        assert [each["name"] for each in told] == names
    told = client.get("/api/runs/seven/").json()
    assert (told["status"], told["selfplay_client_config"]) == ("Active", run.selfplay_config)


def test_the_index_names_lists_that_are_there(client: Client, run: Run) -> None:
    for url in client.get("/api/").json().values():
        assert client.get(url).status_code == 200, url


@pytest.mark.parametrize(
    ("address", "target"),
    [
        ("/networks/", "/networks/seven/"),
        ("/games/", "/games/seven/"),
        ("/networks/seven/seven-random/training-games/", "/games/seven/?network=seven-random"),
        ("/networks/seven/seven-random/rating-games/", "/games/seven/?network=seven-random"),
        ("/contributions/", "/contributors/"),
        ("/contributions/seven/", "/contributors/"),
    ],
)
def test_katago_servers_pages_lead_to_ours(client: Client, run: Run, address: str, target: str) -> None:
    answer = client.get(address)
    assert (answer.status_code, answer.headers["Location"]) == (302, target)
    assert client.get(target).status_code == 200


def test_without_a_run_or_game_there_is_no_page(client: Client, db: None) -> None:
    for address in ("/networks/", "/games/", "/sgfplayer/training-games/1/"):
        assert client.get(address).status_code == 404
