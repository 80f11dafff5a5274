"""What becomes of a game by the server's answer, and how the loops wait."""

from __future__ import annotations

import io
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from rich.console import Console

from client.contribute.console import VolunteerConsole
from client.contribute.errors import GameRefusedError, LoginRefusedError, OutageError, UpdateNeededError
from client.contribute.exchange import MAX_ANSWER_BYTES
from client.contribute.loop import FIRST_PAUSE_S, MAX_NAMED_PAUSE_S, MAX_PAUSE_S, Backoff, Outcome, run
from client.contribute.mishaps import MAX_FILE_BYTES, Mishaps
from client.contribute.settings import Login
from client.contribute.spool import Spool
from client.contribute.uploader import READ_TRIES, TELL_AGAIN_S, Uploader
from tests.client.contribute.answers import SERVER, Answering, Given, api, refusal, taken, uid_of

RUN = {
    "name": "seven",
    "url": "http://server/r/",
    "data_board_len": 7,
    "inputs_version": 7,
    "max_search_threads_allowed": 8,
}


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refusal(400, "drop_game"), GameRefusedError),
        (refusal(503, "retry"), OutageError),
        (refusal(403, "stop"), LoginRefusedError),
        (refusal(400, "update_client"), UpdateNeededError),
        (refusal(400, "already_stored"), OutageError),  # makes no sense without a game
        ((401, {"detail": "Invalid username/password."}, {}), LoginRefusedError),
        ((400, {"non_field_errors": ["Network is no longer enabled for rating games"]}, {}), GameRefusedError),
        ((400, {"error": "uploads are no longer enabled for this"}, {}), OutageError),
        ((502, "<html>bad gateway</html>", {}), OutageError),
        ((401, "<html>who are you?</html>", {}), OutageError),
        ((403, "", {}), OutageError),
        ((407, "<html>proxy</html>", {}), OutageError),
        ((400, "<html>no longer enabled for you</html>", {}), OutageError),
        ((200, "<html>log in to the hotel</html>", {"Content-Type": "text/html; charset=utf-8"}), OutageError),
        ((200, "", {}), OutageError),
        ((200, "[" * 100_000, {}), OutageError),
        ((200, {"status": "ok"}, {}), OutageError),
        ((204, "", {}), OutageError),
        ((302, "", {"Location": "http://[bad/"}), OutageError),
        ((302, "", {"Location": "http://server:port/"}), OutageError),
        (requests.ConnectionError("refused"), OutageError),
        (requests.Timeout("slow"), OutageError),
        (OSError("Could not find a suitable TLS CA certificate bundle"), OutageError),
    ],
)
def test_the_class_of_an_error_says_what_to_do(answer: Any, kind: type[Exception]) -> None:
    server, _ = api(answer)
    with pytest.raises(kind):
        server.current_run()


def test_an_unexplained_404_points_to_the_address() -> None:
    server, _ = api((404, "<html>Not Found</html>", {}))
    with pytest.raises(OutageError) as caught:
        server.current_run()
    assert str(caught.value).count("404") == 1
    assert f"is the server's address {SERVER} right?" in str(caught.value)
    server, _ = api(refusal(404, "retry", "there is no run yet"))
    with pytest.raises(OutageError, match=r"^there is no run yet \(status 404\)$"):
        server.current_run()


