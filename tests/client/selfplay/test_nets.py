"""The newest net of a folder is taken once it is whole, and one that cannot be used is passed over."""

from __future__ import annotations

import os
from pathlib import Path

from client.networks import Network
from client.selfplay.nets import WHOLE_AFTER_S, NetFolder, OneNet

NOW = 1_000_000.0
RANDOM = Network("random", None)


def put(folder: Path, name: str, age_s: float, content: bytes = b"net") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (NOW - age_s, NOW - age_s))
    return path


def name_of(nets: NetFolder) -> str | None:
    newest = nets.newest()
    return newest.name if newest else None


def test_the_newest_by_time(tmp_path: Path) -> None:
    nets = NetFolder(tmp_path / "models", clock=lambda: NOW)
    assert nets.newest() is None, "the folder need not be there yet"
    put(tmp_path / "models", "b.bin.gz", 300)
    path = put(tmp_path / "models", "a/model.bin.gz", 200)
    put(tmp_path / "models", "c.bin", 400)
    stamp = path.stat().st_mtime_ns, 3
    assert nets.newest() == Network("a", path, stamp)
    put(tmp_path / "models", "notes.txt", 100)
    put(tmp_path / "models", "d.bin.gz.tmp", 100)
    put(tmp_path / "models", ".e.bin.gz", 100)
    put(tmp_path / "models", "empty/other.txt", 100)
    assert name_of(nets) == "a"
    put(tmp_path / "models", "c.bin", 100)
    assert name_of(nets) == "c"


def test_names_are_text_and_hidden_folders_are_none(tmp_path: Path) -> None:
    nets = NetFolder(tmp_path, clock=lambda: NOW)
    put(tmp_path, os.fsdecode(b"net\xe9.bin.gz"), 300)
    assert name_of(nets) == "net\N{REPLACEMENT CHARACTER}"
    put(tmp_path, os.fsdecode(b"\xff/model.bin.gz"), 200)
    assert name_of(nets) == "\N{REPLACEMENT CHARACTER}"
    put(tmp_path, ".export/model.bin.gz", 100)
    assert name_of(nets) == "\N{REPLACEMENT CHARACTER}", "somebody is still writing it"


def test_half_a_file_is_not_taken(tmp_path: Path) -> None:
    nets = NetFolder(tmp_path, clock=lambda: NOW)
    put(tmp_path, "old.bin.gz", 300)
    put(tmp_path, "new.bin.gz", 1, b"ha")
    assert name_of(nets) == "old"
    put(tmp_path, "new.bin.gz", 0.5, b"half")
    assert name_of(nets) == "old", "it grows"
    assert name_of(nets) == "new"
    put(tmp_path, "newest.bin.gz", 0)
    assert name_of(nets) == "new"
    nets.clock = lambda: NOW + WHOLE_AFTER_S
    assert name_of(nets) == "newest"


def test_a_net_that_cannot_be_used(tmp_path: Path) -> None:
    nets = NetFolder(tmp_path, clock=lambda: NOW)
    put(tmp_path, "good.bin.gz", 300)
    put(tmp_path, "bad.bin.gz", 200)
    bad = nets.newest()
    assert bad is not None
    assert nets.refuse(bad)
    assert name_of(nets) == "good"
    put(tmp_path, "bad.bin.gz", 100, b"another")
    assert name_of(nets) == "bad"


def test_a_net_that_is_written_anew_is_another(tmp_path: Path) -> None:
    nets = NetFolder(tmp_path, clock=lambda: NOW)
    put(tmp_path, "net.bin.gz", 300)
    first = nets.newest()
    assert first == nets.newest(), "it stays the same while nobody writes to it"
    put(tmp_path, "net.bin.gz", 200, b"another")
    second = nets.newest()
    assert first is not None
    assert second is not None
    assert (second.name, second.path) == (first.name, first.path)
    assert second != first
    assert nets.refuse(first), "which a stream tells late"
    assert nets.newest() == second


def test_what_plays_before_the_first_one(tmp_path: Path) -> None:
    nets = NetFolder(tmp_path, RANDOM, clock=lambda: NOW)
    assert nets.newest() == RANDOM
    assert not nets.refuse(RANDOM)
    put(tmp_path, "first.bin.gz", 20)
    assert name_of(nets) == "first"


def test_one_that_was_named() -> None:
    nets = OneNet(RANDOM)
    assert nets.newest() == RANDOM
    assert not nets.refuse(RANDOM)
