"""Asking for games: whatever comes instead of a task is one line, and another try."""

from __future__ import annotations

import queue
import random
import threading
from pathlib import Path
from typing import Any

import pytest
import requests

from client.contribute.downloads import NetworkCache
from client.contribute.loop import FIRST_PAUSE_S, MAX_NAMED_PAUSE_S, Backoff, Outcome
from client.contribute.messages import Job
from client.contribute.tasks import TaskFetcher, Wish
from common.parameters import default_text
from tests.client.contribute.answers import Answering, api, refusal
from tests.client.contribute.jobs import POSITION
from tests.client.contribute.test_sending import RUN

NETWORK = {
    "name": "random",
    "url": "http://server/n/",
    "model_file": None,
    "model_file_bytes": 0,
    "model_file_sha256": "",
    "is_random": True,
}
TASK: dict[str, Any] = {
    "kind": "selfplay",
    "run": {"name": RUN["name"], "url": RUN["url"]},
    "config": default_text("selfplay", "7x7"),
    "network": NETWORK,
}
ELSEWHERE = {
    "name": "net",
    "model_file": "http://files/net.bin.gz",
    "model_file_bytes": 9,
    "model_file_sha256": "0" * 64,
    "is_random": False,
}


class Asking:
    """A fetcher with a wish for four games, and what came of it."""

    def __init__(self, folder: Path, *answers: Answering) -> None:
        server, self.transport = api(*answers)
        session = requests.Session()
        session.mount("http://", self.transport)
        self.lines: list[str] = []
        self.reasons: list[str] = []
        self.jobs: list[Job] = []
        wishes: queue.SimpleQueue[Wish] = queue.SimpleQueue()
        wishes.put(Wish(4, self.jobs.append))
        self.fetcher = TaskFetcher(
            api=server,
            cache=NetworkCache(folder, 10**9, session),
            wishes=wishes,
            instance_id="A" * 16,
            rep_factor=4,
            machine="ABC",
            games_per_hour=lambda: None,
            only_rating=False,
            backoff=Backoff(random.Random(1)),
            report=self.lines.append,
            give_up=self.reasons.append,
            stop=threading.Event(),
        )


def with_config(text: str) -> Answering:
    return 200, TASK | {"config": text}, {}


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([(200, "<html>log in</html>", {"Content-Type": "text/html"})], "captive portal"),
        ([(200, "", {})], "captive portal"),
        ([(200, {"status": "ok"}, {})], "cannot be understood"),
        ([(200, TASK | {"kind": "other"}, {})], "cannot be understood"),
        ([(302, "", {"Location": "http://portal/"})], "http://portal/"),
        ([(302, "", {"Location": "http://[bad/"})], "Invalid IPv6"),
        ([(401, "<html>", {})], "captive portal"),
        ([(407, "<html>", {})], "wants a login"),
        ([(429, {"detail": "slow down", "code": "retry"}, {"Retry-After": "9999999999"})], "slow down"),
        ([refusal(400, "drop_game", "no longer enabled for you")], "no longer enabled"),
        ([(200, TASK, {}), (200, "<html>", {"Content-Type": "text/html"})], "captive portal"),
        ([(200, TASK, {}), (200, RUN | {"name": "other"}, {})], "changes from the run"),
        ([with_config("maxVisits = none"), (200, RUN, {})], "maxVisits"),
        ([with_config("no setting"), (200, RUN, {})], "cannot be played"),
        ([with_config(""), (200, RUN, {})], "cannot be played"),
        ([(200, TASK | {"overrides": ["", "maxVisits"]}, {}), (200, RUN, {})], "cannot be played"),
        (
            [
                (200, TASK | {"network": NETWORK | ELSEWHERE}, {}),
                (200, RUN, {}),
                (200, "<html>", {"Content-Type": "text/html"}),
            ],
            "a web page",
        ),
        ([requests.ConnectionError("no route")], "no route"),
    ],
)
def test_what_is_no_task_is_told_once_and_asked_for_again(tmp_path: Path, answers: list[Answering], words: str) -> None:
    asking = Asking(tmp_path, *answers, *answers, (200, TASK, {}), (200, RUN, {}))
    for _ in range(2):
        assert asking.fetcher.step() is Outcome.FAILED
        assert asking.fetcher.backoff.after(Outcome.FAILED) >= FIRST_PAUSE_S * 0.9
        asking.fetcher.run = None
    told = [line for line in asking.lines if line.startswith("no task yet: ")]
    assert len(told) == 1
    assert words in told[0]
    assert asking.fetcher.step() is Outcome.WORKED
    assert [job.games for job in asking.jobs] == [4]
    assert asking.reasons == []


