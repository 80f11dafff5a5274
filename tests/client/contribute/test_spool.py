"""Nothing that was finished is ever lost, and nothing half-written is ever sent."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import filelock
import pytest

from client.contribute.folder import FolderInUseError, sole_use
from client.contribute.spool import REASON_FILE, Spool, SpooledGame, SpoolError
from tests import ROOT

UID = "0123456789ABCDEF0123456789ABCDEF"


def add(spool: Spool, uid: str = UID, sgf: bytes = b"(;FF[4])") -> Path:
    return spool.add(
        "training", "http://server", {"kg_game_uid": uid, "komi": "7.5"}, {"sgf_file": (f"{uid}.sgf", sgf)}
    )


def test_what_is_added_is_pending_also_for_the_next_process(tmp_path: Path) -> None:
    add(Spool(tmp_path))
    (game,) = Spool(tmp_path).pending()
    assert (game.uid, game.kind, game.server_url) == (UID, "training", "http://server")
    assert game.fields["komi"] == "7.5"
    assert game.files["sgf_file"].read_bytes() == b"(;FF[4])"


def test_sent_games_leave_and_refused_ones_are_kept_with_the_reason(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    add(spool, "A" * 32)
    add(spool, "B" * 32)
    first, second = spool.pending()
    spool.sent(first)
    kept = spool.refuse(second, "the audit says no")
    assert spool.count() == 0
    assert (kept / REASON_FILE).read_text() == "the audit says no\n"
    assert (kept / f"{'B' * 32}.sgf").exists()


def test_the_same_game_twice_is_one_game(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    add(spool)
    add(spool)
    assert spool.count() == 1


DAMAGES: dict[str, Callable[[Path], object]] = {
    "half a form": lambda folder: (folder / "form.json").write_text("{"),
    "an empty form": lambda folder: (folder / "form.json").write_bytes(b""),
    "zeros, as after a power cut": lambda folder: (folder / "form.json").write_bytes(bytes(300)),
    "no form": lambda folder: (folder / "form.json").unlink(),
    "not text": lambda folder: (folder / "form.json").write_bytes(b"\xff\xfe"),
    "another shape": lambda folder: (folder / "form.json").write_text("[1, 2]"),
    "nested deeply": lambda folder: (folder / "form.json").write_text("[" * 100_000),
    "a number for a text": lambda folder: _change_form(folder, server_url=7),
    "an unknown kind": lambda folder: _change_form(folder, kind="other"),
    "no fields": lambda folder: _change_form(folder, fields=None),
    "another game's form": lambda folder: _change_form(folder, fields={"kg_game_uid": "F" * 32}),
    "half a character": lambda folder: _change_form(folder, fields={"kg_game_uid": "B" * 32, "player": "\ud800"}),
    "no SGF": lambda folder: next(folder.glob("*.sgf")).unlink(),
    "a folder for a form": lambda folder: _replace_by_folder(folder / "form.json"),
}


def _change_form(folder: Path, **changes: object) -> None:
    path = folder / "form.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def _replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_game_is_told_of_once_and_the_others_go_on(tmp_path: Path, damage: str) -> None:
    lines: list[str] = []
    spool = Spool(tmp_path, lines.append)
    add(spool, "A" * 32)
    DAMAGES[damage](add(spool, "B" * 32))
    for _ in range(3):
        assert [game.uid for game in spool.pending()] == ["A" * 32]
    assert len(lines) == 1
    if damage != "a folder for a form":  # that one cannot even be read
        assert [path.name for path in spool.refused.iterdir()] == ["B" * 32]
        assert str(spool.refused / ("B" * 32)) in lines[0]
        assert spool.count() == 1


FOREIGN_FILES = [".DS_Store", "desktop.ini", "Thumbs.db", "._" + UID, UID + ".zip", "A" * 32, "ü\n", "core"]
FOREIGN_FOLDERS = ["__MACOSX", "backup", UID + " (copy)", UID + "-1234abcd", "@eaDir", ".Trash-1000", "a" * 31]


@pytest.mark.parametrize("name", FOREIGN_FILES + FOREIGN_FOLDERS)
def test_what_is_not_ours_is_passed_over_with_one_line(tmp_path: Path, name: str) -> None:
    lines: list[str] = []
    spool = Spool(tmp_path, lines.append)
    game = add(spool)
    for folder in (spool.waiting, spool.refused, tmp_path / "writing", game):
        path = folder / name
        if name in FOREIGN_FILES:
            path.write_bytes(b"\x00\x00\x00\x01Bud1")
        else:
            path.mkdir()
    for _ in range(3):
        assert [found.uid for found in spool.pending()] == [UID]
        assert spool.count() == 1
    assert len(lines) == 1
    assert "left alone" in lines[0]
    assert (spool.waiting / name).exists()
    spool.clean()
    (found,) = spool.pending()
    spool.sent(found)
    assert spool.count() == 0
    spool.refuse(SpooledGame(add(spool), "training", "u", {}, {}), "because")
    assert spool.count() == 0


def test_a_link_to_nowhere_is_passed_over(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    (spool.waiting / UID).symlink_to(tmp_path / "gone")
    assert spool.pending() == []


def test_a_spool_that_was_removed_is_made_again(tmp_path: Path) -> None:
    lines: list[str] = []
    spool = Spool(tmp_path / "spool", lines.append)
    shutil.rmtree(tmp_path / "spool")
    assert (spool.pending(), spool.count()) == ([], 0)
    assert len(lines) == 1
    add(spool)
    shutil.rmtree(tmp_path / "spool" / "writing")
    shutil.rmtree(tmp_path / "spool" / "refused")
    (game,) = spool.pending()
    spool.sent(game)
    add(spool)
    (game,) = spool.pending()
    spool.refuse(game, "because")
    assert spool.count() == 0


def test_a_disk_too_full_for_the_reason_still_sets_the_game_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = Spool(tmp_path)
    add(spool)
    (game,) = spool.pending()

    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    kept = spool.refuse(game, "the audit says no")
    assert (kept / f"{UID}.sgf").exists()
    assert spool.count() == 0


def test_two_clients_do_not_share_a_folder(tmp_path: Path) -> None:
    with sole_use(tmp_path, lambda line: None):
        refused = pytest.raises(FolderInUseError, match=r"another client is running with the folder .*--data-dir")
        with refused, sole_use(tmp_path, lambda line: None):
            pass
        with sole_use(_made(tmp_path / "other"), lambda line: None):
            pass
    with sole_use(tmp_path, lambda line: None):
        pass


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_the_lock_of_a_killed_client_holds_nobody_up(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib, time; from client.contribute.folder import sole_use\n"
        "with sole_use(pathlib.Path(sys.argv[1]), print): print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(FolderInUseError), sole_use(tmp_path, lambda line: None):
            pass
        holder.kill()
    with sole_use(tmp_path, lambda line: None):
        pass


def test_a_file_system_without_locks_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(*_: object, **__: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(filelock.FileLock, "acquire", without)
    lines: list[str] = []
    with sole_use(tmp_path, lines.append):
        assert len(lines) == 1


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool(tmp_path)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SpoolError, match=r"No space left on device; free some disk space"):
        add(spool)
    assert spool.pending() == []
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_killed_while_writing(tmp_path: Path) -> None:
    """A process killed at any moment leaves whole games only."""
    code = (
        "import sys, pathlib; from client.contribute.spool import Spool\n"
        "spool = Spool(pathlib.Path(sys.argv[1])); print('ready', flush=True)\n"
        "for i in range(100000):\n"
        "    uid = f'{i:032X}'\n"
        "    spool.add('training', 'u', {'kg_game_uid': uid}, {'sgf_file': (uid + '.sgf', b'x' * 20000)})\n"
        "    print(uid, flush=True)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert writer.stdout is not None
    told = [writer.stdout.readline().strip() for _ in range(20)][1:]
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    spool = Spool(tmp_path)
    spool.clean()
    pending = {game.uid for game in spool.pending()}
    assert pending >= set(told)
    assert all(game.files["sgf_file"].stat().st_size == 20000 for game in spool.pending())
    assert list(spool.refused.iterdir()) == []
