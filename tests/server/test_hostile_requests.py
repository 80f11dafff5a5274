"""Whatever a stranger sends, the API answers below 500, with a text and a code: clients repeat a 500 for ever."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from django.conf import settings
from django.test import Client
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from rest_framework.throttling import SimpleRateThrottle

from common import wire
from server.accounts.models import Contributor
from server.games.models import Game
from server.jobs.models import Job
from server.runs.models import Run
from tests.server.factories import SGF, ask, game_form, login, make_network, new_uid, npz_bytes, sgf_of

pytestmark = pytest.mark.django_db

BOUNDARY: Final = "frontier"
MULTIPART: Final = f"multipart/form-data; boundary={BOUNDARY}"
PATHS: Final = (wire.PATH_TASKS, wire.PATH_TRAINING_GAMES, wire.PATH_RATING_GAMES)
TASK: Final = {
    "git_revision": "f" * 40,
    "task_rep_factor": "4",
    "client_instance_id": "AB",
    "allow_selfplay_task": "true",
    "allow_rating_task": "true",
}

BAD_VALUES: Final = (
    *(b"\0", b"x\0y", b"\xff\xfe\x80", b"\xed\xa0\x80", b"", b" ", b"-", b"null", b"true"),
    *("\ufeff", "\u2028", "٣", "²", "１", "0x10", "1_000", "+1", "--1", "9223372036854775808", "9" * 5000),
    *("1e999", "NaN", "Infinity", "-Infinity", "nan", "inf", "1" * 18, "[", "[" * 2000, '{"a":' * 500),
    *(r'{"pos_metadata":"\u0000"}', r'{"pos_metadata":"a\u0000b"}', r'{"pos_metadata":"\ud800"}'),
    *('{"playout_doubling_advantage":1e400}', '{"playout_doubling_advantage":NaN}'),
    *('{"draw_equivalent_wins_for_white":' + "9" * 3000 + "}", r'{"ko":"\u0000"}', '{"ko":[[]]}'),
    *("http://[::1/api/runs/x/", "http://[::1]x/api/runs/seven/", "http://exa℀mple/api/runs/seven/"),
    *("http://x/api/runs/%00/", "http://x/api/runs/%ff/", "http://x:99999999/api/runs/seven/", "http://x/api/runs/"),
)
BAD_SGF: Final = (b"", b"\0", b"\xff" * 100, b"(;FF[4]GM[1]", b"(" * 100_000, b"(;FF[4]GM[1]" + b"(;" * 50_000)
BAD_ROWS: Final = (b"", b"\0", b"PK\x03\x04" + b"\0" * 50, npz_bytes()[:-30])
BAD_TYPES: Final = (
    *("", "application/json", "text/plain", "multipart/form-data", "multipart/form-data; boundary=", "/;;"),
    *(
        "multipart/form-data; boundary=é",
        "multipart/form-data; boundary=" + "x" * 300,
        'multipart/form-data; boundary="',
    ),
    *(
        "application/x-www-form-urlencoded",
        "application/x-www-form-urlencoded; charset=foo",
        "multipart/mixed; boundary=x",
    ),
    *(f"{MULTIPART}; charset={charset}" for charset in ("nonsense", "utf-16", "rot13")),
)
BAD_PART_HEADERS: Final = (
    b'Content-Disposition: form-data; name="run"; filename="x"',
    b'Content-Disposition: form-data; name="run"\r\nContent-Transfer-Encoding: base64',
    b'Content-Disposition: form-data; name="sgf_file"; filename="\0"',
    b'Content-Disposition: form-data; name="sgf_file"; filename="x"\r\nContent-Length: zz',
    b'Content-Disposition: form-data; name="sgf_file"; filename="x"\r\nContent-Type: text/plain; charset=nonsense',
    b"Content-Disposition: form-data; name*=utf-8''%ff",
    b"Content-Disposition: form-data; name*=foo''run",
    b"Content-Disposition: \xff",
    b"x" * 3000,
)
BAD_HEADERS: Final[tuple[dict[str, str], ...]] = (
    *({"Content-Encoding": name} for name in ("gzip", "br", "nonsense")),
    *({"Accept": name} for name in ("application/xml", "\0", ";;;/", "application/json;q=x")),
    *({"Content-Length": name} for name in ("x", "-1", "9" * 400)),
    *({"Transfer-Encoding": "x"}, {"User-Agent": "\xff"}, {"Host": "a b"}, {"Host": "["}),
    *({"Authorization": name} for name in ("Basic", "Basic !!!", "Bearer x", "Basic " + "A" * 100_000)),
    *(
        {"Authorization": "Basic " + base64.b64encode(pair).decode()}
        for pair in (b"\xff\xff:x", b"anna:\0", b"a\0:b", b"anna", b"a\xed\xa0\x80:b", b"anna:" + b"x" * 100_000)
    ),
)


def body(parts: dict[str, bytes | str]) -> bytes:
    """A multipart body; what is called a file is sent as one."""
    written = b""
    for name, value in parts.items():
        file = '; filename="x"' if name.endswith("_file") else ""
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'
        written += head.encode() + (value.encode() if isinstance(value, str) else value) + b"\r\n"
    return written + f"--{BOUNDARY}--\r\n".encode()


Send = Callable[..., None]


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here is about the number of requests."""
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", {"user": None, "anon": None})
    monkeypatch.setattr("server.accounts.throttling.limits", lambda: (10**9, 60))


