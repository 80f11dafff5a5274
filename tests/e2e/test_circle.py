"""The whole circle with real processes: the same programs by the same supervisor as the demo, with tiny settings.

One installation serves all tests of this file; each goes on from where the one before left it. Nothing is patched:
nets come out of training, the verdict of a gate out of uploaded games.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from common.rows import read_npz
from deploy.processes import tail
from tests.e2e.system import System, running_system

pytestmark = pytest.mark.e2e

SETTINGS = {
    "recipe": "paper",
    "batch": 32,
    "shard_rows": 40,
    "slice_seconds": 2,
    "checkpoint_seconds": 5,
    "window": {"min_rows": 80},
    # candidates come with new rows only: without that limit a slow machine would play nothing but gates
    "bucket": {"samples_per_epoch": 640, "max_train_bucket_per_new_data": 8, "max_train_bucket_size": 1280},
    "averaging": {"period_samples": 160},
    "optimizer": {"rate_scale": 1.0},
}
TINY = "bSizes = 5\nbSizeRelProbs = 1\nmaxVisits = 8\nmaxMovesPerGame = 60\nkomiMean = 9\n"
TINY_SELFPLAY = TINY + "cheapSearchVisits = 4\nreducedVisitsMin = 4\ncheapSearchProb = 0.5\n"


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
    ) as running:
        running.start_server()
        yield running


def test_games_are_played_audited_trained_on_and_a_network_is_promoted(system: System) -> None:
    system.start_client()
    system.wait_until(
        lambda: system.one("select count(*) from networks_network where state = 'accepted'") >= 1, "a promotion"
    )
    assert system.one("select count(*) from games_game where state = 'refused'") == 0
    assert system.one("select count(*) from games_game where kind = 'rating' and state = 'counted'") >= 2
    ((current,),) = system.ask("select n.name from runs_run r join networks_network n on n.id = r.current_network_id")
    assert str(current).startswith("tiny-b2c16-s")
    points = system.ask("select played, half_points, games from gates_gate where state = 'passed'")
    assert all(half >= 0.25 * 2 * games for _, half, games in points)


def test_files_on_disk_agree_with_the_database(system: System) -> None:
    found = system.ask(
        "select rows_file, num_training_rows, sgf_file, uid from games_game where kind = 'training' limit 50"
    )
    assert found
    for rows_file, count, sgf_file, uid in found:
        assert read_npz((system.files / rows_file).read_bytes(), length=5).count == count
        assert f"gameHash={uid}" in (system.files / sgf_file).read_text()
    total = system.one("select training_rows::int from runs_runtotals")
    counted = system.one("select sum(num_training_rows)::int from games_game where state = 'counted'")
    assert total <= counted  # more may have come in between


def test_the_next_jobs_name_the_promoted_network(system: System) -> None:
    system.wait_until(
        lambda: (
            system.one(
                "select count(*) from games_game g join networks_network n on n.id = g.black_network_id"
                " where g.kind = 'training' and n.state = 'accepted' and g.state = 'counted'"
            )
            >= 3
        ),
        "a counted game of the promoted network",
    )


def test_a_killed_client_loses_and_doubles_nothing(system: System) -> None:
    client = system.children["client"]
    waiting = system.installation.folder / "client" / "spool" / "waiting"
    os.killpg(system.children["web"].pid, signal.SIGSTOP)  # uploads hang, so games gather in the spool
    system.wait_until(lambda: len(list(waiting.iterdir())) >= 3, "games in the spool")
    spooled = {path.name for path in waiting.iterdir()}
    client.kill()
    os.killpg(system.children["web"].pid, signal.SIGCONT)
    system.start_client()
    system.wait_until(
        lambda: spooled <= {str(uid) for (uid,) in system.ask("select uid from games_game where state <> 'received'")},
        "the games of the killed client",
    )
    assert system.one("select count(*) - count(distinct (kind, uid)) from games_game") == 0


def test_the_web_server_may_be_killed_at_any_time(system: System) -> None:
    before = system.one("select count(*) from games_game")
    system.children["web"].kill()
    system.wait_until(lambda: system.one("select count(*) from games_game") >= before + 20, "games after the restart")
    assert system.one("select count(*) from games_game where state = 'refused'") == 0


def test_a_killed_trainer_goes_on_from_its_checkpoint(system: System) -> None:
    samples = system.one("select samples::int from training_trainingstate")
    system.children["trainer"].kill()
    candidates = system.one("select count(*) from networks_network")
    system.wait_until(
        lambda: (
            system.one("select samples::int from training_trainingstate") > samples
            and system.one("select count(*) from networks_network") > candidates
        ),
        "training after the kill",
    )
    ((trouble,),) = system.ask("select trouble from training_trainingstate")
    assert trouble == ""
    shards = system.installation.folder / "data" / "training" / "tiny" / "rows"
    numbers: list[int] = []
    for path in sorted(shards.glob("played/*.npz")):
        first, last = (int(part) for part in path.stem.split("-"))
        numbers.append(first)
        numbers.append(last)
    assert numbers == sorted(numbers), "no game is in two shards"


def test_everything_stops_in_order_and_the_client_sends_what_it_finished(system: System) -> None:
    client = system.children["client"]
    client.signal(signal.SIGINT)
    assert client.wait(60), tail(client.log_path)
    assert list((system.installation.folder / "client" / "spool" / "waiting").iterdir()) == []
    assert "finishing the running games" in client.log_path.read_text()
