"""The same game is the same game: whatever its uid, komi, comments, and from which side it is looked at."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.files.storage import default_storage
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pytest_django import Settings

from common import wire
from server.accounts.models import Contributor
from server.games.identity import identity_of
from server.games.models import Game, UploadDay
from server.games.quick_checks import check_sgf
from server.games.quotas import KEPT, old_days_forget
from server.jobs.models import Job
from server.runs.models import Run
from tests.server.factories import ask, game_form, make_contributor, make_network, new_uid, upload, upload_training

HEAD = "(;FF[4]GM[1]SZ[7]PB[a]PW[a]HA[0]KM[7.5]RU[koPOSITIONALscoreAREAtaxNONEsui1]RE[W+7.5]"
POINTS = st.tuples(st.integers(0, 6), st.integers(0, 6))


def record(moves: list[tuple[int, int] | None], stones: list[tuple[int, int]] | None = None, **changes: str) -> bytes:
    """A record with alternating moves, which need not be legal."""
    head = HEAD
    for old, new in changes.items():
        head = head.replace(f"{old}[{head.split(old + '[')[1].split(']')[0]}]", f"{old}[{new}]")
    text = "".join(f"[{chr(97 + x)}{chr(97 + y)}]" for x, y in stones or [])
    placed = f"AB{text}" if stones else ""
    turns = "".join(
        f";{'BW'[number % 2]}[{'' if at is None else chr(97 + at[0]) + chr(97 + at[1])}]C[0.5 0.5 0.0 1.0 v=9]"
        for number, at in enumerate(moves)
    )
    return f"{head}{placed}{turns})".encode()


def identity(sgf: bytes, *, black: int = 1, white: int = 1, size: tuple[int, int] = (7, 7)) -> UUID:
    return identity_of(check_sgf(sgf), x_size=size[0], y_size=size[1], black=black, white=white)


MOVES: list[tuple[int, int] | None] = [(3, 3), (2, 4), (5, 1), None, (0, 6)]


def test_names_komi_rules_and_comments_are_no_part_of_a_game() -> None:
    plain = identity(record(MOVES))
    assert identity(record(MOVES, KM="-3.5", PB="other", RE="B+R", RU="koSIMPLEscoreAREAtaxNONEsui0")) == plain
    assert identity(record(MOVES).replace(b"v=9", b"v=90")) == plain
    assert identity(record(MOVES).replace(b";W[]", b";W[tt]")) == plain, "older programs' pass"


SPELLINGS: dict[str, tuple[bytes, bytes]] = {
    "an escape": (b";B[dd]", b";B[\\d\\d]"),
    "a broken line": (b";B[dd]", b";B[d\\\nd]"),
    "blanks": (b";B[dd]", b";B[ dd\n]"),
    "a long name": (b";B[dd]", b";Black[dd]"),
    "an empty node": (b";B[dd]", b";;B[dd]"),
    "a point that is empty": (b"SZ[7]", b"SZ[7]AE[aa]"),
    "who begins": (b"SZ[7]", b"SZ[7]PL[B]"),
    "who begins, in another word": (b"SZ[7]", b"SZ[7]PL[black]"),
    "who does not": (b"SZ[7]", b"SZ[7]PL[W]"),
    "a stone twice": (b"AB[bb]", b"AB[bb][bb]"),
    "a stone as a rectangle": (b"AB[bb]", b"AB[bb:bb]"),
    "a stone in a node of its own": (b"AB[bb]", b";AB[bb]"),
    "a stone taken off before": (b"AB[bb]", b"AE[bb]AB[bb]"),
    "a stone put and taken off": (b"AB[bb]", b"AB[bb]AB[cc];AE[cc]"),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_spelling_is_no_part_of_a_game(name: str) -> None:
    """Each is the same game to whoever plays the record again, so none makes a copy new."""
    plain = record(MOVES, [(1, 1)])
    old, new = SPELLINGS[name]
    spelled = plain.replace(old, new, 1)
    assert spelled != plain
    assert identity(spelled) == identity(plain)


def test_start_moves_and_networks_are() -> None:
    plain = identity(record(MOVES))
    others = [
        identity(record(MOVES[:-1])),
        identity(record([*MOVES[:-1], (1, 6)])),
        identity(record([MOVES[1], MOVES[0], *MOVES[2:]])),
        identity(record(MOVES, [(1, 1)])),
        identity(record(MOVES), black=2),
        identity(record(MOVES), white=2),
        identity(record(MOVES), black=2, white=2),
        identity(record(MOVES), size=(7, 9)),
        identity(record(MOVES).replace(b";B[", b";X[").replace(b";W[", b";B[").replace(b";X[", b";W[")),
    ]
    assert len({plain, *others}) == len(others) + 1


@hypothesis_settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(moves=st.lists(st.none() | POINTS, max_size=12), stones=st.lists(POINTS, max_size=5), turn=st.integers(0, 7))
def test_a_turned_or_mirrored_game_is_the_same(
    moves: list[tuple[int, int] | None], stones: list[tuple[int, int]], turn: int
) -> None:
    def seen(at: tuple[int, int] | None) -> tuple[int, int] | None:
        if at is None:
            return None
        x, y = (6 - at[0] if turn & 1 else at[0]), (6 - at[1] if turn & 2 else at[1])
        return (y, x) if turn & 4 else (x, y)

    turned = [point for point in map(seen, stones) if point is not None]
    assert identity(record(moves, stones)) == identity(record([*map(seen, moves)], turned[::-1]))


def test_a_rectangle_is_not_turned() -> None:
    wide, high = record([(1, 2)]), record([(2, 1)])
    assert identity(wide, size=(7, 5)) != identity(high, size=(5, 7))
    assert identity(wide, size=(7, 5)) == identity(record([(5, 2)]), size=(7, 5))


def test_rectangles_of_stones_are_their_stones() -> None:
    single = record([], [(0, 0), (1, 0), (0, 1), (1, 1)])
    assert identity(record([]).replace(b"RE[W+7.5]", b"RE[W+7.5]AB[aa:bb]")) == identity(single)
    many = b"AB" + b"[aa:gg]" * 20_000
    identity(record([]).replace(b"RE[W+7.5]", b"RE[W+7.5]" + many))  # in no time, and without millions of points


# ----------------------------------------------------------------------------------------------------------- over HTTP


@pytest.fixture
def job(client: Client, anna: Contributor, run: Run) -> Job:
    """A self-play job of Anna's."""
    return Job.objects.get(pk=ask(client, anna).json()["job_id"])


