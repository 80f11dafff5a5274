"""Folders, plans and batches: order, window, shuffling, resumption at any batch."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis.strategies import integers, lists

from common.npz import RowsError
from common.rows import ARRAYS, GlobalTarget, InputPlane, Rows, read_npz, write_npz
from nets.data.files import DataFile, DataFolder, UnusableFile, any_rows, newest_rows, validation_rows
from nets.data.passes import (
    Augmentation,
    Batches,
    Plan,
    Position,
    in_window,
    load_chunk,
    make_plan,
    read_chunks,
    usable_batches,
)
from nets.data.targets import RowBatch, apply_symmetry
from nets.data.window import WindowConfig
from tests.nets.made_rows import in_larger_tensors, made_rows
from tests.oracles import oracle_path

LENGTH = 5
PLAIN = Augmentation(symmetries=False, history_dropout=False)


def numbered(first: int, count: int) -> Rows:
    """Rows that carry their own number in the column of the turn."""
    rows = made_rows(count, LENGTH)
    rows.global_targets[:, GlobalTarget.TURN] = np.arange(first, first + count)
    return rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Ten files of 10 to 19 rows, numbered through, one second apart."""
    first = 0
    for index in range(10):
        path = tmp_path / f"{index:02d}.npz"
        write_npz(numbered(first, 10 + index), path)
        os.utime(path, (1000 + index, 1000 + index))
        first += 10 + index
    return tmp_path


def numbers(batch: RowBatch) -> list[int]:
    return [int(turn) for turn in batch.global_targets[:, GlobalTarget.TURN]]


def plan_of(folder: Path, **changes: int) -> Plan:
    options: dict[str, Any] = {"number": 1, "seed": 7, "length": LENGTH, "max_rows": 10**6, "chunk_bytes": 40 * 1200}
    return make_plan(DataFolder([folder]).scan(), **options | changes)


def test_files_are_found_counted_and_ordered_by_age(folder: Path) -> None:
    data = DataFolder([folder])
    assert [file.rows for file in data.scan()] == list(range(10, 20))
    os.utime(folder / "00.npz", (5000, 5000))
    write_npz(numbered(0, 3), folder / "new.npz")
    os.utime(folder / "new.npz", (6000, 6000))
    (folder / "half.npz").write_bytes((folder / "03.npz").read_bytes()[:300])
    (folder / "writing.npz.tmp").write_bytes(b"")
    assert [file.rows for file in data.scan()][-2:] == [10, 3]
    assert len(data.scan()) == 11
    assert list(data.refused) == [str(folder / "half.npz")]
    write_npz(numbered(0, 7), folder / "half.npz")
    assert len(data.scan()) == 12
    assert not data.refused
    with pytest.raises(FileNotFoundError, match="does not exist"):
        DataFolder([folder / "nowhere"]).scan()


def test_folders_of_a_real_katago_are_read() -> None:
    files = DataFolder([oracle_path("vectors/selfplay")]).scan()
    assert sorted(file.rows for file in files) == [73, 226, 600]
    assert load_chunk(files, 9).count == 899


def test_the_window_takes_the_newest_and_little_random_play() -> None:
    files = [DataFile(f"/data/random/tdata/{i}.npz", 100, i) for i in range(10)]
    files += [DataFile(f"/data/net/tdata/{i}.npz", 100, i) for i in range(10, 15)]
    config = WindowConfig(min_rows=300, taper_window_exponent=1.0, expand_window_per_row=0.5)
    assert [file.modified for file in in_window(files, config)] == [9, 10, 11, 12, 13, 14]  # N = 300 + 500, W = 550
    assert [file.is_random_play for file in files] == [True] * 10 + [False] * 5


@pytest.mark.parametrize(
    ("path", "randomly"),
    [
        ("/random/tdata/a.npz", True),
        ("/data/selfplay/random/tdata/a.npz", True),
        ("/home/random/games/net/tdata/a.npz", False),
        ("/data/random/a.npz", False),
        ("/data/tdata/random/a.npz", False),
    ],
)
def test_random_play_is_known_by_its_two_folders(path: str, randomly: bool) -> None:
    assert DataFile(path, 1, 0.0).is_random_play is randomly