def test_names_are_sent_in_utf8_and_below_the_base_path() -> None:
    server, transport = api((200, RUN, {}))
    assert server.current_run().name == "seven"
    assert transport.requests[0].url == "http://server/base/api/runs/current_for_client/"
    assert transport.requests[0].headers["Authorization"] == "Basic asO8cmdlbjpnZWhlaW0="
    server, transport = api((200, RUN, {}), login=Login(token="tengen_abc"))
    server.current_run()
    authorization: Any = transport.requests[0].headers["Authorization"]  # bytes, which the stubs do not know
    assert authorization == b"Bearer tengen_abc"


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ("77", 77.0),
        ("0", 0.0),
        ("9999999999", MAX_NAMED_PAUSE_S),
        ("9" * 5000, MAX_NAMED_PAUSE_S),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("nan", None),
        ("Fri, 31 Dec 9999 23:59:59 GMT", MAX_NAMED_PAUSE_S),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("Thu, 99 Jan 1970 00:00:00 GMT", None),
    ],
)
def test_retry_after_is_honoured_within_reason(told: str, seconds: float | None) -> None:
    server, _ = api((429, {"detail": "slow down", "code": "retry"}, {"Retry-After": told}))
    with pytest.raises(OutageError) as caught:
        server.current_run()
    assert caught.value.retry_after == seconds


# ------------------------------------------------------------------------------------------------------------- uploads


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    made = Spool(tmp_path)
    for number in range(3):
        uid = f"{number:032X}"
        made.add("training", SERVER, {"kg_game_uid": uid}, {"sgf_file": (f"{uid}.sgf", b"(;)")})
    return made


def uploader(spool: Spool, *answers: Answering) -> tuple[Uploader, list[str], list[str]]:
    lines: list[str] = []
    reasons: list[str] = []
    server, _ = api(*answers)
    return Uploader(server, spool, Backoff(random.Random(1)), lines.append, reasons.append), lines, reasons


def test_games_leave_when_taken_or_refused_for_good(spool: Spool) -> None:
    sender, lines, _ = uploader(spool, taken, refusal(400, "drop_game", "not a game"), taken)
    assert [sender.step() for _ in range(4)] == [Outcome.WORKED] * 3 + [Outcome.IDLE]
    assert (sender.sent, sender.refused, spool.count()) == (2, 1, 0)
    assert "not a game" in lines[0]
    assert len(list(spool.refused.iterdir())) == 1


def as_katago_server(request: requests.PreparedRequest) -> Given:
    """Its answer to a new game: the fields of the game."""
    fields = {"id": 7, "kg_game_uid": uid_of(request), "komi": 7.5, "winner": "W", "extra_metadata": {}}
    return 201, fields, {}


def in_other_case(request: requests.PreparedRequest) -> Given:
    return 202, {"kg_game_uid": uid_of(request).lower()}, {}


def known(request: requests.PreparedRequest) -> Given:
    return 200, {"kg_game_uid": uid_of(request), "already_known": True}, {}


@pytest.mark.parametrize(
    "answer",
    [
        taken,
        as_katago_server,
        in_other_case,
        known,
        refusal(400, "already_stored"),
        (400, {"kg_game_uid": ["training game with this kg_game_uid already exists."]}, {}),
    ],
)
def test_what_proves_that_a_game_is_stored(spool: Spool, answer: Answering) -> None:
    sender, lines, reasons = uploader(spool, answer)
    assert sender.step() is Outcome.WORKED
    assert (sender.sent, sender.refused, spool.count(), lines, reasons) == (1, 0, 2, [], [])
    assert list(spool.refused.iterdir()) == []


def about_another_game(request: requests.PreparedRequest) -> Given:
    return 201, {"kg_game_uid": f"{0xABC:032X}"}, {}


def refused_with_a_good_status(request: requests.PreparedRequest) -> Given:
    return 200, {"kg_game_uid": [f"{uid_of(request)} is no good"]}, {}


def echoed(request: requests.PreparedRequest) -> Given:
    return 200, {"form": {"kg_game_uid": uid_of(request)}}, {}


def in_a_page(request: requests.PreparedRequest) -> Given:
    return 200, f'<html>{{"kg_game_uid": "{uid_of(request)}"}}</html>', {"Content-Type": "text/html"}


def with_status(status: int) -> Answering:
    return lambda request: (status, {"kg_game_uid": uid_of(request)}, {})


