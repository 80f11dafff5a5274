"""The audit: its queue, what follows from its verdicts, and what becomes of games that break it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from common.audit_report import OutOfTime
from common.rows import GlobalTarget
from server.accounts.models import Contributor
from server.games import auditing
from server.games.auditing import MAX_AUDITS, Accepted, Verdict, games_audit
from server.games.counting import counts_of
from server.games.models import Game, GameState
from server.games.moving import Refusal
from server.jobs.models import Job
from server.runs.models import Run
from tests.server.factories import FAULT, accept, ask, game_form, make_rows, refuse, sgf_of, upload_training
from tests.server.games.counts import counts

pytestmark = pytest.mark.django_db


def test_counted_games_are_counted_everywhere(play: Callable[..., Game], anna: Contributor) -> None:
    play()
    play()
    assert counts(anna) == {}
    assert games_audit(accept, limit=10) == 2
    assert not Game.objects.filter(state=GameState.RECEIVED).exists()
    assert counts(anna) == {
        "totals.training_games": 2,
        "totals.training_rows": 6,
        "anna.training_games": 2,
        "anna.training_rows": 6,
        "random.training_games": 2,
        "random.training_rows": 6,
    }
    assert games_audit(accept, limit=10) == 0


def test_refused_games_keep_their_reason(play: Callable[..., Game], anna: Contributor, client: Client) -> None:
    game = play()
    games_audit(refuse, limit=10)
    game.refresh_from_db()
    assert (game.state, game.reason_code, game.reason) == (GameState.REFUSED, FAULT.code, FAULT.reason)
    assert counts(anna) == {"totals.refused_games": 1, "anna.refused_games": 1}
    told = client.get(f"/api/games/training/{game.pk}/").json()
    assert (told["state"], told["reason"]) == ("refused", FAULT.reason)


# ------------------------------------------------------------------------------------------------------------ failures


def end_leases() -> None:
    Game.objects.update(audit_until=timezone.now() - timedelta(seconds=1))


def test_a_claimed_game_is_left_to_its_worker(play: Callable[..., Game]) -> None:
    play()
    assert len(auditing._claim(10)) == 1
    assert games_audit(accept, limit=10) == 0
    end_leases()  # the worker died
    assert games_audit(accept, limit=10) == 1
    assert Game.objects.get().state == GameState.COUNTED


def test_a_game_that_breaks_the_audit_does_not_hold_up_others(play: Callable[..., Game], run: Run) -> None:
    bad, good = play(), play()

    def judge(game: Game, sgf: bytes, rows: bytes | None) -> Verdict:
        if game.pk == bad.pk:
            raise ZeroDivisionError
        return Accepted()

    for _ in range(MAX_AUDITS):
        games_audit(judge, limit=10)
        end_leases()
    bad.refresh_from_db()
    good.refresh_from_db()
    assert (bad.state, good.state) == (GameState.RECEIVED, GameState.COUNTED)
    games_audit(judge, limit=10)
    bad.refresh_from_db()
    assert (bad.state, bad.reason_code) == (GameState.REFUSED, auditing.AUDIT_FAILED)
    call_command("requeue_games", run.name, auditing.AUDIT_FAILED)
    games_audit(accept, limit=10)
    bad.refresh_from_db()
    assert (bad.state, bad.reason) == (GameState.COUNTED, "")


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b", "\udfff", "long " * 10_000])
def test_a_reason_may_hold_any_text(play: Callable[..., Game], text: str) -> None:
    game, other = play(), play()

    def judge(game: Game, sgf: bytes, rows: bytes | None) -> Verdict:
        return Accepted() if game.pk == other.pk else Refusal("planes", text)

    assert games_audit(judge, limit=10) == 2
    assert games_audit(judge, limit=10) == 0
    game.refresh_from_db()
    other.refresh_from_db()
    assert (game.state, other.state) == (GameState.REFUSED, GameState.COUNTED)
    assert game.reason
    assert len(game.reason) <= 2000


@pytest.mark.parametrize("name", ["x\0y", "x\\]\0", "x" * 5000 + "\0"])
def test_an_sgf_with_a_nul_is_refused_alone(client: Client, anna: Contributor, run: Run, name: str) -> None:
    from server.games.tasks import audit_pending

    job = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    for player in ("x", name, "x"):
        form = game_form(job)
        sgf = sgf_of(form).replace(b"PB[x]", f"PB[{player}]".encode())
        assert upload_training(client, anna, form, sgf=sgf).status_code == 201
    assert audit_pending() == 3
    reasons = [game.reason_code for game in Game.objects.all()]
    assert not Game.objects.filter(state=GameState.RECEIVED).exists()
    assert auditing.AUDIT_FAILED not in reasons


def test_a_verdict_that_cannot_be_kept_leaves_the_others_theirs(
    play: Callable[..., Game], monkeypatch: pytest.MonkeyPatch
) -> None:
    games = [play() for _ in range(4)]
    bad = games[1].pk

    def break_one(game: Game, state: GameState) -> Any:
        if game.pk == bad and state == GameState.COUNTED:
            raise ZeroDivisionError
        return counts_of(game, state)

    monkeypatch.setattr("server.games.moving.counts_of", break_one)
    for _ in range(MAX_AUDITS + 1):
        games_audit(accept, limit=10)
        end_leases()
    states = dict(Game.objects.values_list("pk", "state"))
    assert states == {game.pk: GameState.REFUSED if game.pk == bad else GameState.COUNTED for game in games}
    assert Game.objects.get(pk=bad).reason_code == auditing.AUDIT_FAILED


def test_a_game_that_takes_too_long_is_refused_at_its_second_audit(
    play: Callable[..., Game], monkeypatch: pytest.MonkeyPatch
) -> None:
    game = play()

    def never_ends(*_: Any) -> None:
        raise OutOfTime

    monkeypatch.setattr("common.audit.audit_training_game", never_ends)
    games_audit(auditing.judge, limit=10)
    game.refresh_from_db()
    assert game.state == GameState.RECEIVED, "the first time, kernels may have been compiled"
    end_leases()
    games_audit(auditing.judge, limit=10)
    game.refresh_from_db()
    assert (game.state, game.reason_code) == (GameState.REFUSED, "audit_time")


def test_a_storage_that_is_away_costs_no_attempt(play: Callable[..., Game], monkeypatch: pytest.MonkeyPatch) -> None:
    play()

    def away(name: str) -> bytes:
        raise ConnectionResetError

    with monkeypatch.context() as patch:
        patch.setattr(auditing, "load", away)
        for _ in range(MAX_AUDITS + 2):
            games_audit(accept, limit=10)
            end_leases()
    assert games_audit(accept, limit=10) == 1
    assert Game.objects.get().state == GameState.COUNTED


def test_a_lost_file_is_a_failed_audit(play: Callable[..., Game]) -> None:
    game = play()
    default_storage.delete(game.sgf_file)
    for _ in range(MAX_AUDITS + 1):
        games_audit(accept, limit=10)
        end_leases()
    game.refresh_from_db()
    assert game.reason_code == auditing.AUDIT_FAILED


# ------------------------------------------------------------------------------------------------------- the real one


def test_the_real_audit_reads_what_was_uploaded(play: Callable[..., Game]) -> None:
    """A made-up record with empty rows is refused, for reasons of the audit."""
    from server.games.tasks import audit_pending

    game = play()
    assert audit_pending() == 1
    game.refresh_from_db()
    assert game.state == GameState.REFUSED
    assert game.reason_code != auditing.AUDIT_FAILED, game.reason
    assert game.reason


@pytest.mark.parametrize(
    ("networks", "changes_after", "expected"),
    [(2, [2, 2, 2, 1, 0, 0], [1, 2]), (1, [1, 1], [0]), (1, [0, 0, 0], [3]), (0, [0, 0], [])],
)
def test_rows_belong_to_the_network_that_made_them(
    networks: int, changes_after: list[int], expected: list[int]
) -> None:
    rows = make_rows(len(changes_after))
    rows.global_targets[:, GlobalTarget.NET_CHANGES_AFTER] = changes_after
    assert auditing._later_rows(Game(later_networks=list(range(networks))), rows) == expected
