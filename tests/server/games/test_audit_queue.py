"""The audit's queue, the counts that follow from it, and moderation in both directions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from common.audit_report import OutOfTime
from server.accounts.models import Contributor
from server.games import services
from server.games.counting import counts_of
from server.games.models import Game, GameState
from server.games.selectors import Result, match_results, rows_between, waiting_games
from server.games.services import (
    MAX_AUDITS,
    Accepted,
    Refusal,
    Verdict,
    contributor_refuse,
    games_audit,
    games_refuse,
    games_requeue,
    games_restore,
)
from server.gates.models import Gate
from server.jobs.models import Job
from server.networks.models import Network
from server.runs.models import Run, RunTotals
from tests.server.factories import SGF, accept, ask, game_form, make_network, upload, upload_training

pytestmark = pytest.mark.django_db

FAULT = Refusal("planes", "row 3: the planes do not follow from the game")


def refuse(game: Game, sgf: bytes, rows: bytes | None) -> Refusal:
    """A judge that always finds something."""
    return FAULT


@pytest.fixture
def play(client: Client, anna: Contributor, run: Run) -> Callable[..., Game]:
    """Ask for a job and upload one game of it; a match if the server says so."""

    def play_one(winner: str = "W", **fields: Any) -> Game:
        job = Job.objects.get(pk=ask(client, anna, **fields).json()["job_id"])
        form = game_form(job, winner=winner, score="0" if winner in "0-" else "7.5")
        answer = (upload_training if job.kind == "selfplay" else upload)(client, anna, form)
        assert answer.status_code == 201, answer.content
        return Game.objects.get(uid=form["kg_game_uid"])

    return play_one


def counts(anna: Contributor) -> dict[str, int]:
    """Everything that counts games, in one dictionary."""
    found: dict[str, int] = {}
    names = ("training_games", "training_rows", "match_games", "refused_games")
    for label, row in (
        ("totals", RunTotals.objects.get()),
        ("anna", Contributor.objects.get(pk=anna.pk)),
        ("random", Network.objects.get(is_random=True)),
    ):
        found |= {f"{label}.{name}": getattr(row, name) for name in names if hasattr(row, name)}
    return {name: count for name, count in found.items() if count}


def test_counted_games_are_counted_everywhere(play: Callable[..., Game], anna: Contributor) -> None:
    play()
    play()
    assert counts(anna) == {}
    assert games_audit(accept, limit=10) == 2
    assert waiting_games() == 0
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


def test_moderation_can_be_undone(play: Callable[..., Game], anna: Contributor, tmp_path: Path, run: Run) -> None:
    play()
    make_network(run, tmp_path)
    play(winner="B")
    games_audit(accept, limit=10)
    before = counts(anna)
    assert (before["totals.match_games"], before["totals.training_games"]) == (1, 1)
    gate = Gate.objects.get()
    assert (gate.pending, gate.played, gate.half_points) == (0, 1, 2), "the candidate was black and won"
    keys = [game.pk for game in Game.objects.all()]
    assert games_refuse(keys, FAULT) == 2
    assert counts(anna) == {"totals.refused_games": 2, "anna.refused_games": 2}
    gate.refresh_from_db()
    assert (gate.played, gate.half_points) == (0, 0)
    assert games_refuse(keys, FAULT) == 0
    assert games_restore(keys) == 2
    assert counts(anna) == before
    gate.refresh_from_db()
    assert (gate.played, gate.half_points) == (1, 2)


def test_numbers_are_in_order_and_never_given_twice(play: Callable[..., Game], run: Run) -> None:
    games = [play() for _ in range(3)]
    games_audit(accept, limit=2)
    games_audit(accept, limit=2)
    assert [(file.game, file.number, file.last_row) for file in rows_between(run.pk, 0, 100)] == [
        (games[0].pk, 1, 3),
        (games[1].pk, 2, 6),
        (games[2].pk, 3, 9),
    ]
    games_refuse([games[2].pk], FAULT)
    play()
    games_audit(accept, limit=2)
    assert [file.number for file in rows_between(run.pk, 1, 100)] == [2, 4]
    assert [file.number for file in rows_between(run.pk, 3, 4)] == [2]
    assert rows_between(run.pk, 0, 1)[0].from_random


def test_results_of_matches(play: Callable[..., Game], run: Run, tmp_path: Path) -> None:
    candidate = make_network(run, tmp_path)
    for winner in ("B", "W", "B", "0", "-"):
        play(winner=winner)
    games_audit(accept, limit=10)
    random = Network.objects.get(is_random=True)
    assert sorted(match_results(run.pk), key=str) == sorted(
        [
            Result(candidate.pk, random.pk, "B", 2),
            Result(random.pk, candidate.pk, "W", 1),
            Result(random.pk, candidate.pk, "0", 1),
            Result(candidate.pk, random.pk, "-", 1),
        ],
        key=str,
    )


# ------------------------------------------------------------------------------------------------------------ failures


def end_leases() -> None:
    Game.objects.update(audit_until=timezone.now() - timedelta(seconds=1))


def test_a_claimed_game_is_left_to_its_worker(play: Callable[..., Game]) -> None:
    play()
    assert len(services._claim(10)) == 1
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
    assert (bad.state, bad.reason_code) == (GameState.REFUSED, services.AUDIT_FAILED)
    call_command("requeue_games", run.name, services.AUDIT_FAILED)
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
    for sgf in (SGF, SGF.replace(b"PB[x]", f"PB[{name}]".encode()), SGF):
        assert upload_training(client, anna, game_form(job), sgf=sgf).status_code == 201
    assert audit_pending() == 3
    reasons = [game.reason_code for game in Game.objects.all()]
    assert waiting_games() == 0
    assert services.AUDIT_FAILED not in reasons


def test_a_verdict_that_cannot_be_kept_leaves_the_others_theirs(
    play: Callable[..., Game], monkeypatch: pytest.MonkeyPatch
) -> None:
    games = [play() for _ in range(4)]
    bad = games[1].pk

    def break_one(game: Game, state: GameState) -> Any:
        if game.pk == bad and state == GameState.COUNTED:
            raise ZeroDivisionError
        return counts_of(game, state)

    monkeypatch.setattr("server.games.services.counts_of", break_one)
    for _ in range(MAX_AUDITS + 1):
        games_audit(accept, limit=10)
        end_leases()
    states = dict(Game.objects.values_list("pk", "state"))
    assert states == {game.pk: GameState.REFUSED if game.pk == bad else GameState.COUNTED for game in games}
    assert Game.objects.get(pk=bad).reason_code == services.AUDIT_FAILED


def test_a_game_that_takes_too_long_is_refused_at_its_second_audit(
    play: Callable[..., Game], monkeypatch: pytest.MonkeyPatch
) -> None:
    from server.games import auditing

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


def test_an_excluded_contributor_leaves_nothing_behind(play: Callable[..., Game], anna: Contributor) -> None:
    games = [play() for _ in range(3)]
    games_audit(accept, limit=2)
    assert contributor_refuse(anna, FAULT) == 2
    assert counts(anna) == {"totals.refused_games": 3, "anna.refused_games": 3}
    assert {Game.objects.get(pk=game.pk).state for game in games} == {GameState.REFUSED}
    anna.refresh_from_db()
    assert not anna.may_contribute
    assert RunTotals.objects.get().moderations == 2


def test_a_storage_that_is_away_costs_no_attempt(play: Callable[..., Game], monkeypatch: pytest.MonkeyPatch) -> None:
    play()

    def away(name: str) -> bytes:
        raise ConnectionResetError

    with monkeypatch.context() as patch:
        patch.setattr(services, "load", away)
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
    assert game.reason_code == services.AUDIT_FAILED


def test_requeued_games_of_a_gate_wait_again(play: Callable[..., Game], run: Run, tmp_path: Path) -> None:
    make_network(run, tmp_path)
    game = play()
    games_audit(refuse, limit=10)
    gate = Gate.objects.get()
    assert (gate.pending, gate.played) == (0, 0)
    assert games_requeue([game.pk]) == 1
    gate.refresh_from_db()
    assert (gate.pending, gate.played) == (1, 0)


# ------------------------------------------------------------------------------------------------------- the real one


def test_the_real_audit_reads_what_was_uploaded(play: Callable[..., Game]) -> None:
    """A made-up record with empty rows is refused, for reasons of the audit."""
    from server.games.tasks import audit_pending

    game = play()
    assert audit_pending() == 1
    game.refresh_from_db()
    assert game.state == GameState.REFUSED
    assert game.reason_code != services.AUDIT_FAILED, game.reason
    assert game.reason


def test_hints_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    monkeypatch.setattr("server.celery.app.send_task", sent.append)
    for _ in range(20):
        services.audit_hint()
    assert sent == [services.AUDIT_TASK]