PROVES_NOTHING: list[Answering] = [
    (200, "<html>log in</html>", {"Content-Type": "text/html"}),
    (201, "no json", {}),
    (200, "", {}),
    (204, "", {}),
    (200, b"\xff\xfe\x00", {}),
    (200, {}, {}),
    (200, [], {}),
    (200, "null", {}),
    (200, '"text"', {}),
    (200, {"kg_game_uid": None}, {}),
    (200, {"kg_game_uid": ""}, {}),
    (200, {"status": "ok"}, {}),
    (200, "[" * 100_000, {}),
    (200, {"detail": "game refused", "code": "drop_game"}, {}),
    (202, {"detail": "bad gateway"}, {}),
    about_another_game,
    refused_with_a_good_status,
    echoed,
    in_a_page,
    with_status(203),
    with_status(206),
    with_status(304),
    with_status(409),
    with_status(500),
    (301, "", {"Location": SERVER + "/api/games/training/"}),
    (302, "<html>moved</html>", {"Location": "http://portal/login"}),
    (303, "", {"Location": "/"}),
    (302, "", {}),
    (307, "", {"Location": "http://portal/login"}),
    (308, "", {"Location": "https://elsewhere/base/api/games/training/"}),
    (307, "", {"Location": "http://[bad/"}),
    (400, "<html>this page may already exist</html>", {}),
    (400, {"error": "your session already exists"}, {}),
    (400, {"message": "duplicate key value, the uploaded data possibly already exists"}, {}),
    (400, ["the entry already exists"], {}),
    (400, {"error": "uploads are no longer enabled for guests"}, {}),
    (400, "<html>no longer enabled for guests</html>", {}),
    (401, "<html>401</html>", {}),
    (403, "<html>blocked</html>", {}),
    (407, "", {}),
    (413, "<html>too large</html>", {}),
    (503, "<html>try later</html>", {"Retry-After": "9999999999"}),
]


@pytest.mark.parametrize("answer", PROVES_NOTHING)
def test_what_proves_nothing_leaves_the_game_where_it_is(spool: Spool, answer: Answering) -> None:
    sender, lines, reasons = uploader(spool, answer, taken, taken, taken)
    assert sender.step() is Outcome.FAILED
    assert (sender.sent, spool.count(), list(spool.refused.iterdir()), reasons) == (0, 3, [], [])
    assert len(lines) == 1
    assert lines[0].startswith("cannot send games: ")
    assert "3 wait on disk" in lines[0]
    assert FIRST_PAUSE_S * 0.9 <= sender.backoff.after(Outcome.FAILED) <= MAX_NAMED_PAUSE_S * 1.06
    sender.send_waiting(lambda: True)
    assert (sender.sent, spool.count()) == (3, 0)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((200, "<html>", {"Content-Type": "text/html"}), ["status 200, text/html, 6 bytes", "captive portal"]),
        ((301, "", {"Location": "https://server/new/"}), ["https://server/new/", f"address {SERVER} right"]),
        ((407, "", {}), ["proxy", "wants a login", "HTTPS_PROXY"]),
        ((403, "<html>", {}), ["captive portal"]),
        ((511, "<html>", {}), ["status 511", "captive portal"]),
        ((502, "<html>", {}), ["status 502", "is in trouble"]),
        (about_another_game, ["names the game", "was sent"]),
        ((400, "<html>The plain HTTP request was sent to HTTPS port", {}), ["https://"]),
    ],
)
def test_the_line_says_what_to_look_at(spool: Spool, answer: Answering, words: list[str]) -> None:
    sender, lines, _ = uploader(spool, answer)
    sender.step()
    assert [word for word in words if word not in lines[0]] == []


@pytest.mark.parametrize("status", [301, 302, 303])
def test_an_upload_never_becomes_a_get(spool: Spool, status: int) -> None:
    server, transport = api((status, "", {"Location": SERVER + "/"}), taken)
    with pytest.raises(OutageError):
        server.upload(spool.pending()[0])
    assert [request.method for request in transport.requests] == ["POST"]


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_that_keeps_the_upload_whole_is_followed_on_the_same_host(spool: Spool, status: int) -> None:
    target = "https://server/new/api/games/training/"
    server, transport = api((status, "", {"Location": target}), taken)
    server.upload(spool.pending()[0])
    first, second = transport.requests
    assert (second.method, second.url) == ("POST", target)
    assert uid_of(first) == uid_of(second)
    assert second.headers["Authorization"] == first.headers["Authorization"]


