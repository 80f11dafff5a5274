"""KataGo's own ``contribute`` through a whole circle on two sizes of board, then with answers that fail.

Asked where ``TENGEN_KATAGO`` names a KataGo built with distributed support; minutes of play, so it is slow. What passed
between the two while nothing failed is the fixture that tests/server/test_katago_exchange.py plays again; with
``TENGEN_RECORD`` it is written anew to the file of that name.
"""

from __future__ import annotations

import json
import math
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from deploy.processes import Child, tail
from tests.e2e.between import Between, between, cut, instead, late, unheard
from tests.e2e.katago_client import OTHER_NET, SUITABLE_NET, contribute, reported_games
from tests.e2e.system import System, running_system
from tests.exchange import write_exchange
from tests.katago import katago_program
from tests.oracles import oracle_path

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(3600)]

SIZES = (7, 9)
TEXT = "bSizes = 7,9\nbSizeRelProbs = 1,1\nkomiMean = 8\nmaxVisits = 8\nmaxMovesPerGame = 120\n"
TRAINING = {
    "recipe": "paper",
    "batch": 16,
    "shard_rows": 40,
    "slice_seconds": 5,
    "limit_reuse": True,
    "window": {"min_rows": 80},
    "bucket": {"samples_per_epoch": 96, "max_train_bucket_per_new_data": 0.5},
    "averaging": {"period_samples": 48},
    "optimizer": {"rate_scale": 0.1},
}
PATIENCE_S = 2400.0
GAMES = 3
"""Of each kind and size, at least."""
UPLOADS = ("/api/games/training/", "/api/games/rating/")


@pytest.fixture(scope="module")
def system() -> Iterator[System]:
    katago_program()
    with running_system(
        "both",
        *("--data-board-len", "9", "--architecture", "b2c32", "--gate-games", "6", "--gating-share", "0.5"),
        *("--recheck-share", "1"),
        texts="7x7",
        selfplay=TEXT + "cheapSearchVisits = 4\nreducedVisitsMin = 4\ncheapSearchProb = 0.5\n",
        gating=TEXT,
        training=TRAINING,
        patience_s=PATIENCE_S,
    ) as running:
        manage = running.installation.manage
        manage("add_network", "both", str(oracle_path(SUITABLE_NET)), "--seed")
        manage("add_network", "both", str(oracle_path(OTHER_NET)))
        running.start_server()
        yield running


@pytest.fixture(scope="module")
def proxy(system: System) -> Iterator[Between]:
    with between(system.installation.port) as made:
        yield made


def counted(system: System, kind: str) -> dict[int, int]:
    """Counted games of a kind, by size."""
    rows = system.ask(
        f"select board_size_x, count(*) from games_game where kind = '{kind}' and state = 'counted' group by 1"
    )
    return {int(size): int(count) for size, count in rows}


def has_enough(system: System, kind: str) -> bool:
    found = counted(system, kind)
    return all(found.get(size, 0) >= GAMES for size in SIZES)


def test_games_of_both_kinds_and_sizes_count_and_are_trained_on(system: System, proxy: Between) -> None:
    folder = system.installation.folder / "katago"
    more = "taskRepFactor = 2\n"
    program = contribute(system.installation, folder, url=proxy.url, more=more)
    system.children["katago"] = Child(program, system.installation.logs, program.environment)
    system.wait_until(lambda: has_enough(system, "training"), "counted games of self-play of each size")
    system.wait_until(
        lambda: bool(
            system.one("select count(*) from games_game where kind = 'rating' and state = 'counted'") >= GAMES
        ),
        "counted matches",
    )
    system.wait_until(lambda: bool(system.ask("select 1 from training_trainingmetric")), "steps of training")
    (rows, losses) = system.ask("select rows, losses from training_trainingmetric order by samples limit 1")[0]
    assert 0 < rows <= system.one("select training_rows::int from runs_runtotals")
    assert losses
    assert all(math.isfinite(loss) for loss in losses.values())
    assert system.ask("select trouble from training_trainingstate") == [("",)]
    assert system.ask("select kind, reason_code, reason from games_game where state = 'refused'") == []
    print("counted:", {kind: counted(system, kind) for kind in ("training", "rating")}, "rows trained on:", rows)
    if name := os.environ.get("TENGEN_RECORD"):
        write_exchange(Path(name), proxy.exchanges)


def test_every_game_that_it_reports_is_stored_and_no_other(system: System, proxy: Between) -> None:
    for path in UPLOADS:
        proxy.spoil(path, late(8), instead(500), unheard(500), instead(429, ("Retry-After", "2")), unheard(502))
    proxy.spoil("/api/tasks/", instead(500), instead(429, ("Retry-After", "2")), late(8))
    proxy.spoil("/models/", cut, cut)
    system.wait_until(lambda: not proxy.faults_left(), "every fault")
    after = system.one("select count(*) from games_game") + 2
    system.wait_until(lambda: bool(system.one("select count(*) from games_game") >= after), "games after the faults")
    katago = system.children.pop("katago")
    katago.signal(signal.SIGINT)
    assert katago.wait(600), tail(katago.log_path)
    log = katago.log_path.read_text(errors="replace")
    reported = reported_games(log)
    stored: dict[str, list[str]] = {"training": [], "rating": []}
    for kind, uid in system.ask("select kind, uid from games_game"):
        stored[kind].append(uid)
    print("reported:", {kind: len(uids) for kind, uids in reported.items()}, end="; ")
    print("stored:", {kind: len(uids) for kind, uids in stored.items()})
    for kind in reported:
        assert len(set(reported[kind])) == len(reported[kind])
        assert sorted(reported[kind]) == sorted(stored[kind])
    assert "already exist" in log, "an answer that came too late stored its game"
    system.wait_until(partial(all_judged, system), "the verdicts")
    assert system.ask("select kind, reason_code, reason from games_game where state = 'refused'") == []
    assert [
        json.loads(e.said.body)["kind"] for e in proxy.exchanges if e.path == "/api/tasks/" and e.said.status == 200
    ]


def all_judged(system: System) -> bool:
    return system.one("select count(*) from games_game where state = 'received'") == 0