def test_of_shuffled_data_the_newest_complete_training_rows_count(tmp_path: Path) -> None:
    """The layout of KataGo's shuffler (training-data.md 6)."""
    for stamp, done in (("20250101-000000", True), ("20250301-120000", True), ("20250302-000000", False)):
        for part in ("train", "val"):
            (tmp_path / stamp / part).mkdir(parents=True)
            write_npz(numbered(0, 5), tmp_path / stamp / part / "data0_0.npz")
        if done:
            (tmp_path / stamp / "train.json").write_text('{"range": [0, 500]}')
    newest = tmp_path / "20250301-120000"
    for asked in ([tmp_path], [newest], [newest / "train"], [newest / "train", newest / "val"], [newest, tmp_path]):
        data = DataFolder(asked)
        assert [file.path for file in data.scan()] == [str(newest / "train" / "data0_0.npz")]
        assert data.run_rows == 500  # what the shuffler chose from
    only = DataFolder([newest / "val"])
    assert (only.scan(), len(only.validation)) == ([], 1)
    assert newest_rows(only, 10).count == 5  # to measure on, if it is asked for
    with pytest.raises(ValueError, match="holds a shuffler's outputs"):
        DataFolder([tmp_path.parent]).scan()
    growing = DataFolder([tmp_path / "20250302-000000"])
    assert not growing.scan()[0].shuffled
    (tmp_path / "20250302-000000" / "train.json").write_text('{"range": [0, 700]}')
    assert growing.scan()[0].shuffled
    assert growing.run_rows == 700
    (newest / "train.json").write_text("{")
    data = DataFolder([newest])
    data.scan()
    assert data.run_rows == 5
    window = WindowConfig(min_rows=1, taper_window_scale=1)
    many = [DataFile(f"{index}.npz", 1000, index, shuffled=True) for index in range(9)]
    assert in_window(many, window) == many  # which the shuffler has applied
    (tmp_path / "net" / "val").mkdir(parents=True)
    write_npz(numbered(0, 5), tmp_path / "net" / "val" / "a.npz")
    assert len(DataFolder([tmp_path / "net"]).scan()) == 1  # no shuffler's
    for share in (0.0, 0.9):  # what is sorted stays so
        data = DataFolder([newest], validation_share=share)
        assert [file.path for file in data.scan()] == [str(newest / "train" / "data0_0.npz")]
        assert [file.path for file in data.validation] == [str(newest / "val" / "data0_0.npz")]