def test_redirects_in_a_circle_come_to_an_end(spool: Spool) -> None:
    around: Given = (307, "", {"Location": "/base/api/games/training/"})
    server, transport = api(*[around] * 50)
    with pytest.raises(OutageError):
        server.upload(spool.pending()[0])
    assert len(transport.requests) < 10


def test_an_answer_without_an_end_is_given_up() -> None:
    server, _ = api((200, b"x" * (MAX_ANSWER_BYTES + 1), {}))
    with pytest.raises(OutageError, match="has no end"):
        server.current_run()


def test_a_file_that_this_version_does_not_know_is_sent_as_it_is(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.add("training", SERVER, {"kg_game_uid": "A" * 32}, {"new_file": ("a.bin", b"of another version")})
    server, transport = api(taken)
    server.upload(spool.pending()[0])
    body = transport.requests[0].body
    assert isinstance(body, bytes)
    assert b'name="new_file"; filename="a.bin"' in body
    assert b"of another version" in body


def test_a_game_that_cannot_be_sent_does_not_hold_up_the_others(spool: Spool) -> None:
    blocked = f"{0:032X}"

    def selective(request: requests.PreparedRequest) -> Given:
        return (403, "<html>virus!</html>", {}) if uid_of(request) == blocked else taken(request)

    sender, lines, _ = uploader(spool, *[selective] * 20)
    now = 0.0
    sender.clock = lambda: now
    for _ in range(10):
        sender.step()
        now += TELL_AGAIN_S / 100
    assert (sender.sent, [game.uid for game in spool.pending()]) == (2, [blocked])
    assert len(lines) == 2  # the trouble and its end; no line for each try
    spool.add("training", SERVER, {"kg_game_uid": "A" * 32}, {"sgf_file": ("a.sgf", b"(;)")})
    assert sender.step() is Outcome.WORKED
    assert sender.sent == 3


@pytest.mark.parametrize(
    "fault", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error"), BlockingIOError(11, "locked")]
)
@pytest.mark.parametrize("times", [1, READ_TRIES, 10**6])
def test_a_game_whose_files_cannot_be_read_is_told_and_passed_over(
    spool: Spool, monkeypatch: pytest.MonkeyPatch, fault: OSError, times: int
) -> None:
    first, failures = spool.pending()[0], iter(range(times))
    read = Path.read_bytes

    def failing(path: Path) -> bytes:
        if path == first.files["sgf_file"] and next(failures, None) is not None:
            raise fault
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", failing)
    sender, lines, reasons = uploader(spool, *[taken] * 4)
    outcomes = [sender.step() for _ in range(20)]
    assert outcomes[-1] is Outcome.IDLE
    assert outcomes.count(Outcome.FAILED) == min(times, READ_TRIES - 1)
    for_good = times >= READ_TRIES
    assert [game.uid for game in spool.pending()] == [first.uid] * for_good
    assert (sender.sent, sender.waiting(), reasons, sender.trouble) == (3 - for_good, 0, [], "")
    assert len(lines) == 1 + for_good
    assert all(str(fault.strerror) in line for line in lines)
    assert ("the next start tries again" in lines[-1]) == for_good


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), PermissionError(13, "Permission denied")])
@pytest.mark.parametrize(("answer", "operation"), [(taken, "sent"), (refusal(400, "drop_game"), "refuse")])
def test_a_disk_that_refuses_to_move_games_is_told_once(
    spool: Spool, monkeypatch: pytest.MonkeyPatch, fault: OSError, answer: Answering, operation: str
) -> None:
    def refuse(*_: object) -> None:
        raise fault

    monkeypatch.setattr(spool, operation, refuse)
    sender, lines, _ = uploader(spool, *[answer] * 3)
    assert [sender.step() for _ in range(5)] == [Outcome.WORKED] * 3 + [Outcome.IDLE] * 2
    assert len(lines) == 3
    assert all(str(fault.strerror) in line for line in lines)
    assert sender.waiting() == 0


