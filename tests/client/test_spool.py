"""Nothing that was finished is ever lost, and nothing half-written is ever sent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from client.contribute.spool import REASON_FILE, Spool, SpoolError

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


def test_a_damaged_game_is_set_aside_and_the_others_go_on(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    add(spool, "A" * 32)
    (add(spool, "B" * 32) / "form.json").write_text("{")
    (add(spool, "C" * 32) / f"{'C' * 32}.sgf").unlink()
    (spool.waiting / "empty").mkdir()
    assert [game.uid for game in spool.pending()] == ["A" * 32]
    assert sorted(path.name for path in spool.refused.iterdir()) == ["B" * 32, "C" * 32, "empty"]


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
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
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