@pytest.fixture
def parts(client: Client, anna: Contributor, run: Run, tmp_path: Path) -> dict[str, dict[str, bytes | str]]:
    """A request that is taken, for each address; the jobs expect more games than any test sends."""
    selfplay = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    make_network(run, tmp_path)
    match = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    Job.objects.update(games=30_000)
    training = game_form(selfplay) | {"num_training_rows": "3", "sgf_file": SGF, "training_data_file": npz_bytes()}
    return {
        wire.PATH_TASKS: dict(TASK),
        wire.PATH_TRAINING_GAMES: training,
        wire.PATH_RATING_GAMES: game_form(match) | {"sgf_file": SGF},
    }


@pytest.fixture
def send(anna: Contributor) -> Send:
    """Send a body by POST, and see that the answer is one that a client can understand."""
    client = Client(raise_request_exception=False)

    def post(path: str, content: bytes, kind: str = MULTIPART, headers: dict[str, str] | None = None) -> None:
        answer = client.generic("POST", path, content, content_type=kind, headers=login(anna) | (headers or {}))
        assert answer.status_code < 500, answer.content
        if answer.status_code >= 400:
            assert wire.ErrorAnswer.from_json(answer.content).detail

    return post


def fresh(parts: dict[str, bytes | str]) -> dict[str, bytes | str]:
    """The same as a new game."""
    if "kg_game_uid" not in parts:
        return parts
    named = parts | {"kg_game_uid": new_uid()}
    return named | {"sgf_file": sgf_of(named)}


@pytest.mark.parametrize("path", PATHS)
def test_every_field_with_every_bad_value(parts: dict[str, dict[str, bytes | str]], send: Send, path: str) -> None:
    good = parts[path]
    send(path, body(fresh(good)))
    assert Game.objects.count() == (path != wire.PATH_TASKS), "the table starts from what is taken"
    for field in good:
        values = {"sgf_file": BAD_SGF, "training_data_file": BAD_ROWS}.get(field, BAD_VALUES)
        for value in values:
            send(path, body(fresh(good) | {field: value}))


