"""What becomes of a game by the server's answer, and how the loops wait."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from client.contribute.api import (
    GameRefusedError,
    LoginRefusedError,
    OutageError,
    ServerApi,
    UpdateNeededError,
)
from client.contribute.loop import FIRST_PAUSE_S, MAX_PAUSE_S, Backoff, Outcome, run
from client.contribute.spool import Spool
from client.contribute.uploader import Uploader

SERVER = "http://server/base"


class Answers(requests.adapters.BaseAdapter):
    """A transport that gives scripted answers and remembers the requests."""

    def __init__(self, *answers: tuple[int, dict[str, Any] | str, dict[str, str]] | Exception) -> None:
        super().__init__()
        self.answers = list(answers)
        self.requests: list[requests.PreparedRequest] = []

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        self.requests.append(request)
        given = self.answers.pop(0)
        if isinstance(given, Exception):
            raise given
        status, body, headers = given
        answer = requests.Response()
        answer.status_code = status
        answer.headers.update(headers)
        answer._content = (body if isinstance(body, str) else json.dumps(body)).encode()
        answer.url = str(request.url)
        return answer

    def close(self) -> None: ...


def api(*answers: Any) -> tuple[ServerApi, Answers]:
    session = requests.Session()
    transport = Answers(*answers)
    session.mount("http://", transport)
    return ServerApi(session, SERVER, "jürgen", "geheim"), transport


def refusal(status: int, code: str, detail: str = "because") -> tuple[int, dict[str, str], dict[str, str]]:
    return status, {"detail": detail, "code": code}, {}


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refusal(400, "drop_game"), GameRefusedError),
        (refusal(503, "retry"), OutageError),
        (refusal(403, "stop"), LoginRefusedError),
        (refusal(400, "update_client"), UpdateNeededError),
        ((401, {"detail": "Invalid username/password."}, {}), LoginRefusedError),
        ((400, {"error": "uploads are no longer enabled for this"}, {}), GameRefusedError),
        ((502, "<html>bad gateway</html>", {}), OutageError),
        (requests.ConnectionError("refused"), OutageError),
        (requests.Timeout("slow"), OutageError),
    ],
)
def test_the_class_of_an_error_says_what_to_do(answer: Any, kind: type[Exception]) -> None:
    server, _ = api(answer)
    with pytest.raises(kind):
        server.check()


def test_an_unexplained_404_points_to_the_address() -> None:
    server, _ = api((404, "<html>Not Found</html>", {}))
    with pytest.raises(OutageError) as caught:
        server.check()
    assert str(caught.value).count("404") == 1
    assert f"is the server's address {SERVER} right?" in str(caught.value)
    server, _ = api(refusal(404, "retry", "there is no run yet"))
    with pytest.raises(OutageError, match=r"^there is no run yet \(status 404\)$"):
        server.check()


def test_names_are_sent_in_utf8_and_below_the_base_path() -> None:
    server, transport = api((200, {}, {}))
    server.check()
    assert transport.requests[0].url == "http://server/base/"
    assert transport.requests[0].headers["Authorization"] == "Basic asO8cmdlbjpnZWhlaW0="


def test_retry_after_is_honoured() -> None:
    server, _ = api((429, {"detail": "slow down", "code": "retry"}, {"Retry-After": "77"}))
    with pytest.raises(OutageError) as caught:
        server.check()
    assert caught.value.retry_after == 77


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    made = Spool(tmp_path)
    for number in range(3):
        uid = f"{number:032X}"
        made.add("training", SERVER, {"kg_game_uid": uid}, {"sgf_file": (f"{uid}.sgf", b"(;)")})
    return made


def uploader(spool: Spool, *answers: Any) -> tuple[Uploader, list[str], list[str]]:
    lines: list[str] = []
    reasons: list[str] = []
    server, _ = api(*answers)
    return Uploader(server, spool, Backoff(random.Random(1)), lines.append, reasons.append), lines, reasons


def test_games_leave_when_taken_or_refused_for_good(spool: Spool) -> None:
    sender, lines, _ = uploader(spool, (200, {}, {}), refusal(400, "drop_game", "not a game"), (201, "no json", {}))
    assert [sender.step() for _ in range(4)] == [Outcome.WORKED] * 3 + [Outcome.IDLE]
    assert (sender.sent, sender.refused, spool.count()) == (2, 1, 0)
    assert "not a game" in lines[0]
    assert len(list(spool.refused.iterdir())) == 1


def test_an_outage_keeps_every_game_and_is_told_once(spool: Spool) -> None:
    down = requests.ConnectionError("no route")
    sender, lines, _ = uploader(spool, down, down, down, (200, {}, {}))
    assert [sender.step() for _ in range(3)] == [Outcome.FAILED] * 3
    assert spool.count() == 3
    assert sender.step() is Outcome.WORKED
    assert len(lines) == 2
    assert "3 wait on disk" in lines[0]
    assert lines[1] == "the server takes games again"


def test_what_waits_is_sent_until_a_try_fails_or_it_is_stopped(spool: Spool) -> None:
    taken: tuple[int, dict[str, str], dict[str, str]] = (200, {}, {})
    sender, _, _ = uploader(spool, taken, requests.ConnectionError("no route"), taken, taken)
    sender.send_waiting(lambda: False)
    assert spool.count() == 3
    sender.send_waiting(lambda: True)
    assert spool.count() == 2
    sender.send_waiting(lambda: True)
    assert spool.count() == 0


def test_a_refused_login_stops_and_keeps_the_games(spool: Spool) -> None:
    sender, _, reasons = uploader(spool, refusal(403, "stop", "the run is closed"))
    assert sender.step() is Outcome.FAILED
    assert spool.count() == 3
    assert "the run is closed" in reasons[0]


def test_games_of_another_server_wait_for_it(spool: Spool) -> None:
    uid = "F" * 32
    spool.add("training", "http://other", {"kg_game_uid": uid}, {"sgf_file": (f"{uid}.sgf", b"(;)")})
    sender, _, _ = uploader(spool, *[(200, {}, {})] * 3)
    assert [sender.step() for _ in range(4)][-1] is Outcome.IDLE
    assert [game.uid for game in spool.pending()] == [uid]
    assert sender.waiting() == 0


def test_pauses_grow_to_a_bound_and_begin_anew_after_success() -> None:
    backoff = Backoff(random.Random(1))
    pauses = [backoff.after(Outcome.FAILED) for _ in range(40)]
    assert pauses[0] == pytest.approx(FIRST_PAUSE_S, rel=0.06)
    assert max(pauses) <= MAX_PAUSE_S * 1.06
    assert pauses[-1] >= MAX_PAUSE_S * 0.94
    assert backoff.after(Outcome.WORKED) == 0
    assert backoff.after(Outcome.FAILED) == pytest.approx(FIRST_PAUSE_S, rel=0.06)
    backoff.at_least = 500.0
    assert backoff.after(Outcome.FAILED) == pytest.approx(500, rel=0.06)
    assert backoff.after(Outcome.FAILED) < 100


def test_a_loop_ends_when_it_is_told_to() -> None:
    stop = threading.Event()
    outcomes: Iterator[Outcome] = iter([Outcome.WORKED, Outcome.WORKED, Outcome.IDLE])

    def step() -> Outcome:
        outcome = next(outcomes)
        if outcome is Outcome.IDLE:
            stop.set()
        return outcome

    run(step, stop, Backoff(random.Random(1)))
    assert next(outcomes, None) is None
