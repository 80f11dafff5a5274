"""The command as it is called: several processes play what one plays, also if they are stopped and begun again."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from client.__main__ import main
from client.selfplay import loop
from common.rows import read_npz
from tests.client.selfplay.threads import ThreadGroup

WITHIN_S = 600.0
TEXT = """
bSizes = 5
bSizeRelProbs = 1
maxVisits = 5
cheapSearchVisits = 3
reducedVisitsMin = 3
maxMovesPerGame = 40
earlyForkGameProb = 0.2
"""
GAMES = 12


def command(folder: Path, streams: int) -> list[str]:
    text = folder.parent / "tiny.cfg"
    text.write_text(TEXT)
    words = ["--model", "random", "--config", str(text), "--games", str(GAMES), "--seed", "3", "--output", str(folder)]
    words += ["--gpus", "cpu", "--cpu-streams", str(streams), "--parallel-games", "2"]
    return [sys.executable, "-m", "client", "selfplay", *words]


def play(folder: Path, streams: int) -> None:
    ended = subprocess.run(command(folder, streams), capture_output=True, text=True, check=False, timeout=WITHIN_S)
    assert ended.returncode == 0, ended.stderr


def play_here(folder: Path, streams: int) -> None:
    """The command in this process, with threads for children: the kernels are loaded already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "StreamGroup", ThreadGroup)
        assert main(command(folder, streams)[3:]) == 0


def records(folder: Path) -> list[bytes]:
    lines = [line for path in folder.rglob("*.sgfs") for line in path.read_bytes().splitlines()]
    assert len(set(lines)) == len(lines)
    return sorted(lines)


def rows_in(folder: Path) -> int:
    return sum(read_npz(path).count for path in folder.rglob("*.npz"))


def test_two_processes_that_are_interrupted_play_what_one_plays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    play_here(one, 1)
    running = subprocess.Popen(command(two, 2), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    assert running.stdout.readline().startswith(f"{tmp_path}/tiny.cfg gives what differs from selfplay.cfg")
    assert running.stdout.readline() == "new games are played by random\n"
    ledger = two / "runs" / "3" / "games.jsonl"
    while not (ledger.exists() and b'"seed"' in ledger.read_bytes()):
        assert running.poll() is None, running.communicate()
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate(timeout=WITHIN_S)
    assert running.returncode == 0
    assert "once more (Ctrl-C) stops at once" in said
    begun = records(two)
    assert set(begun) < set(records(one)), "it was stopped before all were played"
    play(two, 2)
    assert records(two) == records(one)
    assert len(records(one)) >= GAMES
    assert rows_in(two) == rows_in(one) > 0
    capsys.readouterr()
    play_here(two, 2)
    assert "0 games" in capsys.readouterr().out, "there is nothing left to do"