@pytest.mark.parametrize("path", PATHS)
def test_bodies_types_and_headers(parts: dict[str, dict[str, bytes | str]], send: Send, path: str) -> None:
    whole = body(fresh(parts[path]))
    for kind in BAD_TYPES:
        send(path, whole, kind)
    for length in (0, 1, 10, 60, 200, len(whole) // 2, len(whole) - 5):
        send(path, whole[:length])
    for headers in BAD_HEADERS:
        send(path, body(fresh(parts[path])), headers=headers)
    for query in ("?format=xml", "?format=%00", "?page=%ff"):
        send(path + query, body(fresh(parts[path])))
    for head in BAD_PART_HEADERS:
        send(path, b"--%s\r\n%s\r\n\r\n!!!x\r\n--%s--\r\n" % (BOUNDARY.encode(), head, BOUNDARY.encode()))
    send(path, body({f"field{number}": "x" for number in range(1500)}))
    send(path, body({f"field{number}_file": "x" for number in range(150)}))


@pytest.mark.parametrize("value", [r"\u0000", r"a\u0000b", r"\ud800", r"\udfff\ud800"])
def test_metadata_that_no_database_takes_is_refused_for_good(
    client: Client, anna: Contributor, parts: dict[str, dict[str, bytes | str]], value: str
) -> None:
    form = parts[wire.PATH_TRAINING_GAMES] | {"extra_metadata": f'{{"pos_metadata":"{value}"}}'}
    answer = client.generic("POST", wire.PATH_TRAINING_GAMES, body(form), content_type=MULTIPART, headers=login(anna))
    assert (answer.status_code, answer.json()["code"]) == (400, wire.ErrorCode.DROP_GAME)
    assert "extra_metadata.pos_metadata" in answer.json()["detail"]


@hypothesis_settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_text_in_any_fields(parts: dict[str, dict[str, bytes | str]], send: Send, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(PATHS))
    good = fresh(parts[path])
    fields = data.draw(st.lists(st.sampled_from(sorted(good)), min_size=1, max_size=4))
    anything = st.one_of(
        st.binary(max_size=60),
        st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")),
        st.floats().map(lambda number: str(number).encode()),
        st.integers().map(lambda number: str(number).encode()),
        st.dictionaries(st.sampled_from(["ko", "pos_metadata", "tax"]), st.text(max_size=9) | st.floats()).map(
            lambda values: json.dumps(values).encode()
        ),
        st.text(max_size=20).map(lambda text: b"http://" + text.encode() + b"/api/runs/seven/"),
    )
    boundary = BOUNDARY.encode()
    send(path, body(good | {name: data.draw(anything.filter(lambda value: boundary not in value)) for name in fields}))


READ: Final = (
    *("/api/runs/", "/api/runs/seven/", "/api/runs/%00/", "/api/runs/%ff/", "/api/networks/", "/api/networks/%00/"),
    *(wire.PATH_CURRENT_RUN, wire.PATH_NEWEST_NETWORK, wire.PATH_TRAINING_GAMES, wire.PATH_RATING_GAMES),
    *("/api/games/training/99999999999999999999999999/", "/api/games/training/1/", "/api/schema/", "/api/nothing/"),
    *("/models/x.bin.gz", "/models/%ff.bin.gz", "/healthz/", "/", "/runs/%ff/", "/contributors/", "/games/seven/"),
    *("/networks/seven/", "/game/%ff/x/", "/game/training/%E0%A4%A/", "/favicon.ico", "/admin/login/", "/static/x"),
)
QUERIES: Final = (
    *("", "?page=0", "?page=" + "9" * 5000, "?page=%00", "?page=%ff", "?page=1e5", "?page=٣", "?page=last"),
    *("?run__name=%00", "?run__name=%ED%A0%80", "?network=%00", "?network=%ED%A0%80", "?format=api", "?format=%00"),
    *("?move=999", "?move=٣", "?x=" + "&y=" * 1500),
)


@pytest.mark.parametrize("path", READ)
def test_every_address_with_every_query_and_method(db: None, run: Run, path: str) -> None:
    client = Client(raise_request_exception=False)
    for query in QUERIES:
        for method in ("GET", "HEAD", "POST", "PUT", "OPTIONS", "TRACE"):
            answer: Any = client.generic(method, path + query, b"")
            assert answer.status_code < 500, (method, query)
            if path.startswith("/api/") and answer.status_code >= 400 and method != "HEAD":
                assert wire.ErrorAnswer.from_json(answer.content).detail, (method, query)


def test_a_foreign_host_is_told_so_in_the_apis_words(client: Client, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "ALLOWED_HOSTS", ["go.example.org"])
    answer = client.get(wire.PATH_CURRENT_RUN, headers={"Host": "other.example.org"})
    assert answer.status_code == 400
    assert "host name" in wire.ErrorAnswer.from_json(answer.content).detail


@pytest.mark.parametrize("path", PATHS)
def test_a_body_in_chunks_of_which_the_program_sees_nothing_costs_no_game(
    path: str, client: Client, anna: Contributor
) -> None:
    """A web server other than ours may let one through."""
    answer = client.generic("POST", path, b"", MULTIPART, headers=login(anna) | {"Transfer-Encoding": "chunked"})
    told = wire.ErrorAnswer.from_json(answer.content)
    assert (answer.status_code, told.code) == (400, wire.ErrorCode.RETRY)
    assert "chunks" in told.detail
