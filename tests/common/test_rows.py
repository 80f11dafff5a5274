"""Row files: the recorded files of a real KataGo, our own round trip, and every refusal."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers, lists, tuples

from common import npz, rows
from common.rows import (
    ARRAYS,
    GLOBAL_TARGET_RANGES,
    NUM_GLOBAL_TARGETS,
    GlobalTarget,
    InputPlane,
    Limits,
    QTarget,
    Rows,
    RowsError,
    ValueTarget,
    read_npz,
    to_npz,
    write_npz,
)
from tests.oracles import oracle_path
from tests.packing import pack_planes

REAL = ("clean/068D2E26735BF995.npz", "clean/9743EDBE9FA406E4.npz", "full/DA6A99A477DB6BDE.npz")


def real_rows() -> Rows:
    """All 899 recorded rows of a real KataGo."""
    return Rows.concatenate([read_npz(oracle_path(f"vectors/selfplay/{name}")) for name in REAL])


def random_rows(count: int = 5, length: int = 7, seed: int = 1) -> Rows:
    """Rows that are admissible, and mean nothing."""
    rng = np.random.default_rng(seed)
    made = Rows.zeros(count, length)
    made.packed_planes[:] = pack_planes(rng.integers(0, 2, (count, rows.NUM_PLANES, length, length)))
    made.global_inputs[:] = rng.uniform(-1, 1, made.global_inputs.shape)
    made.policy_targets[:] = rng.integers(1, 30000, made.policy_targets.shape)
    made.global_targets[:] = rng.uniform(0, 1, made.global_targets.shape)
    made.score_distribution[:] = rng.integers(0, 100, made.score_distribution.shape)
    made.value_targets[:] = rng.integers(-1, 2, made.value_targets.shape)
    made.q_values[:] = rng.integers(0, 100, made.q_values.shape)
    return made


def arrays_of(some: Rows) -> dict[str, np.ndarray]:
    return {spec.member: getattr(some, spec.field).copy() for spec in ARRAYS}


def same(one: Rows, other: Rows) -> bool:
    return all(np.array_equal(getattr(one, spec.field), getattr(other, spec.field)) for spec in ARRAYS)


def test_columns_are_complete() -> None:
    assert [int(column) for column in GlobalTarget] == list(range(69))
    assert all(column.meaning for column in GlobalTarget)
    assert rows.row_bytes(19) == 5503 + 2172  # training-data.md 1


def test_real_files_are_read_and_written_again() -> None:
    real = real_rows()
    assert (real.count, real.length) == (899, 9)
    assert same(real, read_npz(to_npz(real), rows.UPLOAD_LIMITS, length=9))
    recorded = {member.removesuffix(".npy") for member in np.load(oracle_path(f"vectors/selfplay/{REAL[0]}")).files}
    assert recorded == {spec.member for spec in ARRAYS}


def test_invariants_of_the_specification_hold_in_real_rows() -> None:
    """training-data.md 8: what a writer must keep, so that the names here mean what the specification says."""
    real = real_rows()
    columns = real.global_targets
    for three in (rows.VALUE_COLUMNS, rows.LONG_TD_COLUMNS, rows.MID_TD_COLUMNS, rows.SHORT_TD_COLUMNS):
        assert np.allclose(columns[:, list(three)].sum(axis=1), 1, atol=1e-6)
    assert (real.score_distribution.sum(axis=1) == rows.SCORE_PERCENT).all()
    bins = np.arange(rows.score_bins(9)) - rows.score_bins(9) / 2 + 0.5
    ended = columns[:, GlobalTarget.OUTCOME_WEIGHT] == 1
    mean = real.score_distribution @ bins / rows.SCORE_PERCENT
    assert np.abs(mean - columns[:, GlobalTarget.FINAL_SCORE])[ended].max() <= 0.005
    on_board = real.planes()[:, rows.InputPlane.ON_BOARD]
    assert not (real.value_targets * (1 - on_board[:, None].astype(np.int8))).any()
    sums = real.policy_targets.sum(axis=2, dtype=np.int64)
    for channel, weight in ((0, GlobalTarget.POLICY_WEIGHT), (1, GlobalTarget.REPLY_WEIGHT)):
        assert (sums[columns[:, weight] == 1, channel] >= 10).all()
        assert (sums[columns[:, weight] == 0, channel] == 82).all()
    plain = ended & (columns[:, GlobalTarget.AREA_LIKE_PHASE] == 1) & (columns[:, GlobalTarget.BONUS_TO_COME] == 0)
    plain &= (real.global_inputs[:, rows.GlobalInput.TERRITORY_SCORING] == 0) & (
        real.global_inputs[:, rows.GlobalInput.TAXED] == 0
    )
    plain &= real.global_inputs[:, rows.GlobalInput.BUTTON] == 0
    owned = real.value_targets[:, ValueTarget.OWNERSHIP].sum(axis=(1, 2)) + columns[:, GlobalTarget.OWN_KOMI]
    assert plain.sum() == 63
    assert np.abs(owned - columns[:, GlobalTarget.FINAL_SCORE])[plain].max() <= 1e-5
    assert (columns[:, GlobalTarget.DATA_FORMAT_VERSION] == rows.DATA_FORMAT_VERSION).all()


def test_game_hash_is_the_one_of_the_sgf() -> None:
    first = read_npz(oracle_path(f"vectors/selfplay/{REAL[0]}"))
    games = oracle_path("vectors/selfplay/clean/2815F1F8D49191CC.sgfs").read_text()
    hashes = {rows.game_hash(row) for row in first.global_targets}
    assert hashes
    assert all(f"gameHash={value}" in games for value in hashes)
    word_0, word_1 = 0xF9187A7378B659B7, 0x0123456789ABCDEF
    targets = np.zeros(80, np.float32)
    targets[list(rows.HASH_COLUMNS)] = rows.hash_columns(word_0, word_1)
    assert rows.game_hash(targets) == f"{word_1:016X}{word_0:016X}"


@pytest.mark.parametrize("length", [2, 7, 9, 19])
def test_round_trip(length: int, tmp_path: Path) -> None:
    made = random_rows(3, length)
    path = tmp_path / "rows.npz"
    write_npz(made, path)
    assert same(made, read_npz(path, length=length))
    assert path.read_bytes() == to_npz(made)
    assert [entry.name for entry in tmp_path.iterdir()] == ["rows.npz"]
    assert np.array_equal(pack_planes(made.planes()), made.packed_planes)


def test_numpy_reads_what_we_write() -> None:
    made = random_rows()
    loaded = np.load(io.BytesIO(to_npz(made)))
    assert all(np.array_equal(loaded[spec.member], getattr(made, spec.field)) for spec in ARRAYS)


def test_variants_of_other_writers(tmp_path: Path) -> None:
    made = random_rows()
    old: dict[str, Any] = arrays_of(made)
    old["globalTargetsNC"] = old["globalTargetsNC"][:, :64]
    del old["qValueTargetsNCMove"]
    np.savez_compressed(tmp_path / "old.npz", **old, metadataInputNC=np.ones((5, 192), np.float32))
    back = read_npz(tmp_path / "old.npz")
    assert np.array_equal(back.global_targets[:, :64], made.global_targets[:, :64])
    assert not back.global_targets[:, 64:].any()
    assert not back.q_values.any()
    assert read_npz(to_npz(Rows.zeros(0, 9))).count == 0


def mutated(member: str, change: Callable[[np.ndarray], np.ndarray]) -> bytes:
    arrays = arrays_of(random_rows())
    arrays[member] = change(arrays[member])
    return npz.to_bytes(arrays)


def with_value(member: str, where: tuple[int, ...], value: float) -> bytes:
    arrays = arrays_of(random_rows())
    arrays[member][where] = value
    return npz.to_bytes(arrays)


REFUSED: dict[str, tuple[str, str, Callable[[], bytes]]] = {
    "wrong type": ("dtype", "holds <f8", lambda: mutated("globalInputNC", lambda a: a.astype("<f8"))),
    "big endian": ("dtype", "holds >f4", lambda: mutated("globalInputNC", lambda a: a.astype(">f4"))),
    "columns": ("shape", "globalTargetsNC", lambda: mutated("globalTargetsNC", lambda a: a[:, :70])),
    "policy width": ("shape", "policyTargetsNCMove", lambda: mutated("policyTargetsNCMove", lambda a: a[:, :, 1:])),
    "scalar": ("shape", "globalTargetsNC", lambda: mutated("globalTargetsNC", lambda a: a[0, 0])),
    "oblong": ("shape", "valueTargetsNCHW", lambda: mutated("valueTargetsNCHW", lambda a: a[:, :, 1:])),
    "row count": ("row_count", "has 4 rows", lambda: mutated("scoreDistrN", lambda a: a[1:])),
    "NaN": ("not_finite", "column 47", lambda: with_value("globalTargetsNC", (1, 47), np.nan)),
    "infinite input": ("not_finite", "column 3", lambda: with_value("globalInputNC", (1, 3), np.inf)),
    "input": ("range", "-5 to 5", lambda: with_value("globalInputNC", (0, 6), 6)),
    "komi": ("range", "-60 to 60", lambda: with_value("globalInputNC", (0, 5), 61)),
    "value": ("range", r"column 0 \(WIN\)", lambda: with_value("globalTargetsNC", (0, 0), 2.5)),
    "score": ("range", r"column 20 \(FINAL_SCORE\)", lambda: with_value("globalTargetsNC", (0, 20), -5001)),
    "weight": ("range", "OUTCOME_WEIGHT", lambda: with_value("globalTargetsNC", (0, 27), -0.5)),
    "history": ("range", "HISTORY_3_KEPT", lambda: with_value("globalTargetsNC", (0, 38), 1.5)),
    "policy": ("range", "policyTargets", lambda: with_value("policyTargetsNCMove", (0, 0, 0), -1)),
    "distribution": ("range", "scoreDistrN", lambda: with_value("scoreDistrN", (0, 0), -1)),
    "ownership": ("range", "valueTargetsNCHW", lambda: with_value("valueTargetsNCHW", (0, 0, 0, 0), 3)),
    "visits": ("range", "VISITS", lambda: with_value("qValueTargetsNCMove", (0, 2, 0), -1)),
    "no policy": ("no_policy", "absent target", lambda: mutated("policyTargetsNCMove", lambda a: a * 0)),
    "cut short": ("not_zip", "cut short", lambda: to_npz(random_rows())[:-100]),
    "no zip": ("not_zip", "zip", lambda: b"hello"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    reason, text, make = REFUSED[name]
    with pytest.raises(RowsError, match=text) as caught:
        read_npz(make())
    assert caught.value.reason == reason


def archive_with(name: str, content: bytes, *, drop: str = "") -> bytes:
    arrays = {key: value for key, value in arrays_of(random_rows()).items() if key != drop}
    buffer = io.BytesIO(npz.to_bytes(arrays))
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


def npy(array: np.ndarray, *, extra: bytes = b"") -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array)
    return stream.getvalue() + extra


def test_a_pickle_is_refused_even_in_an_array_that_nobody_reads() -> None:
    for member, drop in (("further.npy", ""), ("globalInputNC", "globalInputNC")):
        with pytest.raises(RowsError, match="Python objects") as caught:
            read_npz(archive_with(member, npy(np.array([{}], dtype=object)), drop=drop))
        assert caught.value.reason == "pickle"


def test_archives_that_lie() -> None:
    for content, reason in ((npy(np.zeros(9), extra=b"0" * 4000), None), (b"no array", "bad_member")):
        if reason is None:  # more behind a further array is only counted
            assert read_npz(archive_with("further", content)).count == 5
        else:
            with pytest.raises(RowsError) as caught:
                read_npz(archive_with("further", content))
            assert caught.value.reason == reason
    with pytest.raises(RowsError, match="twice"):
        read_npz(archive_with("globalInputNC.npy", npy(np.zeros((5, 19), np.float32))))
    with pytest.raises(RowsError, match="lacks globalInputNC"):
        read_npz(archive_with("other", npy(np.zeros(1)), drop="globalInputNC"))
    long = npy(np.zeros((5, 19), np.float32), extra=b"more")
    with pytest.raises(RowsError, match="unpacks to more"):
        read_npz(archive_with("globalInputNC", long, drop="globalInputNC"))
    with pytest.raises(RowsError, match="Fortran"):
        read_npz(archive_with("globalInputNC", npy(np.zeros((5, 19), np.float32, order="F")), drop="globalInputNC"))
    short = npy(np.zeros((5, 19), np.float32))[:-4]
    with pytest.raises(RowsError, match="cut short"):
        read_npz(archive_with("globalInputNC", short, drop="globalInputNC"))


@pytest.mark.parametrize("value", [3e38, -3e38])
@pytest.mark.parametrize("column", range(NUM_GLOBAL_TARGETS))
def test_every_column_is_bounded(column: int, value: float) -> None:
    made = Rows.zeros(2, 7)
    made.policy_targets[:] = 1
    made.check()
    made.global_targets[1, column] = value
    with pytest.raises(RowsError, match="column") as caught:
        made.check()
    assert caught.value.reason == "range"


def test_the_ranges_name_every_column() -> None:
    assert set(GLOBAL_TARGET_RANGES) == set(GlobalTarget)
    assert all(-1e9 <= low <= 0 < high <= 1e9 for low, high in GLOBAL_TARGET_RANGES.values())


def test_bombs_are_bounded_by_what_is_really_inflated() -> None:
    small = Limits(max_file_bytes=1 << 20, max_unpacked_bytes=1 << 20, max_rows=100)
    bomb = archive_with("further", npy(np.zeros(1), extra=bytes(4 << 20)))
    with pytest.raises(RowsError, match="unpacks to more") as caught:
        read_npz(bomb, small)
    assert caught.value.reason == "too_big"
    huge = archive_with("further", npy(np.zeros(1)).replace(b"(1,)", b"(9999999999999,)"))
    with pytest.raises(RowsError, match="unpacks to 79999999999992"):
        read_npz(huge, small)
    with pytest.raises(RowsError, match="at most 3 are"):
        read_npz(to_npz(random_rows()), Limits(1 << 20, 1 << 20, max_rows=3))
    with pytest.raises(RowsError, match="at most 100 are"):
        read_npz(to_npz(random_rows()), Limits(100, 1 << 20, 100))
    with pytest.raises(RowsError, match="7 members"):
        read_npz(to_npz(random_rows()), Limits(1 << 20, 1 << 20, 100, max_members=6))
    with pytest.raises(RowsError, match="edge 7; edge 9"):
        read_npz(to_npz(random_rows()), length=9)


def test_flipped_bytes_never_escape_as_another_error() -> None:
    data = bytearray(to_npz(random_rows()))
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(150):
        damaged = bytearray(data)
        for place in rng.integers(0, len(data), 3):
            damaged[place] ^= 1 << int(rng.integers(0, 8))
        try:
            read_npz(bytes(damaged))
        except RowsError:
            refused += 1
    assert refused > 100


@given(lists(tuples(integers(1, 7), integers(1, 7)), max_size=4))
def test_largest_side(sizes: list[tuple[int, int]]) -> None:
    made, planes = Rows.zeros(len(sizes), 7), np.zeros((len(sizes), rows.NUM_PLANES, 7, 7), np.uint8)
    for board, (height, width) in zip(planes, sizes, strict=True):
        board[InputPlane.ON_BOARD, :height, :width] = 1
    planes[:, InputPlane.ON_BOARD + 1] = 1
    made.packed_planes[:] = pack_planes(planes)
    assert made.largest_side() == max(map(max, sizes), default=7)


def test_nobody_writes_bad_rows(tmp_path: Path) -> None:
    bad = random_rows()
    bad.q_values[0, QTarget.VISITS, 0] = -3
    with pytest.raises(RowsError):
        write_npz(bad, tmp_path / "bad.npz")
    assert list(tmp_path.iterdir()) == []
