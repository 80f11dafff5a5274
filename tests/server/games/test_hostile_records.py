"""Pages of games whose records are missing, damaged or made up by a stranger: a clear word, never an error."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from common import wire
from common.go.rules import Rules
from server.accounts.models import Contributor
from server.games.models import Game
from server.jobs.models import Job
from server.runs.models import Run
from server.web import viewer
from server.web.rules_text import in_words
from tests.common.made_rules import KINDS
from tests.server.factories import SGF, ask, game_form, upload, upload_training

HEAD = b"(;FF[4]GM[1]SZ[7]PB[x]PW[x]HA[0]KM[7.5]RU[Japanese]"


@pytest.fixture
def game(client: Client, anna: Contributor, run: Run) -> Game:
    """A game that was taken."""
    job = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    assert upload_training(client, anna, game_form(job)).status_code == 201
    return Game.objects.get()


BROKEN = {
    "empty": b"",
    "no SGF": b"hello",
    "binary": bytes(range(256)) * 40,
    "cut short": SGF[:-1],
    "cut in a value": SGF[:40],
    "brackets only": b"(" * 100_000,
    "another game": b"(;FF[4]GM[2]SZ[7])",
    "no size": b"(;FF[4]GM[1]SZ[99])",
    "negative size": b"(;FF[4]GM[1]SZ[-3])",
    "a huge size": b"(;FF[4]GM[1]SZ[" + b"9" * 5000 + b"])",
    "a move outside": HEAD + b";B[zz])",
    "too long": HEAD + b";B[aa]" * 3000 + b")",
    "too large": HEAD + b"C[" + b"x" * wire.MAX_SGF_BYTES + b"])",
    "komi": b"(;FF[4]GM[1]SZ[7]KM[nan])",
    "both colours": HEAD + b";B[aa]W[bb])",
}


@pytest.mark.django_db
@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_record_that_cannot_be_shown(client: Client, game: Game, content: bytes) -> None:
    default_storage.save(game.sgf_file, ContentFile(content))
    page = client.get(f"/game/training/{game.uid}/?move=1")
    assert page.status_code == 200
    assert "The record of this game cannot be shown" in page.content.decode()
    assert "7.5" in page.content.decode(), "what the row says of the game stands there all the same"
    file = client.get(f"/game/training/{game.uid}/sgf/")
    assert (file.status_code, file.content) == (200, content)


@pytest.mark.django_db
def test_a_record_that_is_gone(client: Client, game: Game) -> None:
    default_storage.delete(game.sgf_file)
    page = client.get(f"/game/training/{game.uid}/")
    assert (page.status_code, "no longer has the record" in page.content.decode()) == (200, True)
    assert f"{game.uid}/sgf/" not in page.content.decode()
    assert client.get(f"/game/training/{game.uid}/sgf/").status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize("tail", ["", "sgf/"])
def test_a_storage_that_is_away(client: Client, game: Game, monkeypatch: pytest.MonkeyPatch, tail: str) -> None:
    def away(_: str) -> bytes:
        raise ConnectionResetError

    monkeypatch.setattr("server.games.selectors.load", away)
    client.raise_request_exception = False
    page = client.get(f"/game/training/{game.uid}/{tail}")
    assert (page.status_code, page.headers["Retry-After"]) == (503, "30")
    assert "storage is away" in page.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("kept", [len(SGF) - 1, len(SGF) - 3, 40, 15])
def test_an_upload_that_was_cut_short_is_refused(client: Client, anna: Contributor, run: Run, kept: int) -> None:
    job = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    answer = upload_training(client, anna, game_form(job), sgf=SGF[:kept])
    told = wire.ErrorAnswer.from_json(answer.content)
    assert (answer.status_code, told.code) == (400, wire.ErrorCode.DROP_GAME)
    assert "its SGF cannot be read" in told.detail
    assert not Game.objects.exists()
    assert upload(client, anna, game_form(job), sgf=SGF[:kept]).status_code == 400


def _mutated(data: st.DataObject) -> bytes:
    content = bytearray(HEAD + b"AB[aa][bb]AW[cc];B[ba]C[0.25 0.75 0.00 -2.5 v=8];W[aa];B[ab];W[];B[])")
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place : place + data.draw(st.integers(0, 3))] = data.draw(
            st.one_of(
                st.binary(max_size=3), st.sampled_from([b"[", b"]", b";", b"(", b")", b"\\", b";B[aa]", b"SZ[3:19]"])
            )
        )
    return bytes(content)


@hypothesis_settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_record_is_shown_or_told_why_not(data: st.DataObject) -> None:
    try:
        game = viewer.read(_mutated(data))
    except viewer.NotShownError:
        return
    for number in range(len(game.frames) + 1):
        assert len(game.view(number)["stones"]) <= game.x_size * game.y_size
    assert len(game.data(0)["moves"]) == len(game.frames)


ODD = (
    HEAD + b"CA[nonsense];B[aa])",
    HEAD + b"CA[rot13];B[aa])",
    HEAD + b"AB[aa];W[aa];B[ab];B[ab])",
    b"(;FF[4]GM[1]SZ[7]KM[7.5]RU[koSIMPLEscoreTERRITORYtaxNONEsui0button1])",
)


@pytest.mark.django_db
@pytest.mark.parametrize("content", ODD)
def test_an_odd_record_is_shown_all_the_same(client: Client, game: Game, content: bytes) -> None:
    default_storage.save(game.sgf_file, ContentFile(content))
    page = client.get(f"/game/training/{game.uid}/")
    assert (page.status_code, "goban" in page.content.decode()) == (200, True)


def test_the_longest_record_is_shown() -> None:
    """Big chains that are walked around again and again."""
    board = b"".join(b"[%c%c]" % (97 + x, 97 + y) for x in range(19) for y in range(19) if (x + y) and x < 18)
    record = b"(;FF[4]GM[1]SZ[19]KM[7.5]RU[Japanese]AB" + board + b";W[aa];B[sa]" * (viewer.MAX_MOVES // 2) + b")"
    assert len(viewer.read(record).frames) == viewer.MAX_MOVES


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("koSIMPLEscoreAREAtaxNONEsui0", "simple ko, area scoring, no suicide"),
        ("tromp-taylor", "TrompTaylor: positional superko, area scoring, suicide allowed"),
        ("japanese", "Japanese: simple ko, territory scoring, no points in seki, no suicide"),
        (
            "koSITUATIONALscoreAREAtaxALLsui1button1whbN-1fpok1",
            "situational superko, area scoring, no points in seki and two less for each living group, suicide allowed, "
            "a button worth half a point, White gets a point for each handicap stone but one, "
            "dead stones need not be captured before the end",
        ),
    ],
)
def test_rules_in_words(rules: str, words: str) -> None:
    assert in_words(Rules.parse(rules)) == words


@pytest.mark.parametrize("name", sorted(KINDS.keys() - {"komi"}))
def test_every_rule_has_words(name: str) -> None:
    rules = Rules.parse("koSIMPLEscoreAREAtaxSEKIsui1")  # without a name, as what becomes of it
    assert in_words(replace(rules, **{name: KINDS[name](not getattr(rules, name))})) != in_words(rules)


STARS = {19: 9, 17: 9, 15: 9, 13: 5, 11: 5, 9: 5, 7: 1, 5: 1, 18: 4, 16: 4, 14: 4, 12: 4, 10: 4, 8: 4}


@pytest.mark.parametrize("size", range(2, 20))
def test_star_points_of_every_size(size: int) -> None:
    points = viewer.star_points(size, size)
    assert len(points) == len(set(points)) == STARS.get(size, 0)
    assert {(y, x) for x, y in points} == {(size - 1 - x, y) for x, y in points} == set(points), (
        "the board's symmetries"
    )
    if size == 9:
        assert points == [(2, 2), (2, 6), (4, 4), (6, 2), (6, 6)]
    if size == 19:
        assert points == [(x, y) for x in (3, 9, 15) for y in (3, 9, 15)]


def test_star_points_of_rectangles() -> None:
    for x_size in range(2, 20):
        for y_size in range(2, 20):
            points = viewer.star_points(x_size, y_size)
            assert len(points) == len(set(points))
            assert all(0 <= x < x_size and 0 <= y < y_size for x, y in points)
            assert sorted((y, x) for x, y in viewer.star_points(y_size, x_size)) == points