def test_names_decide_which_files_are_for_validation(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the formula of training-data.md 6; a folder's name is no part of it."""
    wanted = set()
    for index in range(40):
        path = tmp_path / ("train" if index % 2 else "") / f"{index:016X}.npz"
        path.parent.mkdir(exist_ok=True)
        write_npz(numbered(index, 3), path)
        os.utime(path, (index, index))
        if int(hashlib.md5(path.name.encode()).hexdigest()[:13], 16) / 2**52 >= 0.75:
            wanted.add(str(path))
    data = DataFolder([tmp_path], validation_share=0.25)
    trained_on = data.scan()
    assert {file.path for file in data.validation} == wanted
    assert len(trained_on) == 40 - len(wanted)
    assert not wanted & {file.path for file in trained_on}
    rows = validation_rows(data, 5, LENGTH)
    assert rows is not None
    newest = [int(file.modified) for file in data.validation[-2:]]
    numbers = rows.global_targets[:, GlobalTarget.TURN]
    assert rows.count == 5
    assert numbers.min() == newest[0]
    assert set(numbers) <= {start + row for start in newest for row in range(3)}
    assert validation_rows(DataFolder([tmp_path]), 5, LENGTH) is None
    assert not caplog.text
    assert validation_rows(DataFolder([tmp_path], validation_share=1e-9), 5, LENGTH) is None
    assert "nothing to validate on: of 40 files, none is in a shuffler's val" in caplog.text
    monkeypatch.chdir(tmp_path)
    twice = DataFolder([".", tmp_path / "train" / ".."])
    assert len(twice.scan()) == 40
    assert twice.run_rows == 120


def test_a_pass_uses_every_row_once(folder: Path) -> None:
    plan = plan_of(folder)
    assert plan.rows == 145
    assert len(plan.chunks) > 1
    batches = Batches(plan, batch=4, seed=7, augmentation=PLAIN)
    seen = [number for batch in batches for number in numbers(batch)]
    batches.close()
    assert len(seen) == len(set(seen)) == 4 * usable_batches(plan, 4) > 145 - 4 * len(plan.chunks)
    assert seen != sorted(seen)
    other = plan_of(folder, number=2)
    assert [file.path for chunk in other.chunks for file in chunk] != [
        file.path for chunk in plan.chunks for file in chunk
    ]


@given(integers(1, 30), integers(0, 2**32), lists(integers(5, 300), min_size=2, max_size=8))
def test_a_third_of_the_files_is_used_before_one_comes_again(count: int, seed: int, wanted: list[int]) -> None:
    files = [DataFile(f"{index}.npz", 10, index) for index in range(count)]
    used: list[str] = []
    for number, rows in enumerate(wanted):
        plan = make_plan(
            files, number=number, seed=seed, length=LENGTH, max_rows=rows, chunk_bytes=10**6, recent=used[-count:]
        )
        paths = [file.path for chunk in plan.chunks for file in chunk]
        assert abs(len(paths) - min(rows / 10, count)) <= 1
        assert len(set(paths)) == len(paths)
        used += paths
    for place, path in enumerate(used):
        assert path not in used[max(0, place - count // 3) : place]


def test_a_short_pass_takes_the_right_number_of_rows_on_average() -> None:
    files = [DataFile(f"{i}.npz", 100, i) for i in range(20)]
    taken = [make_plan(files, number=n, seed=0, length=9, max_rows=250, chunk_bytes=10**9).rows for n in range(400)]
    assert set(taken) == {200, 300}
    assert np.mean(taken) == pytest.approx(250, abs=10)


@pytest.mark.parametrize("stop", [0, 1, 7, 20])
def test_batches_go_on_from_any_position(folder: Path, stop: int) -> None:
    plan = plan_of(folder)
    whole = Batches(plan, batch=4, seed=7)
    expected = [batch.planes for batch in whole]
    whole.close()
    first = Batches(plan, batch=4, seed=7)
    for _ in range(stop):
        next(first)
    position = first.position
    first.close()
    rest = Batches(Plan.from_json(plan.to_json()), batch=4, seed=7, position=Position(position.chunk, position.batch))
    got = [batch.planes for batch in rest]
    rest.close()
    assert len(got) == len(expected) - stop
    assert all(torch.equal(one, other) for one, other in zip(got, expected[stop:], strict=True))


def test_batches_have_the_edge_that_the_boards_of_their_chunk_need(tmp_path: Path) -> None:
    """The same for all processes, though the boards of one's share may all be smaller."""
    small, large = in_larger_tensors(made_rows(30, 5), 9), made_rows(1, 9)
    for name, rows in (("small", small), ("mixed", Rows.concatenate([small, large]))):
        (tmp_path / name).mkdir()
        write_npz(rows, tmp_path / name / "0.npz")
    batches = list(Batches(plan_of(tmp_path / "small", length=9), batch=10, seed=1))
    assert len(batches) == 3
    assert all(batch.planes.shape[-1] == 5 and batch.full for batch in batches)
    for rank in range(2):
        shares = list(Batches(plan_of(tmp_path / "mixed", length=9), batch=10, seed=1, rank=rank, world=2))
        assert all(batch.planes.shape[-1] == 9 for batch in shares)
        assert any((batch.planes[:, InputPlane.ON_BOARD].sum((1, 2)) == 25).all() for batch in shares)


def test_processes_share_a_joint_batch(folder: Path) -> None:
    plan = plan_of(folder)
    joint = Batches(plan, batch=6, seed=7)
    shares = [Batches(plan, batch=6, seed=7, rank=rank, world=2) for rank in range(2)]
    for whole, one, other in zip(joint, *shares, strict=True):
        for name in ("planes", "global_inputs", "policy_targets", "value_targets"):
            assert torch.equal(getattr(whole, name), torch.cat([getattr(one, name), getattr(other, name)]))
    for batches in (joint, *shares):
        batches.close()
    with pytest.raises(ValueError, match="divided"):
        Batches(plan, batch=5, seed=7, world=2)


def test_a_file_that_changed_or_broke_is_named(folder: Path) -> None:
    file = DataFolder([folder]).scan()[0]
    with pytest.raises(RowsError, match=r"00\.npz: the file has 10 rows; it had 11") as caught:
        load_chunk([replace(file, rows=11)], LENGTH)
    assert caught.value.reason == "changed"
    with pytest.raises(RowsError, match=r"00\.npz.*edge 5; edge 9"):
        load_chunk([file], 9)
    plan = plan_of(folder)
    (folder / "05.npz").write_bytes(b"")
    chunk = next(number for number, files in enumerate(plan.chunks) if any("05" in file.path for file in files))
    assert chunk > 0
    batches = Batches(plan, batch=4, seed=7)
    for _ in range(usable_batches(replace(plan, chunks=plan.chunks[:chunk]), 4)):
        next(batches)
    with pytest.raises(UnusableFile, match=r"05\.npz") as damaged:
        next(batches)
    assert Path(damaged.value.path) == folder / "05.npz"
    batches.close()
    (folder / "05.npz").unlink()
    with pytest.raises(UnusableFile, match=r"05\.npz: the file is gone"):
        load_chunk(plan.chunks[chunk], LENGTH)


def test_batches_are_varied_by_symmetries_and_dropped_history(tmp_path: Path) -> None:
    """One of eight symmetries for each batch, its planes and targets alike; 2 % of the rows lose their last move."""
    rows = numbered(0, 400)
    write_npz(rows, tmp_path / "a.npz")
    plain, seen, kept = rows.planes(), set[int](), list[bool]()
    for number in range(20):
        batches = Batches(plan_of(tmp_path, number=number), batch=40, seed=3)
        for batch in batches:
            index = numbers(batch)
            stones = batch.planes[:, 1].numpy()
            fitting = [s for s in range(8) if (apply_symmetry(plain[index, 1], s) == stones).all()]
            assert len(fitting) == 1
            seen.add(fitting[0])
            values = apply_symmetry(rows.value_targets[index], fitting[0])
            np.testing.assert_array_equal(batch.value_targets.numpy(), values)
            had = plain[index, 9].any(axis=(1, 2))
            has = np.asarray(batch.planes[:, 9].numpy().any(axis=(1, 2)))
            kept += has[had].tolist()
        batches.close()
    assert seen == set(range(8))
    assert len(kept) > 2000
    assert 0.97 < np.mean(kept) < 0.99


@pytest.mark.parametrize("number", range(40))
def test_a_pass_holds_a_batch_if_there_are_rows_for_one(folder: Path, number: int) -> None:
    """Whatever is drawn of small files, near the end of an epoch too."""
    files = DataFolder([folder]).scan()
    plan = make_plan(files, number=number, seed=0, length=LENGTH, max_rows=32, chunk_bytes=10**9, least_rows=32)
    assert usable_batches(plan, 32) >= 1
    plan = make_plan(files, number=number, seed=0, length=LENGTH, max_rows=146, chunk_bytes=10**9, least_rows=146)
    assert plan.rows == 145


def test_the_newest_rows_of_one_edge_without_what_cannot_be_read(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spoil(folder / "09.npz")
    write_npz(made_rows(7, 9), folder / "other.npz")
    os.utime(folder / "other.npz", (1007.5, 1007.5))
    rows = newest_rows(DataFolder([folder]), 30)
    assert [int(turn) for turn in rows.global_targets[:, GlobalTarget.TURN]] == [*range(108, 126), *range(91, 103)]
    assert "09.npz" in caplog.text
    assert "other.npz" in caplog.text
    assert newest_rows(DataFolder([folder]), 30, 9).count == 7
    assert any_rows(DataFolder([folder])).count == 10
    spoil(folder / "00.npz")
    assert any_rows(DataFolder([folder])).count == 11
    (folder / "empty").mkdir()
    with pytest.raises(LookupError, match="there are no rows"):
        newest_rows(DataFolder([folder / "empty"]), 30)


def test_what_is_no_file_of_rows_does_not_end_a_scan(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "folder.npz").mkdir()
    (folder / "broken.npz").symlink_to(folder / "nowhere")
    assert len(DataFolder([folder]).scan()) == 10
    assert f"left out: {folder / 'folder.npz'}: Is a directory" in caplog.text
    with pytest.raises(NotADirectoryError, match=r"00\.npz is a file; give the folder"):
        DataFolder([folder / "00.npz"]).scan()


def test_a_file_that_declares_absurdly_many_rows_is_left_out(folder: Path) -> None:
    header, members = io.BytesIO(), zipfile.ZipFile(folder / "00.npz")
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (10**13, 80)})
    with zipfile.ZipFile(folder / "absurd.npz", "w") as archive:
        for name in members.namelist():
            archive.writestr(name, header.getvalue() if "globalTargets" in name else members.read(name))
    data = DataFolder([folder])
    assert len(data.scan()) == 10
    assert "declares 10000000000000 rows" in data.refused[str(folder / "absurd.npz")]


def spoil(path: Path) -> None:
    """Change a byte of the content, not of the archive's directory."""
    content, time = bytearray(path.read_bytes()), path.stat().st_mtime
    content[len(content) // 8] ^= 0xFF
    path.write_bytes(content)
    os.utime(path, (time, time))


def test_a_file_is_left_out_until_it_is_written_anew(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    data, path = DataFolder([folder]), folder / "03.npz"
    spoil(path)
    files = data.scan()
    assert len(files) == 10
    with pytest.raises(UnusableFile) as caught:
        load_chunk(files, LENGTH)
    data.leave_out(caught.value)
    assert f"left out: {path}" in caplog.text
    for _ in range(2):
        assert str(path) not in [file.path for file in data.scan()]
        assert list(data.refused) == [str(path)]
    write_npz(numbered(0, 13), path)
    assert len(data.scan()) == 10
    assert data.refused == {}


def test_a_file_that_has_other_rows_now_or_is_gone_is_looked_at_again(folder: Path) -> None:
    data = DataFolder([folder])
    files = data.scan()
    write_npz(numbered(0, 5), folder / "00.npz")
    os.utime(folder / "00.npz", (1000, 1000))  # as if written within the clock's resolution
    (folder / "01.npz").unlink()
    for file in files[:2]:
        with pytest.raises(UnusableFile) as caught:
            load_chunk([file], LENGTH)
        data.leave_out(caught.value)
    assert [file.rows for file in data.scan()] == [5, *range(12, 20)]
    assert data.refused == {}


def test_chunks_are_whole_and_in_order_however_they_are_read(folder: Path) -> None:
    plan = plan_of(folder)
    assert len(plan.chunks) > 3
    found = list(read_chunks(plan.chunks, LENGTH))
    for files, rows in zip(plan.chunks, found, strict=True):
        expected = Rows.concatenate([read_npz(file.path) for file in files])
        for name in (spec.field for spec in ARRAYS):
            np.testing.assert_array_equal(getattr(rows, name), getattr(expected, name))
    assert list(read_chunks([], LENGTH)) == []
