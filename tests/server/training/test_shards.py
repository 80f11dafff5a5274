"""Shards: every counted row is in exactly one, and what a maintainer refuses leaves them, and comes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.test import Client

from common.npz import to_bytes
from common.rows import ARRAYS, GlobalTarget, Rows, read_npz
from nets.data.files import DataFolder
from server.accounts.models import Contributor
from server.games.auditing import games_audit
from server.games.exclusions import exclusion_make, exclusions_go_on
from server.games.models import Exclusion, ExclusionKind, Game
from server.games.moderation import games_refuse, games_restore
from server.games.moving import Refusal
from server.jobs.models import Job
from server.runs.models import Run
from server.training.shards import DONE_FILE, ShardFolder
from tests.server.factories import LENGTH, accept, ask, game_form, make_rows, upload_training

pytestmark = pytest.mark.django_db

SHARD_ROWS = 10
ROWS = (4, 3, 5, 9, 4, 12, 1, 6)
"""Rows of the games: first rows 0, 4, 7, 12, 21, 25, 37, 38; 44 in all."""
SHARDS = ([0, 1, 2], [3], [4, 5], [6, 7])
"""Games by the ten rows in which their first one lies; the last shard is full once row 40 is there."""
FAULT = Refusal("moderated", "taken out")


@pytest.fixture
def games(client: Client, anna: Contributor, run: Run) -> list[Game]:
    """Counted games whose rows carry the game's number."""
    ask(client, anna)
    job = Job.objects.get(pk=ask(client, anna, task_rep_factor="16").json()["job_id"])
    for number, count in enumerate(ROWS):
        rows = make_rows(count)
        rows.global_targets[:, GlobalTarget.TURN] = number
        file = to_bytes({spec.member: getattr(rows, spec.field) for spec in ARRAYS})
        form = game_form(job, num_training_rows=str(count))
        assert upload_training(client, anna, form, rows=file).status_code == 201
    games_audit(accept, limit=20)
    return list(Game.objects.order_by("number"))


def folder_of(run: Run, path: Path) -> ShardFolder:
    folder = ShardFolder(path, run.pk, LENGTH, SHARD_ROWS)
    folder.prepare()
    return folder


def held(folder: ShardFolder) -> list[list[int]]:
    """The games of each file of rows, once for each of their rows."""
    files = sorted(folder.folder.glob("random/tdata/*.npz"))
    return [_numbers(read_npz(path)) for path in files]


def _numbers(rows: Rows) -> list[int]:
    return [int(number) for number in rows.global_targets[:, GlobalTarget.TURN]]


def expected(*left_out: int) -> list[list[int]]:
    shards = [[game for game in shard if game not in left_out] for shard in SHARDS]
    return [[game for game in shard for _ in range(ROWS[game])] for shard in shards if shard]


def test_every_counted_row_is_in_one_shard(run: Run, games: list[Game], tmp_path: Path) -> None:
    folder = folder_of(run, tmp_path / "here")
    assert folder.update() == sum(ROWS)
    assert held(folder) == expected()
    assert folder.update() == 0
    assert folder_of(run, tmp_path / "here").update() == 0, "what is complete is kept"


@pytest.mark.parametrize("left_out", [[0], [1, 2], [3], [0, 1, 2, 3], [5], list(range(8))])
def test_refused_games_leave_the_shards_and_come_back(
    run: Run, games: list[Game], tmp_path: Path, left_out: list[int]
) -> None:
    folder = folder_of(run, tmp_path / "here")
    folder.update()
    keys = [games[number].pk for number in left_out]
    rows = DataFolder([folder.folder])
    assert sum(file.rows for file in rows.scan()) == sum(ROWS)
    games_refuse(keys, FAULT)
    folder.update()
    assert held(folder) == expected(*left_out)
    assert sum(file.rows for file in rows.scan()) == sum(ROWS) - sum(ROWS[number] for number in left_out)
    elsewhere = folder_of(run, tmp_path / "there")
    elsewhere.update()
    assert held(elsewhere) == expected(*left_out), "each host makes the same shards"
    games_restore(keys)
    folder.update()
    assert held(folder) == expected()
    assert sum(file.rows for file in rows.scan()) == sum(ROWS)


def test_only_the_shards_of_moderated_games_are_written_again(run: Run, games: list[Game], tmp_path: Path) -> None:
    folder = folder_of(run, tmp_path / "here")
    folder.update()
    before = {path.name: path.stat().st_ino for path in folder.folder.glob("random/tdata/*.npz")}
    games_refuse([games[4].pk], FAULT)
    folder.update()
    after = {path.name: path.stat().st_ino for path in folder.folder.glob("random/tdata/*.npz")}
    assert [name for name in before if before[name] != after[name]] == ["000000000020-000000000030.npz"]


def test_an_excluded_contributor_leaves_no_rows(run: Run, games: list[Game], anna: Contributor, tmp_path: Path) -> None:
    folder = folder_of(run, tmp_path / "here")
    folder.update()
    exclusion_make(Exclusion(kind=ExclusionKind.CONTRIBUTOR, contributor=anna, reason="taken out"))
    exclusions_go_on()
    folder.update()
    assert held(folder) == []


def test_an_update_that_was_cut_short_is_taken_up(run: Run, games: list[Game], tmp_path: Path) -> None:
    folder = folder_of(run, tmp_path / "here")
    while folder.update(lambda: False):
        pass
    assert held(folder) == expected()
    games_refuse([games[0].pk, games[5].pk], FAULT)
    for _ in range(len(SHARDS)):
        folder.update(lambda: False)
    folder.update()
    assert held(folder) == expected(0, 5)


@pytest.mark.parametrize("killed", [False, True])
def test_trainers_that_know_other_sizes_of_shards_double_no_row(
    run: Run, games: list[Game], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    """As for a moment after the setting was changed, where one of two trainers of a host has not yet heard of it."""
    old, note = ShardFolder(tmp_path, run.pk, LENGTH, 2 * SHARD_ROWS), ShardFolder._note
    old.prepare()
    old.update()
    new = folder_of(run, tmp_path)
    new.update()
    assert held(new) == expected()
    if killed:
        notes = ["before the files of the new size are gone"]
        monkeypatch.setattr(ShardFolder, "_note", lambda self, done: note(self, done) if notes.pop() else None)
        with pytest.raises(IndexError):  # when it has written a shard, and would note that
            old.update()
        monkeypatch.undo()
    else:
        assert old.update() == sum(ROWS)
        assert sorted(game for shard in held(old) for game in shard) == [game for shard in expected() for game in shard]
    new.update()
    assert held(new) == expected()


@pytest.mark.parametrize("told", ["{", "[]", '{"last_number": 8}', '{"shard_rows": 99, "rows": 99, "moderations": 0}'])
def test_shards_of_another_layout_are_made_again(run: Run, games: list[Game], tmp_path: Path, told: str) -> None:
    folder = folder_of(run, tmp_path / "here")
    folder.update()
    (tmp_path / "here" / DONE_FILE).write_text(told)
    (tmp_path / "here" / "played" / "000000000001-000000000093.npz").write_bytes(b"of an older version")
    folder = folder_of(run, tmp_path / "here")
    assert held(folder) == []
    assert folder.update() == sum(ROWS)
    assert held(folder) == expected()
    assert json.loads((tmp_path / "here" / DONE_FILE).read_text())["rows"] == 40
