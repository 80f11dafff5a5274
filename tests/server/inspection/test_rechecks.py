"""Games that are evaluated again: who is drawn, what follows, and that one game's trouble is its own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from common.rows import GlobalTarget, Rows
from server.accounts.models import Contributor
from server.games.auditing import games_audit
from server.games.models import Decided, Game, GameState, Recheck
from server.games.rechecks import MAX_TRIES, Rechecked
from server.inspection import evaluation
from server.inspection.agreement import NetView
from server.inspection.evaluation import Networks, recheck_game, rechecks_run
from server.inspection.verdicts import is_of_another_network
from server.networks.models import Network
from server.runs.models import Run, RunTotals
from server.trust.models import Alarm, Standing, Tally, Trust
from tests.server.factories import accept, make_network

pytestmark = pytest.mark.django_db

Play = Callable[..., Game]
GOOD = Rechecked(8, 0, "8 rows agree", {"misfits": 0.0, "shift": 0.25})
BAD = Rechecked(8, 7, "7 of 8 rows are not what the network says", {"misfits": 0.875})


@pytest.fixture(autouse=True)
def _all_games(run: Run) -> None:
    Run.objects.update(recheck_share=1.0)


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[int, Any]], None]:
    """Let the evaluation of games, by key, find this, or raise it; others are good."""

    def set_answers(answers: dict[int, Any]) -> None:
        def answer(game: Game, networks: Networks, random: object) -> Rechecked:
            found = answers.get(game.pk, GOOD)
            if isinstance(found, Exception):
                raise found
            assert isinstance(found, Rechecked)
            return found

        monkeypatch.setattr(evaluation, "recheck_game", answer)

    return set_answers


def run_all() -> int:
    Recheck.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    return rechecks_run(Networks(), 100)


def audited(play: Play, count: int) -> list[Game]:
    games = [play() for _ in range(count)]
    games_audit(accept, limit=100)
    return games


def test_what_was_found_is_kept_and_summed(play: Play, says: Callable[..., None]) -> None:
    (game,) = audited(play, 1)
    says({})
    assert run_all() == 1
    assert run_all() == 0
    found = Recheck.objects.get()
    assert (found.rows, found.misfits, found.text) == (8, 0, "8 rows agree")
    game.refresh_from_db()
    assert (game.state, game.figures) == (GameState.COUNTED, GOOD.figures)
    assert Tally.objects.get(contributor=None).sums["shift"] == [1, 0.25, 0.0625]


def test_the_drawn_share_is_the_runs(play: Play) -> None:
    Run.objects.update(recheck_share=0.0)
    audited(play, 3)
    assert not Recheck.objects.exists()


def test_a_game_of_another_network_is_refused_alone(play: Play, says: Callable[..., None]) -> None:
    bad, good, broken = audited(play, 3)
    says({bad.pk: BAD, broken.pk: ZeroDivisionError("no")})
    run_all()
    states = dict(Game.objects.values_list("pk", "state"))
    assert states == {bad.pk: GameState.REFUSED, good.pk: GameState.COUNTED, broken.pk: GameState.COUNTED}
    bad.refresh_from_db()
    assert (bad.reason_code, bad.reason) == (Decided.NOT_ITS_NETWORK, BAD.text)
    assert RunTotals.objects.get().moderations == 1
    assert not Alarm.objects.exists()
    for _ in range(MAX_TRIES):
        run_all()
    given_up = Recheck.objects.get(game=broken)
    assert (given_up.rows, given_up.text) == (0, "its rows could not be evaluated again: no")
    assert run_all() == 0


def test_three_such_games_quarantine_a_login(play: Play, says: Callable[..., None], run: Run) -> None:
    Run.objects.update(quarantines=True)
    games = audited(play, 5)
    says({game.pk: BAD for game in games[:3]})
    run_all()
    standing = Standing.objects.get()
    assert standing.trust == Trust.QUARANTINED
    assert "3 of " in standing.reason
    states = [Game.objects.get(pk=game.pk).state for game in games]
    assert states == [GameState.REFUSED] * 3 + [GameState.HELD] * 2


def test_held_games_are_refused_too(play: Play, says: Callable[..., None], anna: Contributor) -> None:
    Run.objects.update(watch_games=9)
    (game,) = audited(play, 1)
    says({game.pk: BAD})
    run_all()
    game.refresh_from_db()
    assert game.state == GameState.REFUSED


class Sayings(Networks):
    """Networks that say the same win - loss of every position."""

    def __init__(self, said: dict[int, float]) -> None:
        super().__init__()
        self._said = said

    def evaluator(self, network: Network, length: int) -> Any:
        return self._said[network.pk]


def test_rows_are_held_against_the_network_that_made_them(
    play: Play, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, newer = play(), make_network(run, tmp_path)
    game.net_changes = [[3, newer.name]]
    rows = Rows.zeros(6, 7)
    rows.global_targets[:, GlobalTarget.NET_CHANGES_AFTER] = [1, 1, 1, 0, 0, 0]
    rows.global_targets[:, GlobalTarget.NET_WIN_LOSS] = [0.5, 0.5, 0.5, -0.5, -0.5, -0.5]

    def view(evaluator: float, rows: Rows, legal: Any, optimism: float) -> NetView:
        return NetView(np.full((rows.count, 8), evaluator), np.zeros((rows.count, 8)), np.zeros((rows.count, 8, 50)))

    monkeypatch.setattr(evaluation, "load", lambda name: b"")
    monkeypatch.setattr(evaluation, "read_npz", lambda data, length: rows)
    monkeypatch.setattr(evaluation, "legal_moves", lambda sgf, rows: np.zeros((rows.count, 50), np.int8))
    monkeypatch.setattr(evaluation, "ask", view)
    networks, random = Sayings({game.black_network_id: 0.5, newer.pk: -0.5}), np.random.default_rng(1)
    found = recheck_game(game, networks, random)
    assert (found.rows, found.misfits) == (6, 0)
    assert found.text == f"6 rows agree with {game.black_network.name}, {newer.name}"
    rows.global_targets[4, GlobalTarget.NET_CHANGES_AFTER] = 1
    assert recheck_game(game, networks, random).misfits == 1


@pytest.mark.parametrize(
    ("rows", "misfits", "expected"),
    [(8, 0, False), (8, 3, False), (8, 4, True), (2, 1, False), (2, 2, True), (1, 1, False)],
)
def test_single_misfits_prove_nothing(rows: int, misfits: int, expected: bool) -> None:
    assert is_of_another_network(rows, misfits) is expected
