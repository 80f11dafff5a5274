"""Networks: registering, their files over HTTP with ranges, and lists."""

from __future__ import annotations

import base64
import gzip
import hashlib
import random
import re
import struct
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.test import Client

from common import wire
from nets.architecture.model import Net
from nets.files.grammar import NetFileError
from nets.files.records import NetRecord
from server.accounts.models import Contributor
from server.api import network_name_of
from server.errors import InvalidSettings
from server.gates.models import Gate
from server.gates.services import candidate_register
from server.networks.api import byte_range
from server.networks.models import Network, NetworkState
from server.networks.services import NewNetwork
from server.runs.models import PromotionRule, Run
from tests import FIXTURES
from tests.oracles import oracle_path
from tests.server.factories import make_model, make_network, make_run

NETS = FIXTURES / "nets"

# --------------------------------------------------------------------------------------------------------- registering


@pytest.mark.django_db
def test_a_candidate_is_stored_by_content_and_opens_its_gate(run: Run, tmp_path: Path) -> None:
    network = make_network(run, tmp_path, train_step=1000, data_rows=50)
    content = (tmp_path / Path(network.file).name).exists()
    assert not content, "the storage names files by content, not by the trainer's name"
    with default_storage.open(network.file) as file:
        assert hashlib.sha256(file.read()).hexdigest() == network.file_sha256
    assert network.file_sha256 in network.file
    assert network.state == NetworkState.CANDIDATE
    assert not network.training_games_enabled
    gate = Gate.objects.get()
    assert (gate.candidate, gate.opponent, gate.games) == (network, run.current_network, run.gate_games)


@pytest.mark.django_db
def test_a_seed_becomes_current_at_once(run: Run, tmp_path: Path) -> None:
    network = make_network(run, tmp_path, is_candidate=False)
    run.refresh_from_db()
    assert run.current_network == network
    assert network.training_games_enabled
    assert not Gate.objects.exists()


@pytest.mark.django_db
def test_without_gates_every_candidate_is_promoted(tmp_path: Path) -> None:
    run = make_run("always", promotion_rule=PromotionRule.ALWAYS)
    network = make_network(run, tmp_path)
    run.refresh_from_db()
    assert run.current_network == network
    assert network.state == NetworkState.ACCEPTED
    assert not Gate.objects.exists()


@pytest.mark.django_db
def test_registering_twice_is_registering_once(run: Run, tmp_path: Path) -> None:
    model = make_model(tmp_path)
    first = candidate_register(NewNetwork(run=run, name="seven-s1", model=model))
    assert candidate_register(NewNetwork(run=run, name="seven-s1", model=model)) == first
    assert Gate.objects.count() == 1
    with pytest.raises(InvalidSettings, match="with another file exists already"):
        candidate_register(NewNetwork(run=run, name="Seven-S1", model=make_model(tmp_path, 2)))


@pytest.mark.django_db
def test_a_file_that_changed_since_it_was_read_is_refused(run: Run, tmp_path: Path) -> None:
    model = make_model(tmp_path)
    model.path.write_bytes(b"other bytes")
    with pytest.raises(InvalidSettings, match="has changed since it was read"):
        candidate_register(NewNetwork(run=run, name="seven-s1", model=model))
    assert not Network.objects.filter(is_random=False).exists()


@pytest.mark.django_db
def test_a_file_under_a_second_name_is_refused(run: Run, tmp_path: Path) -> None:
    model = make_model(tmp_path)
    candidate_register(NewNetwork(run=run, name="seven-s1", model=model))
    with pytest.raises(InvalidSettings, match="this file already: it is the network seven-s1"):
        candidate_register(NewNetwork(run=run, name="seven-s2", model=model))


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["other-s1", "seven", "seven-", "seven-a b", "seven-a/b", "seven--a"])
def test_bad_names(run: Run, tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidSettings, match="beginning with 'seven-'"):
        make_network(run, tmp_path, name=name)


# ---------------------------------------------------------------------------------------------------------- add_network