def refused(answer: Any, words: str) -> None:
    told = wire.ErrorAnswer.from_json(answer.content)
    assert answer.status_code == 400
    assert words in told.detail
    assert told.code == wire.ErrorCode.DROP_GAME
    assert wire.PHRASE_NO_LONGER_ENABLED in told.detail


@pytest.mark.django_db
def test_a_game_with_another_uid_is_refused_and_leaves_no_file(
    client: Client, anna: Contributor, job: Job, run: Run
) -> None:
    form = game_form(job)
    assert upload_training(client, anna, form, sgf=record(MOVES)).status_code == 201
    stored = default_storage.listdir(f"sgfs/{run.name}")
    copy = form | {"kg_game_uid": new_uid()}
    words = f"it is the game {form['kg_game_uid']}, move for move"
    refused(upload_training(client, anna, copy, sgf=record(MOVES)), words)
    refused(upload_training(client, anna, copy, sgf=record(MOVES, KM="0.5")), words)
    berta = make_contributor("berta")
    stolen = game_form(Job.objects.get(pk=ask(client, berta).json()["job_id"]))
    refused(upload_training(client, berta, stolen, sgf=record(MOVES)), words)
    assert upload_training(client, anna, form, sgf=record(MOVES)).json()["already_known"], "the same upload is known"
    assert default_storage.listdir(f"sgfs/{run.name}") == stored
    assert Game.objects.count() == 1


