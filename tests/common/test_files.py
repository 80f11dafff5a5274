"""Files that appear whole or not at all, and locks that end with their holder."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import filelock
import pytest

from common.files import LockedError, lock, sum_of, write_synced, write_whole, written_whole
from tests import ROOT

EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize("durable", [False, True])
def test_what_is_written_is_there_and_nothing_else(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "a"
    write_whole(path, b"old", durable=durable)
    write_whole(path, b"new", durable=durable)
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("before", [None, b"old"])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failed_write_changes_nothing(tmp_path: Path, before: bytes | None, error: type[BaseException]) -> None:
    path = tmp_path / "a"
    if before is not None:
        path.write_bytes(before)

    def half() -> None:
        with written_whole(path) as temporary:
            temporary.write_bytes(b"half")
            raise error

    with pytest.raises(error):
        half()
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == ([] if before is None else [before])


def test_what_cannot_be_synced_does_not_appear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(tmp_path / "a", b"a")
    assert list(tmp_path.iterdir()) == []


def test_what_is_written_beside_comes_from_there(tmp_path: Path) -> None:
    with written_whole(tmp_path / "a", beside=tmp_path / ".b") as temporary:
        assert temporary == tmp_path / ".b"
        write_synced(temporary, b"text")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_sum_and_size(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert sum_of(tmp_path / "empty") == (EMPTY_SHA256, 0)
    (tmp_path / "abc").write_bytes(b"abc")  # FIPS 180-2, appendix B.1
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert sum_of(tmp_path / "abc") == (expected, 3)


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    with lock(tmp_path / "lock") as held:
        assert held
        with pytest.raises(LockedError), lock(tmp_path / "lock"):
            pass
    with lock(tmp_path / "lock", patience_s=None) as held:
        assert held


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from common.files import lock\n"
        "with lock(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "lock"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(LockedError), lock(tmp_path / "lock"):
            pass
        process.kill()
        process.wait()
        with lock(tmp_path / "lock") as held:
            assert held


def test_without_locks_nothing_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(filelock.FileLock, "acquire", unknown)
    with lock(tmp_path / "lock") as held:
        assert not held


@pytest.mark.parametrize("write", [write_whole, write_synced])
def test_which_file_finds_no_place_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path, bytes], None]
) -> None:
    def fsync(_file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="No space left on device") as error:
        write(tmp_path / "rows", b"1")
    assert error.value.filename == str(tmp_path / "rows")
    with pytest.raises(FileNotFoundError) as missing:
        write(tmp_path / "none" / "rows", b"1")
    assert str(missing.value.filename).startswith(str(tmp_path / "none"))