@pytest.mark.django_db
def test_add_network_takes_a_real_net(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    path = oracle_path("nets/g170-b6c96-s175395328-d26788732.bin.gz")
    call_command("add_network", "seven", str(path), "--seed")
    assert "b6c96" in capsys.readouterr().out
    network = Network.objects.get(name="seven-g170-b6c96-s175395328-d26788732")
    assert network.file_bytes == path.stat().st_size


@pytest.mark.django_db
def test_add_network_refuses_what_is_no_network(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "net.bin.gz"
    with pytest.raises(CommandError, match=r"net\.bin\.gz cannot be used as a network.*No such file"):
        call_command("add_network", "seven", str(path))
    real = oracle_path("nets/g170-b6c96-s175395328-d26788732.bin.gz").read_bytes()
    noise = random.Random(1).randbytes(2000)
    for content in (b"", b"no gzip", noise, gzip.compress(noise), real[: len(real) // 2]):
        path.write_bytes(content)
        with pytest.raises(CommandError, match="cannot be used as a network"):
            call_command("add_network", "seven", str(path))
    with pytest.raises(CommandError, match=r"ends in \.bin\.gz"):
        call_command("add_network", "seven", str(tmp_path))
    with pytest.raises(CommandError, match="no run 'eight'"):
        call_command("add_network", "eight", str(path))
    assert Network.objects.filter(is_random=False).count() == 0


FAULTS = {
    "a part that is missing": NetFileError("in 'p1/w': the pass logit's hidden layer is missing"),
    "a head without a layer": ValueError("no layer for 'toy_owners'"),
    "shapes that do not meet": RuntimeError("The size of tensor a (32) must match the size of tensor b (16)"),
}


@pytest.mark.django_db
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
@pytest.mark.parametrize("seed", [[], ["--seed"]])
def test_add_network_leaves_nothing_of_a_net_that_cannot_be_made(
    run: Run, settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: Exception, seed: list[str]
) -> None:
    def refuse(record: NetRecord) -> Net:
        raise fault

    monkeypatch.setattr("server.training.model_files.module_of", refuse)
    before = (run.current_network, sorted(Path(settings.MEDIA_ROOT).rglob("*")))
    with pytest.raises(CommandError, match=rf"cannot be used as a network: .*{re.escape(str(fault))}"):
        call_command("add_network", "seven", str(NETS / "mini-v13-fs-mish.bin.gz"), *seed)
    run.refresh_from_db()
    assert (run.current_network, sorted(Path(settings.MEDIA_ROOT).rglob("*"))) == before
    assert not Network.objects.filter(is_random=False).exists()
    assert not Gate.objects.exists()


@pytest.mark.parametrize("option", ["--train-step", "--data-rows"])
@pytest.mark.parametrize("number", ["-1", str(10**30)])
def test_add_network_refuses_counts_that_no_training_has(option: str, number: str, run: Run) -> None:
    with pytest.raises(CommandError, match="must be a whole number from 0 to"):
        call_command("add_network", run.name, "net.bin.gz", f"{option}={number}")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "value"), [("mini-v10-fixup", 3e38), ("mini-v13-fs-mish", 3e38), ("mini-v13-fs-mish", -3e38)]
)
def test_add_network_refuses_what_would_put_out_no_numbers(run: Run, tmp_path: Path, name: str, value: float) -> None:
    """All of its weights are numbers, so the file can be read; no client could play with it."""
    path = tmp_path / "net.bin.gz"
    sound = (NETS / f"{name}.bin.gz").read_bytes()
    content = bytearray(gzip.decompress(sound))
    weights = content.index(b"@BIN@") + 5
    content[weights : weights + 4 * 900] = struct.pack("<f", value) * 900
    path.write_bytes(gzip.compress(bytes(content)))
    with pytest.raises(
        CommandError, match=r"net\.bin\.gz cannot be used as a network: it puts out something that is not"
    ):
        call_command("add_network", "seven", str(path))
    assert Network.objects.filter(is_random=False).count() == 0
    path.write_bytes(sound)
    call_command("add_network", "seven", str(path))
    assert Network.objects.filter(is_random=False).count() == 1


# --------------------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", (0, 100)),
        ("bytes=0-9", (0, 10)),
        ("bytes=10-", (10, 100)),
        ("bytes=-10", (90, 100)),
        ("bytes=-1000", (0, 100)),
        ("bytes=50-1000", (50, 100)),
        ("10-99", (10, 100)),  # without the unit, as KataGo's client sends it
        ("14-", (14, 100)),
        ("bytes=100-", None),
        ("bytes=9-5", None),
        ("bytes=-0", None),
        ("bytes=0-1,5-6", (0, 100)),
        ("lines=1-2", (0, 100)),
        ("-", (0, 100)),
    ],
)
def test_byte_ranges(header: str, expected: tuple[int, int] | None) -> None:
    assert byte_range(header, 100) == expected