@pytest.mark.django_db
def test_the_same_moves_by_other_networks_are_another_game(
    client: Client, anna: Contributor, job: Job, run: Run, tmp_path: Path
) -> None:
    assert upload_training(client, anna, game_form(job), sgf=record(MOVES)).status_code == 201
    make_network(run, tmp_path, is_candidate=False)
    other = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    assert upload_training(client, anna, game_form(other), sgf=record(MOVES)).status_code == 201


# ---------------------------------------------------------------------------------------------------------------- disk


@pytest.mark.django_db
def test_a_full_disk_refuses_games_before_they_are_stored(
    client: Client, anna: Contributor, job: Job, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MIN_FREE_BYTES = 1 << 30
    for free, status, health in ((1 << 30, 507, 503), ((1 << 30) + (1 << 20), 201, 503), (3 << 30, 201, 200)):
        monkeypatch.setattr(
            "server.storage.shutil.disk_usage", lambda folder, free=free: type("Usage", (), {"free": free})
        )
        answer = upload_training(client, anna, game_form(job))
        assert answer.status_code == status
        if status == 507:
            told = wire.ErrorAnswer.from_json(answer.content)
            assert "nearly full (1024 MiB are left)" in told.detail
            assert told.code == wire.ErrorCode.RETRY, "the client keeps the game"
            assert int(answer.headers["Retry-After"]) > 0
            assert not default_storage.exists("sgfs")
        page = client.get("/healthz/")
        assert page.status_code == health
        assert page.json()["space"] == ("ok" if health == 200 else "low")


# -------------------------------------------------------------------------------------------------------------- quotas


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "value", "words"), [("GAMES", 2, "2 games"), ("BYTES", 3000, "MiB")])
def test_a_login_sends_so_much_a_day_and_no_more(
    client: Client, anna: Contributor, job: Job, settings: Settings, name: str, value: int, words: str
) -> None:
    setattr(settings, f"UPLOAD_{name}_PER_DAY", value)
    answer = None
    for _ in range(3):
        answer = upload_training(client, anna, game_form(job))
        if answer.status_code != 201:
            break
    assert answer is not None
    told = wire.ErrorAnswer.from_json(answer.content)
    assert answer.status_code == 429
    assert words in told.detail
    assert told.code == wire.ErrorCode.RETRY
    assert 0 < int(answer.headers["Retry-After"]) <= 86_400
    berta = make_contributor("berta")
    other = Job.objects.get(pk=ask(client, berta).json()["job_id"])
    assert upload_training(client, berta, game_form(other)).status_code == 201
    UploadDay.objects.filter(contributor=anna).update(day=timezone.now().date() - timedelta(days=1))
    assert upload_training(client, anna, game_form(job)).status_code == 201, "the next day"


@pytest.mark.django_db
def test_what_is_refused_uses_up_no_quota_and_old_days_are_forgotten(
    client: Client, anna: Contributor, job: Job
) -> None:
    upload_training(client, anna, game_form(job, winner="X"))
    assert not UploadDay.objects.exists()
    upload_training(client, anna, game_form(job))
    sent = UploadDay.objects.get()
    assert sent.games == 1
    assert sent.bytes > 500
    UploadDay.objects.update(day=timezone.now().date() - KEPT - timedelta(days=1))
    assert old_days_forget() == 1


@pytest.mark.django_db
def test_match_games_have_identities_too(client: Client, anna: Contributor, run: Run, tmp_path: Path) -> None:
    make_network(run, tmp_path)
    match = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    assert upload(client, anna, game_form(match, job_token=""), sgf=record(MOVES)).status_code == 201
    refused(upload(client, anna, game_form(match, job_token=""), sgf=record(MOVES)), "move for move")
    refused(upload(client, anna, game_form(match), sgf=record(MOVES)), "move for move")
    proved = game_form(match, game_number="3")
    assert upload(client, anna, proved, sgf=record(MOVES)).status_code == 201, "its seed tells it from others"
    swapped = game_form(match)
    swapped["black_network"], swapped["white_network"] = swapped["white_network"], swapped["black_network"]
    assert upload(client, anna, swapped, sgf=record(MOVES)).status_code == 201, "with other colours it is another game"