def test_keys_that_mean_nothing_are_told_once(tmp_path: Path) -> None:
    odd = TASK["config"] + "maxVisitz = 5\n" + "".join(f"newKey{number} = 1\n" for number in range(7))
    asking = Asking(tmp_path, with_config(odd), (200, RUN, {}), with_config(odd), (200, TASK, {}))
    asking.fetcher.wishes.put(Wish(4, asking.jobs.append))
    asking.fetcher.wishes.put(Wish(4, asking.jobs.append))
    for _ in range(3):
        assert asking.fetcher.step() is Outcome.WORKED
    told = [line for line in asking.lines if line.startswith("settings of the server's games")]
    assert len(told) == 6
    assert sum("unknown key maxVisitz is ignored; is it maxVisits?" in line for line in told) <= 1
    assert told[-1] == "settings of the server's games: 3 more keys mean nothing"


def with_position(**changes: object) -> Answering:
    return 200, TASK | {"start_poses": [POSITION, POSITION | changes]}, {}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"board": "XO.../OO.../...../...../....."}, "stone without liberties"),
        (
            {"xSize": 9, "ySize": 9, "board": "/".join(["." * 9] * 9), "hintLoc": "null"},
            "9x9 is larger than the run's edge",
        ),
        ({"moveLocs": ["Z1"], "movePlas": ["B"]}, "moveLocs"),
    ],
)
def test_a_task_with_a_position_that_cannot_be_played_is_none(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    asking = Asking(tmp_path, with_position(**changes), (200, RUN | {"data_board_len": 7}, {}))
    assert asking.fetcher.step() is Outcome.FAILED
    assert words in asking.lines[-1]
    assert not asking.jobs


def test_a_match_does_not_begin_at_positions(tmp_path: Path) -> None:
    rating = {key: value for key, value in TASK.items() if key != "network"} | {"kind": "rating"}
    dated = NETWORK | {"created_at": "2026-01-01T00:00:00Z"}
    rating |= {"black_network": dated, "white_network": dated | {"name": "other"}, "start_poses": [POSITION]}
    asking = Asking(tmp_path, (200, rating, {}), (200, RUN, {}))
    assert asking.fetcher.step() is Outcome.FAILED
    assert "games of its kind (rating) do not begin" in asking.lines[-1]


def test_positions_go_with_the_job(tmp_path: Path) -> None:
    asking = Asking(tmp_path, with_position(hintLoc=""), (200, RUN, {}))
    assert asking.fetcher.step() is Outcome.WORKED
    assert [position.hint for position in asking.jobs[0].task.start_poses] == ["C3", None]


def test_a_server_that_names_a_century_is_asked_again_within_the_hour(tmp_path: Path) -> None:
    asking = Asking(tmp_path, (503, {"detail": "later", "code": "retry"}, {"Retry-After": "9999999999"}))
    asking.fetcher.step()
    assert asking.fetcher.backoff.after(Outcome.FAILED) <= MAX_NAMED_PAUSE_S * 1.06


def test_a_login_that_is_refused_ends_the_asking(tmp_path: Path) -> None:
    asking = Asking(tmp_path, refusal(403, "stop", "the run is closed"))
    assert asking.fetcher.step() is Outcome.FAILED
    assert asking.reasons == ["the run is closed (status 403)"]


def test_a_task_of_ours_says_how_many_games_by_which_seed(tmp_path: Path) -> None:
    ours = {"games": 2, "seed": 12345, "job_token": "abc", "job_id": "7"}
    asking = Asking(tmp_path, (200, TASK | ours, {}), (200, RUN, {}), (200, TASK, {}))
    asking.fetcher.games_per_hour = lambda: 90.5
    assert asking.fetcher.step() is Outcome.WORKED
    assert asking.fetcher.step() is Outcome.WORKED
    first, second = asking.jobs
    assert (first.games, first.seed, first.task.job_token) == (2, 12345, "abc")
    assert second.games == 2, "what is left of the wish"
    assert second.seed != 12345
    body = asking.transport.requests[0].body
    assert isinstance(body, bytes)
    for name, value in (("machine", "ABC"), ("room", "4"), ("games_per_hour", "90.5"), ("task_rep_factor", "4")):
        assert f'name="{name}"\r\n\r\n{value}\r\n'.encode() in body


def test_what_the_server_wants_to_be_read_is_shown_once(tmp_path: Path) -> None:
    notice = "this version of the client plays until 2030-01-31\x1b[31m"
    answers: list[Answering] = [
        (200, TASK | {"notice": notice}, {}),
        (200, RUN, {}),
        (200, TASK | {"notice": notice}, {}),
    ]
    asking = Asking(tmp_path, *answers)
    assert asking.fetcher.step() is Outcome.WORKED
    asking.fetcher.wishes.put(Wish(4, asking.jobs.append))
    assert asking.fetcher.step() is Outcome.WORKED
    told = [line for line in asking.lines if "until 2030-01-31" in line]
    assert told == ["the server says: this version of the client plays until 2030-01-31[31m"]
