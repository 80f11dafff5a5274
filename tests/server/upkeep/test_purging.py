"""A purge deletes what nobody will need again, with its files and counts; a dry run deletes nothing."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from server.accounts.models import Contributor
from server.games import blocks
from server.games.auditing import games_audit
from server.games.models import Game, GameKind, GameState
from server.games.recounting import counters_drift
from server.jobs.models import Job
from server.runs.models import Run
from tests.server.factories import accept, ask, game_form, refuse, upload_training

pytestmark = pytest.mark.django_db

OLD = timedelta(days=200)


@pytest.fixture
def games(client: Client, anna: Contributor, run: Run, monkeypatch: pytest.MonkeyPatch) -> list[Game]:
    """Three refused games, the last of them new, and a counted one; their block is closed."""
    monkeypatch.setattr(blocks, "BLOCK", 2)
    job = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    for judge in (refuse, refuse, refuse, accept):
        assert upload_training(client, anna, game_form(job)).status_code == 201
        games_audit(judge, limit=5)
    found = list(Game.objects.order_by("pk"))
    Game.objects.exclude(pk=found[2].pk).update(judged_at=timezone.now() - OLD, received_at=timezone.now() - OLD)
    blocks.blocks_close()
    return found


def purged(*options: str) -> str:
    told = StringIO()
    call_command("purge", *options, stdout=told)
    return told.getvalue().strip()


def test_old_refused_games_go_with_their_files(games: list[Game]) -> None:
    assert purged("--dry-run") == "2 refused games with 4 files, 0 unused jobs would be deleted"
    assert Game.objects.count() == 4
    assert purged() == "2 refused games with 4 files, 0 unused jobs deleted"
    assert list(Game.objects.order_by("pk")) == games[2:]
    for game, there in zip(games, (False, False, True, True), strict=True):
        assert default_storage.exists(game.sgf_file) is there
        assert default_storage.exists(game.rows_file) is there
    assert blocks.games_count(GameKind.TRAINING) == 2
    drift = counters_drift()
    assert not any((drift.runs, drift.contributors, drift.networks))
    assert purged() == "0 refused games with 0 files, 0 unused jobs deleted"
    assert Game.objects.get(pk=games[3].pk).state == GameState.COUNTED


def test_jobs_for_which_no_game_came_go(client: Client, anna: Contributor, games: list[Game]) -> None:
    used = Job.objects.get()
    unused = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    young = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    Job.objects.exclude(pk=young.pk).update(expires_at=timezone.now() - OLD)
    assert purged().endswith("1 unused jobs deleted")
    assert set(Job.objects.all()) == {used, young}
    assert unused not in Job.objects.all()


def test_what_may_still_be_sent_is_left() -> None:
    with pytest.raises(CommandError, match="at least 30"):
        purged("--days", "7")