def test_an_outage_keeps_every_game_and_is_told_once(spool: Spool) -> None:
    down = requests.ConnectionError("no route")
    sender, lines, _ = uploader(spool, down, down, down, taken)
    assert [sender.step() for _ in range(3)] == [Outcome.FAILED] * 3
    assert spool.count() == 3
    assert sender.step() is Outcome.WORKED
    assert len(lines) == 2
    assert "3 wait on disk" in lines[0]
    assert lines[1] == "the server takes games again"


def test_what_waits_is_sent_until_a_try_fails_or_it_is_stopped(spool: Spool) -> None:
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
    sender, _, _ = uploader(spool, *[taken] * 3)
    assert [sender.step() for _ in range(4)][-1] is Outcome.IDLE
    assert [game.uid for game in spool.pending()] == [uid]
    assert sender.waiting() == 0


# --------------------------------------------------------------------------------------------------------------- loops


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


@pytest.mark.parametrize("named", [float("inf"), 1e300, 1e10, -1e300])
def test_a_pause_that_a_server_names_has_bounds(named: float) -> None:
    backoff = Backoff(random.Random(1))
    backoff.at_least = named
    assert FIRST_PAUSE_S * 0.9 <= backoff.after(Outcome.FAILED) <= MAX_NAMED_PAUSE_S * 1.06


def test_a_loop_ends_when_it_is_told_to_and_for_no_other_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = threading.Event()
    outcomes: Iterator[Outcome | Exception] = iter(
        [Outcome.WORKED, ValueError("[bad"), Outcome.WORKED, OverflowError(), MemoryError(), Outcome.IDLE]
    )
    unforeseen: list[Exception] = []

    def step() -> Outcome:
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        if outcome is Outcome.IDLE:
            stop.set()
        return outcome

    backoff = Backoff(random.Random(1))
    monkeypatch.setattr(backoff, "after", lambda outcome: 0.0)
    run(step, stop, backoff, unforeseen.append)
    assert next(outcomes, None) is None
    assert [type(error) for error in unforeseen] == [ValueError, OverflowError, MemoryError]


@pytest.mark.parametrize("folder_is_there", [True, False])
def test_unforeseen_errors_become_a_line_and_a_traceback_on_disk(tmp_path: Path, folder_is_there: bool) -> None:
    lines: list[str] = []
    path = (tmp_path if folder_is_there else tmp_path / "missing") / "errors.log"
    mishaps = Mishaps(path, lines.append)
    for number in range(3):
        try:
            raise RuntimeError(f"number {number}")
        except RuntimeError as error:
            mishaps.tell("what sends games", error)
    assert len(lines) == 3
    assert lines[0].startswith("what sends games met an unforeseen error and goes on: RuntimeError: number 0")
    if folder_is_there:
        assert str(path) in lines[0]
        assert path.read_text().count("Traceback (most recent call last)") == 3


def test_tracebacks_do_not_fill_the_disk(tmp_path: Path) -> None:
    mishaps = Mishaps(tmp_path / "errors.log", lambda line: None)
    for _ in range(30):
        mishaps.tell("somebody", RuntimeError("x" * 100_000))
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 4 * MAX_FILE_BYTES
    assert len(list(tmp_path.iterdir())) == 2


class Gone(io.StringIO):
    """A console whose other end is away."""

    def write(self, text: str) -> int:
        raise OSError(5, "Input/output error")


def test_a_console_that_is_gone_ends_nothing(tmp_path: Path) -> None:
    console = VolunteerConsole(Console(file=Gone()))
    Mishaps(tmp_path / "errors.log", console.line).tell("somebody", RuntimeError())
