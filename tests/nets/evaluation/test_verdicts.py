"""Remembered verdicts: what is no whole verdict of just these facts is none; without a folder they last as we do."""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
from pathlib import Path

import pytest

from nets.evaluation.verdicts import KEPT, PASSING_S, Verdicts, of_this_user, processor_of

FACTS = {"processor": "x", "torch": "2.13.0", "edge": "19"}


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_verdict_is_there_for_the_next_process(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there" / "yet"
    assert Verdicts(folder).recall(FACTS) is None
    found = Verdicts(folder).remember(FACTS, survives=False, lasting=True, reason="it fell down")
    assert Verdicts(folder).recall(FACTS) == found
    assert not found.survives
    assert found.reason == "it fell down"


@pytest.mark.parametrize("fact", FACTS)
def test_other_facts_have_another_verdict(tmp_path: Path, fact: str) -> None:
    memory = Verdicts(tmp_path)
    memory.remember(FACTS, survives=True, lasting=True, reason="")
    assert memory.recall(FACTS | {fact: "another"}) is None
    assert memory.recall(FACTS | {"more": ""}) is None
    assert memory.recall({name: value for name, value in FACTS.items() if name != fact}) is None


@pytest.mark.parametrize("survives", [True, False])
@pytest.mark.parametrize("fresh", [True, False])
def test_what_may_pass_is_asked_for_again(tmp_path: Path, survives: bool, fresh: bool) -> None:
    clock = Clock()
    memory = Verdicts(tmp_path, clock)
    passing = memory.remember(FACTS, survives=survives, lasting=False, reason="no memory")
    lasting = memory.remember(FACTS | {"edge": "9"}, survives=survives, lasting=True, reason="broken")

    def again() -> Verdicts:
        return Verdicts(tmp_path, clock) if fresh else memory

    clock.now += PASSING_S - 1.0
    assert again().recall(FACTS) == passing
    clock.now += 1.0
    assert again().recall(FACTS) is None
    assert again().recall(FACTS | {"edge": "9"}) == lasting
    clock.now = 10.0  # the clock was wrong then, or is now
    assert again().recall(FACTS) is None
    assert again().recall(FACTS | {"edge": "9"}) == lasting


GOOD = {"survives": True, "lasting": True, "reason": "", "at": 1.0}


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\x00\xff\xfe",
        b"{",
        b"[]",
        b"null",
        b"3",
        b"[" * 100_000,
        json.dumps({"facts": FACTS}).encode(),
        json.dumps({"facts": FACTS, "verdict": []}).encode(),
        json.dumps({"facts": {}, "verdict": GOOD}).encode(),
        *(json.dumps({"facts": FACTS, "verdict": GOOD | {name: None}}).encode() for name in GOOD),
        *(json.dumps({"facts": FACTS, "verdict": GOOD | {name: "true"}}).encode() for name in GOOD if name != "reason"),
        json.dumps({"facts": FACTS, "verdict": GOOD}).encode()[:-2],
    ],
)
def test_a_damaged_file_is_no_verdict(tmp_path: Path, text: bytes) -> None:
    Verdicts(tmp_path).remember(FACTS, survives=True, lasting=True, reason="")
    (file,) = tmp_path.glob("*.json")
    file.write_bytes(text)
    assert Verdicts(tmp_path).recall(FACTS) is None
    found = Verdicts(tmp_path).remember(FACTS, survives=False, lasting=True, reason="new")
    assert Verdicts(tmp_path).recall(FACTS) == found


def no_folder(tmp_path: Path) -> Path:
    """Where nobody, not even root, can make one."""
    (tmp_path / "file").write_text("in the way")
    return tmp_path / "file" / "verdicts"


def test_nowhere_to_write(tmp_path: Path) -> None:
    for folder in (None, no_folder(tmp_path)):
        memory = Verdicts(folder)
        with memory.one_at_a_time(1.0):
            found = memory.remember(FACTS, survives=False, lasting=True, reason="broken")
        assert memory.recall(FACTS) == found
        assert Verdicts(folder).recall(FACTS) is None


def test_a_writing_that_fails_leaves_no_half_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Verdicts(tmp_path).remember(FACTS, survives=True, lasting=True, reason="")

    def fails(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", fails)
    memory = Verdicts(tmp_path)
    after = memory.remember(FACTS, survives=False, lasting=True, reason="broken")
    assert memory.recall(FACTS) == after
    assert Verdicts(tmp_path).recall(FACTS) == before
    assert [path.suffix for path in tmp_path.iterdir()] == [".json"]


def test_the_folder_does_not_grow_for_ever(tmp_path: Path) -> None:
    for number in range(KEPT + 5):
        Verdicts(tmp_path).remember(FACTS | {"edge": str(number)}, survives=True, lasting=True, reason="")
    assert len(list(tmp_path.iterdir())) == KEPT
    assert Verdicts(tmp_path).recall(FACTS | {"edge": str(KEPT + 4)}) is not None


def test_one_process_at_a_time(tmp_path: Path) -> None:
    entered, leave = threading.Event(), threading.Event()

    def second() -> None:
        with Verdicts(tmp_path).one_at_a_time(600.0):
            entered.set()
            leave.wait()

    other = threading.Thread(target=second)
    with Verdicts(tmp_path).one_at_a_time(600.0):
        other.start()
        assert not entered.wait(0.3)
    assert entered.wait(60.0)
    with Verdicts(tmp_path).one_at_a_time(0.0):  # no patience at all
        assert entered.is_set()
    leave.set()
    other.join()


def hold_and_die(folder: Path) -> None:
    with Verdicts(folder).one_at_a_time(1.0):
        os._exit(1)


def test_a_process_that_dies_holds_up_nobody(tmp_path: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(target=hold_and_die, args=(tmp_path,))
    process.start()
    process.join()
    assert process.exitcode == 1
    with Verdicts(tmp_path).one_at_a_time(600.0):
        pass


X86 = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 143
model name\t: Intel(R) Xeon(R) Platinum 8488C
stepping\t: 8
microcode\t: 0xffffffff
cpu MHz\t\t: 2400.000
flags\t\t: fpu vme tsc sse2 avx2 avx512_bf16 amx_bf16 amx_tile hypervisor
bogomips\t: 4800.00

processor\t: 1
model name\t: something else
"""
ARM = """processor\t: 0
BogoMIPS\t: 243.75
Features\t: fp asimd evtstrm aes sve bf16 i8mm
CPU implementer\t: 0x41
CPU part\t: 0xd40
"""


def test_processors_are_told_apart() -> None:
    x86, arm = processor_of(X86), processor_of(ARM)
    assert "GenuineIntel 6 143 Intel(R) Xeon(R) Platinum 8488C 8" in x86["processor"]
    assert x86["flags"].split() == ["amx_bf16", "amx_tile", "avx2", "avx512_bf16", "fpu", "sse2"]
    assert "0x41 0xd40" in arm["processor"]
    assert arm["flags"].split() == ["asimd", "bf16", "fp", "i8mm", "sve"]
    assert processor_of(X86.replace("2400.000", "3100.000").replace("4800.00", "4800.01")) == x86
    for changed in (X86.replace("amx_bf16 ", ""), X86.replace("8488C", "8480C"), X86.replace(": 143", ": 207")):
        assert processor_of(changed) != x86
    assert set(processor_of("")) == set(x86)


def test_the_users_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENGEN_CACHE_DIR", str(tmp_path))
    of_this_user().remember(FACTS, survives=True, lasting=True, reason="")
    assert list((tmp_path / "verdicts").glob("*.json"))
    assert of_this_user() is of_this_user()