@pytest.fixture
def served(run: Run, tmp_path: Path) -> tuple[str, bytes]:
    """Address of a network's file, and its content."""
    network = make_network(run, tmp_path)
    with default_storage.open(network.file) as file:
        return f"/models/{network.name}.bin.gz", file.read()


@pytest.mark.django_db
def test_a_file_comes_as_it_is(client: Client, served: tuple[str, bytes]) -> None:
    url, content = served
    answer = client.get(url, headers={"Accept-Encoding": "gzip"})
    assert answer.status_code == 200
    assert answer.getvalue() == content
    assert answer.headers["Content-Length"] == str(len(content))
    assert "Content-Encoding" not in answer.headers
    network = Network.objects.get(is_random=False)
    assert answer.headers["ETag"] == f'"{network.file_sha256}"'
    told = wire.NetworkInfo.from_json(client.get(f"/api/networks/{network.name}/").content)
    assert told.model_file == "http://testserver" + url


@pytest.mark.django_db
@pytest.mark.parametrize("unit", ["bytes=", ""])
def test_a_transfer_is_resumed(client: Client, served: tuple[str, bytes], unit: str) -> None:
    url, content = served
    answer = client.get(url, headers={"Range": f"{unit}100-{len(content) - 1}"})
    assert answer.status_code == 206
    assert answer.getvalue() == content[100:]
    assert answer.headers["Content-Range"] == f"bytes 100-{len(content) - 1}/{len(content)}"
    assert answer.headers["Content-Length"] == str(len(content) - 100)


@pytest.mark.django_db
def test_errors_have_empty_bodies(client: Client, served: tuple[str, bytes], run: Run) -> None:
    url, content = served
    answers: list[tuple[Any, int]] = [
        (client.get("/models/nothing.bin.gz"), 404),
        (client.get(f"/models/{run.name}-random.bin.gz"), 404),
        (client.get(url, headers={"Range": f"bytes={len(content)}-"}), 416),
        (client.post(url), 405),
    ]
    network = Network.objects.get(is_random=False)
    default_storage.delete(network.file)
    answers.append((client.get(url), 404))
    for answer, status in answers:
        assert (answer.status_code, answer.content) == (status, b"")


# --------------------------------------------------------------------------------------------------------------- lists


@pytest.mark.django_db
def test_newest_training_network_is_the_current_one(client: Client, run: Run, tmp_path: Path) -> None:
    make_network(run, tmp_path)
    told = wire.NetworkInfo.from_json(client.get(wire.PATH_NEWEST_NETWORK).content)
    assert told.name == f"{run.name}-random"


@pytest.mark.django_db
def test_lists_are_pages(client: Client, run: Run, tmp_path: Path) -> None:
    make_run("other")
    for _ in range(21):
        make_network(run, tmp_path)
    first = client.get("/api/networks/?run__name=seven").json()
    assert (first["count"], len(first["results"])) == (22, 20)
    second = client.get(first["next"]).json()
    assert [network["name"] for network in second["results"]][-1] == "seven-random"
    assert client.get("/api/runs/").json()["count"] == 2
    assert client.get("/api/runs/seven/").json()["gate_games"] == 200
    assert client.get("/api/runs/none/").status_code == 404
    assert client.get("/api/networks/none/").status_code == 404


@pytest.mark.django_db
def test_odd_names_are_not_found(client: Client, run: Run, anna: Contributor) -> None:
    assert client.get("/api/networks/?run__name=%00").json()["count"] == 0
    for path in ("/api/networks/a%00b/", "/api/runs/a%00b/", "/api/runs/a%2Fb/"):
        assert client.get(path).status_code == 404
    assert client.get("/models/a%00b.bin.gz").status_code == 404
    pair = base64.b64encode(b"an\0na:password").decode()
    assert client.get(wire.PATH_CURRENT_RUN, headers={"Authorization": f"Basic {pair}"}).status_code == 401


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://testserver/api/networks/seven-s1/", "seven-s1"),
        ("https://train.example.org/go/api/networks/seven-s1/", "seven-s1"),
        ("http://testserver/api/networks/seven-s1", "seven-s1"),
        ("http://testserver/api/networks/seven%2Ds1/?x=1#y", "seven-s1"),
        ("http://testserver/api/networks/", None),
        ("http://testserver/api/networks/a/b/", None),
        ("http://testserver/api/networks/a%00b/", None),
        ("http://testserver/api/runs/seven/", None),
        ("", None),
    ],
)
def test_names_in_addresses(url: str, name: str | None) -> None:
    assert network_name_of(url) == name
