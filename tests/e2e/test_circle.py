"""The whole circle with real processes: the same programs by the same supervisor as the demo, with tiny settings.

One installation serves all tests of this file; each goes on from where the one before left it. Nothing is patched:
nets come out of training, the verdict of a gate out of uploaded games.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg2
import pytest

from common.rows import read_npz
from deploy.installation import Installation, RunPlan
from deploy.processes import Child, tail

pytestmark = pytest.mark.e2e

PATIENCE_S = 300.0
SETTINGS = {
    "recipe": "paper",
    "batch": 32,
    "shard_rows": 40,
    "slice_seconds": 2,
    "checkpoint_seconds": 5,
    "limit_reuse": False,
    "window": {"min_rows": 80},
    "bucket": {"samples_per_epoch": 640},
    "averaging": {"period_samples": 160},
    "optimizer": {"rate_scale": 1.0},
}
TINY = "bSizes = 5\nbSizeRelProbs = 1\nmaxVisits = 8\nmaxMovesPerGame = 60\nkomiMean = 9\n"
TINY_SELFPLAY = TINY + "cheapSearchVisits = 4\nreducedVisitsMin = 4\ncheapSearchProb = 0.5\n"


class System:
    """A running installation, the database's answers about it, and its children by name."""

    def __init__(self, folder: Path) -> None:
        self.installation = Installation(folder)
        self.installation.start_database(durable=False)
        settings, selfplay, gating = folder / "training.json", folder / "selfplay.cfg", folder / "gating.cfg"
        from common.config_text import overlay
        from common.parameters import default_text

        settings.write_text(json.dumps(SETTINGS))
        selfplay.write_text(overlay(default_text("selfplay", "7x7"), TINY_SELFPLAY))
        gating.write_text(overlay(default_text("gating", "7x7"), TINY))
        plan = RunPlan(
            "tiny",
            (
                *(
                    "--data-board-len",
                    "5",
                    "--architecture",
                    "b2c16-bn",
                    "--gate-games",
                    "8",
                    "--gate-required",
                    "0.25",
                ),
                *("--selfplay-config", str(selfplay), "--gating-config", str(gating)),
                *("--training-settings", str(settings), "--lease-seconds", "20"),
            ),
        )
        self.installation.set_up(plan)
        self.connection = psycopg2.connect(self.installation.environment()["DATABASE_URL"])
        self.connection.autocommit = True
        self.children = {
            program.name: Child(program, self.installation.logs, program.environment)
            for program in self.installation.server_programs()
        }

    def start_client(self) -> None:
        program = self.installation.client_program(games_per_stream=8, streams=1)
        self.children["client"] = Child(program, self.installation.logs, program.environment)

    def ask(self, query: str) -> list[tuple[object, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()

    def one(self, query: str) -> int:
        (row,) = self.ask(query)
        assert isinstance(row[0], int)
        return row[0]

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            for child in self.children.values():
                child.keep_alive()
            if time.monotonic() > deadline:
                logs = "\n".join(f"--- {path.name}\n{tail(path, 12)}" for path in self.installation.logs.iterdir())
                state = self.ask("select activity, trouble, samples from training_trainingstate")
                pytest.fail(f"{what} did not come within {PATIENCE_S:.0f} s; training: {state}\n{logs}")
            time.sleep(0.1)  # the pace at which the condition is asked for

    def stop(self) -> None:
        for child in reversed(list(self.children.values())):
            child.stop()
        self.connection.close()
        self.installation.stop_database()


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    folder = tmp_path_factory.mktemp("circle")
    for parent in (folder, *list(folder.parents)[:2]):
        parent.chmod(0o755)  # started by root, PostgreSQL runs as another user
    running = System(folder)
    yield running
    running.stop()


def test_games_are_played_audited_trained_on_and_a_network_is_promoted(system: System) -> None:
    system.start_client()
    system.wait_until(
        lambda: system.one("select count(*) from networks_network where state = 'accepted'") >= 1, "a promotion"
    )
    assert system.one("select count(*) from games_game where state = 'refused'") == 0
    assert system.one("select count(*) from games_game where kind = 'rating' and state = 'counted'") >= 2
    ((current,),) = system.ask("select n.name from runs_run r join networks_network n on n.id = r.current_network_id")
    assert str(current).startswith("tiny-b2c16-s")
    points = system.ask("select played, half_points, games from jobs_gate where state = 'passed'")
    assert all(half >= 0.25 * 2 * games for _, half, games in points)  # type: ignore[operator]


def test_files_on_disk_agree_with_the_database(system: System) -> None:
    files = Path(system.installation.environment()["DATA_DIR"]) / "files"
    found = system.ask(
        "select rows_file, num_training_rows, sgf_file, uid from games_game where kind = 'training' limit 50"
    )
    assert found
    for rows_file, count, sgf_file, uid in found:
        assert read_npz((files / str(rows_file)).read_bytes(), length=5).count == count
        assert f"gameHash={uid}" in (files / str(sgf_file)).read_text()
    counted = system.one("select sum(num_training_rows)::int from games_game where state = 'counted'")
    assert system.one("select training_rows::int from runs_runtotals") <= counted  # more may have come in between


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
