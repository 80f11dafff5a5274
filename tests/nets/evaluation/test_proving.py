"""Backends whose library dies: through the evaluator, the GTP engine and a stream's child, it costs one line."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from client.contribute.child import ChildSettings
from client.contribute.messages import FromChild, Job, Spooled
from client.contribute.warmup import TINY
from client.devices import Stream
from client.streams import Failed, StreamGroup, StreamProcess, Want
from common import wire
from common.config_text import overlay
from common.parameters import default_text
from common.precision import Precision
from nets.architecture.model import Net
from nets.evaluation import proving, verdicts
from nets.evaluation.backends import Backend, BatchShape
from nets.evaluation.batch import Batch, EvaluatorError, new_batch
from nets.evaluation.evaluator import RECURRING, load_evaluator
from nets.evaluation.proving import Way, facts_of, find_out, judge
from nets.evaluation.trial import End, Ending
from nets.files.exchange import module_of
from nets.files.katago_file import read_net
from tests import FIXTURES
from tests.nets import dying

NET_FILES = FIXTURES / "nets"
NET, OTHER = (NET_FILES / f"{name}.bin.gz" for name in ("mini-v13-fs-mish", "mini-v10-fixup"))
NAME = NET.name.removesuffix(".bin.gz")
NOT_USED = "OpenVINO in bfloat16 is not used here"
LENGTH = 7
WITHIN_S = 800.0
"""Where nothing is compiled yet, the whole search is."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Of this test's verdicts and marks."""
    marks = tmp_path / "marks"
    marks.mkdir()
    monkeypatch.setenv("TENGEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv(dying.MARKS, str(marks))
    verdicts._of.cache_clear()
    yield tmp_path
    verdicts._of.cache_clear()


def use(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In OpenVINO's place; of what is left when it dies, OpenVINO in float32 shall be the quickest."""
    monkeypatch.setattr("nets.evaluation.ways.OpenVinoBackend", getattr(dying, name))
    monkeypatch.setattr("nets.evaluation.ways._seconds_of_a_batch", seconds)


def seconds(backend: Backend, length: int) -> float:
    backend.lanes[0].launch(BatchShape(4, length, True))
    return float("torch" in backend.description)


@pytest.fixture
def no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials are done in this process; what becomes of children is told by test_trial.py and by a few tests here."""
    monkeypatch.setattr(proving, "try_in_child", dying.here)


def processes(folder: Path) -> set[int]:
    """Those that have run the backend in 16 bits; a trial without a child counts as one."""
    return {int(path.name) for path in (folder / "marks").iterdir()}


def loaded(net: Path = NET, **options: Any) -> str:
    evaluator = load_evaluator(net, length=LENGTH, **options)
    evaluator.run(board(LENGTH), 1)
    evaluator.close()
    return evaluator.description


@pytest.mark.slow  # test_gtp shows it for a whole program
@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("DivisionByZero", f"{NOT_USED}: a trial was ended by a signal (SIGFPE)", "float32"),
        ("Talking", None, "bfloat16"),
    ],
)
def test_a_library_that_dies_in_a_child_costs_one_line(
    name: str,
    text: str | None,
    found: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(dying.Talking, "ours", os.getpid())
    costs_one_line(name, text, found, folder, monkeypatch, caplog)
    written = capfd.readouterr()  # whose second part has the line as well, if logging was set up
    assert (written.out, "garbage" in written.err) == ("", False)


@pytest.mark.usefixtures("no_child")
@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        (
            "DyingInLargeBatches",
            f"{NOT_USED}: a trial was ended by a signal (SIGILL)",
            "float32",
        ),
        ("Leaving", f"{NOT_USED}: a trial ended its process (exit code 0)", "float32"),
        ("Raising", "cannot compile this", "float32"),
        ("Watched", None, "bfloat16"),
    ],
)
def test_a_library_that_dies_in_any_way_costs_one_line(
    name: str,
    text: str | None,
    found: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    costs_one_line(name, text, found, folder, monkeypatch, caplog)


def costs_one_line(
    name: str,
    text: str | None,
    found: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The evaluator computes as ``found`` says, and one line, if any, ends with ``text``."""
    use(name, monkeypatch)
    assert loaded() == f"CPU, OpenVINO, {found}, 1 thread"
    assert len(caplog.records) == (text is not None)
    assert text is None or caplog.messages[0].endswith(f": {text}")
    assert text is None or caplog.messages[0].startswith(f"{NAME}: ")
    survived = found == "bfloat16" or name == "Raising"
    assert len(processes(folder)) == 1 + survived
    assert (os.getpid() in processes(folder)) is survived


@pytest.mark.usefixtures("no_child")
def test_where_everything_of_a_library_dies_another_is_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    use("AlwaysDying", monkeypatch)
    assert loaded() == "CPU, torch, bfloat16, 1 thread"
    assert [("bfloat16" in text, "float32" in text, "SIGSEGV" in text) for text in caplog.messages] == [
        (True, False, True),
        (False, True, True),
    ]


@pytest.mark.usefixtures("no_child")
def test_the_next_net_of_its_kind_pays_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor says anything: in this process, in the next, and with other weights and another name."""
    use("DivisionByZero", monkeypatch)
    loaded()
    first = processes(folder)
    caplog.clear()
    assert "float32" in loaded()
    verdicts._of.cache_clear()  # as the next process
    other = read_net(NET)
    other.name = "the next one"
    net = module_of(other)
    for parameter in net.parameters():
        parameter.requires_grad_(False).mul_(1.01)
    assert facts_of(WAY, net, 7) == facts_of(WAY, module_of(read_net(NET)), 7)
    assert "float32" in loaded()
    assert processes(folder) == first
    assert [record.levelname for record in caplog.records if record.levelname != "INFO"] == []


class Trials:
    """In place of children: counts them."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, *_: Any) -> Ending:
        self.count += 1
        return Ending(End.SIGNAL, "SIGFPE")


@pytest.mark.parametrize("fact", ["library", "processor", "sources", "edge", "architecture", "damaged"])
def test_what_it_depends_on_asks_again(fact: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trials = Trials()
    monkeypatch.setattr(proving, "try_in_child", trials)
    net, edge = module_of(read_net(NET)), 7
    found, known = find_out(WAY, net, edge)
    assert not known
    verdicts._of.cache_clear()
    assert find_out(WAY, net, edge) == (found, True)
    assert trials.count == 1
    verdicts._of.cache_clear()
    if fact == "library":
        monkeypatch.setattr(verdicts, "library_versions", lambda: {"torch": "2.13.0", "openvino": "2027.0"})
    elif fact == "processor":
        monkeypatch.setattr(verdicts, "processor", lambda: {"processor": "another", "flags": ""})
    elif fact == "sources":
        monkeypatch.setattr(verdicts, "_sources", lambda: "changed")
    elif fact == "edge":
        edge = 6
    elif fact == "architecture":
        net = module_of(read_net(OTHER))
    else:
        (file,) = (folder / "verdicts").glob("*.json")
        file.write_bytes(file.read_bytes()[:-10])
    assert find_out(WAY, net, edge)[1] is False
    assert trials.count == 2


def test_nowhere_to_remember(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "folder", lambda name: None)
    trials, net = Trials(), module_of(read_net(NET))
    monkeypatch.setattr(proving, "try_in_child", trials)
    assert [find_out(WAY, net, LENGTH)[1] for _ in range(3)] == [False, True, True]
    verdicts._of.cache_clear()  # not beyond this process
    assert not find_out(WAY, net, LENGTH)[1]
    assert trials.count == 2


def test_nothing_is_tried_where_nothing_is_risky(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def trial(*_: Any) -> Ending:
        raise AssertionError("a trial")

    monkeypatch.setattr(proving, "try_in_child", trial)
    use("DivisionByZero", monkeypatch)
    assert "OpenVINO, float32" in loaded(precision=Precision.FLOAT32)
    monkeypatch.setattr(dying.Watched, "has_bfloat16", staticmethod(lambda: False))
    assert "OpenVINO, float32" in loaded()
    assert list((folder / "verdicts").iterdir()) == []


UNPROVED = """
import logging, sys
from nets.evaluation.evaluator import load_evaluator
from common.precision import Precision
from tests.nets import dying
logging.basicConfig(format="%(message)s")
dying.install(sys.argv[1])
print(load_evaluator(sys.argv[2], length=7, precision=Precision.FLOAT32).description)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs locks of files that end with their process")
@pytest.mark.parametrize(
    ("name", "signalled", "found", "line"),
    [
        (
            "AlwaysDying",
            "SIGSEGV",
            "torch",
            ": OpenVINO in float32 is not used here: a trial was ended by a signal (SIGSEGV)",
        ),
        ("KilledOnce", "SIGKILL", "OpenVINO", None),
    ],
)
def test_what_is_not_proved_ends_one_process_at_most(
    name: str, signalled: str, found: str, line: str | None, folder: Path
) -> None:
    """Of a kill from outside nobody but the process itself knows that it was one: the trial finds that out."""

    def start() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", UNPROVED, name, str(NET)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=WITHIN_S)

    assert start().returncode == -signal.Signals[signalled]
    for told in (line, None):
        ended = start()
        assert ended.stdout == f"CPU, {found}, float32, 1 thread\n", ended.stderr
        assert ended.stderr.splitlines() == ([NAME + told] if told else [])
    assert list((folder / "verdicts").glob("*attempt*")) == []


def test_attempts_of_processes_that_live_are_no_reason_to_doubt(folder: Path) -> None:
    memory, facts = verdicts.of_this_user(), {"way": "any"}
    with memory.attempt(facts):
        assert not memory.was_broken_off(facts)
        assert len(list((folder / "verdicts").iterdir())) == 1
    with contextlib.suppress(ZeroDivisionError), memory.attempt(facts):
        raise ZeroDivisionError
    assert list((folder / "verdicts").iterdir()) == []
    code = (
        "import os; from nets.evaluation import verdicts\n"
        "with verdicts.of_this_user().attempt({'way': 'any'}): os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=WITHIN_S).returncode == 9
    assert memory.was_broken_off(facts)
    assert not memory.was_broken_off({"way": "another"})
    memory.remember(facts, survives=True, lasting=True, reason="")
    assert not memory.was_broken_off(facts)


@pytest.mark.usefixtures("no_child")
def test_boards_of_another_size_are_tried_when_they_come(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    use("DyingOnSmallBoards", monkeypatch)
    evaluator = load_evaluator(NET, length=LENGTH)
    small, expected = board(5), board(5)
    for _ in range(RECURRING - 1):
        evaluator.run(small, 1)
    assert "bfloat16" in evaluator.description
    evaluator.run(small, 1)
    assert "OpenVINO, float32" in evaluator.description
    assert caplog.text.count("SIGBUS") == 1
    reference = load_evaluator(NET, length=LENGTH, precision=Precision.FLOAT32)
    reference.run(expected, 1)
    np.testing.assert_allclose(small.policy, expected.policy, atol=1e-4)


def board(edge: int) -> Batch:
    batch = new_batch(1, LENGTH)
    batch.planes[0, 0, :edge, :edge] = 1.0
    return batch


# -- what is remembered ---------------------------------------------------------------------------------------------


WAY = Way("OpenVINO in bfloat16", partial(dying.Watched, threads=1, sixteen_bit=True))


@pytest.mark.parametrize(
    ("ending", "survives", "lasting"),
    [
        (Ending(End.RETURNED, ""), True, True),
        (Ending(End.RAISED, "RuntimeError: no"), True, False),
        (Ending(End.SIGNAL, "SIGFPE"), False, True),
        (Ending(End.SIGNAL, "SIGSEGV"), False, True),
        (Ending(End.SIGNAL, "SIGILL"), False, True),
        (Ending(End.EXIT, "exit code 1"), False, True),
        (Ending(End.SIGNAL, "SIGKILL"), False, False),
        (Ending(End.SIGNAL, "SIGABRT"), False, False),
        (Ending(End.OUT_OF_MEMORY, ""), False, False),
        (Ending(End.OUT_OF_TIME, ""), False, False),
        (Ending(End.NOT_STARTED, ""), False, False),
    ],
)
def test_which_verdicts_last(ending: Ending, survives: bool, lasting: bool) -> None:
    assert judge(ending) == (survives, lasting)


def test_a_verdict_is_of_a_way_and_an_architecture() -> None:
    net = module_of(read_net(NET))

    def facts(net: Net = net, edge: int = 7, **options: Any) -> dict[str, str]:
        given = {"threads": 1, "sixteen_bit": True} | options
        return facts_of(replace(WAY, make=partial(dying.Watched, **given)), net, edge)

    assert facts() == facts()
    others = [
        facts(edge=9),
        facts(threads=2),
        facts(sixteen_bit=False),
        facts(module_of(read_net(OTHER))),
        facts_of(replace(WAY, make=partial(dying.Raising, threads=1, sixteen_bit=True)), net, 7),
        facts_of(replace(WAY, make=functools.partial(dying.Watched, threads=1)), net, 7),
    ]
    assert all(other != facts() for other in others)


# -- as a volunteer meets it ----------------------------------------------------------------------------------------


GTP = """
import sys
from client.__main__ import guarded
from tests.nets import dying
dying.install(sys.argv[1])
sys.exit(guarded(["gtp", *sys.argv[2:]]))
"""


@pytest.mark.parametrize("name", ["DivisionByZero", pytest.param("Talking", marks=pytest.mark.slow)])
def test_gtp(name: str, folder: Path) -> None:
    lines = "boardsize 5\nclear_board\nkata-raw-nn 0\ngenmove b\nquit\n"
    command = [sys.executable, "-c", GTP, name, "--model", str(NET), "--override-config", "maxVisits=3", "--seed", "1"]
    said = []
    for _ in range(2):
        ended = subprocess.run(command, input=lines, capture_output=True, text=True, check=False, timeout=WITHIN_S)
        assert ended.returncode == 0, ended.stderr
        assert [answer[:2] for answer in ended.stdout.split("\n\n")] == ["= "] * 5 + [""]
        said.append([line for line in ended.stderr.splitlines() if line.startswith(NAME)])  # not of slow compilation
    died = name == "DivisionByZero"
    line = f"{NAME}: {NOT_USED}: a trial was ended by a signal (SIGFPE)"
    assert said == [[line] if died else [], []]
    assert len(processes(folder)) == (1 if died else 3)


class Child:
    """One stream of a client, and all that its parent hears."""

    def __init__(self, folder: Path) -> None:
        self.messages: list[FromChild] = []
        self.lines: list[str] = []
        self.group = StreamGroup(
            [Stream("cpu0", "cpu", 1, None, 1)],
            dying.dying_child_main,
            ChildSettings(folder, "http://server"),
            self.hear,
            self.lines.append,
            stopping=lambda: self.stopping,
        )
        self.stopping = False

    def hear(self, process: StreamProcess, message: FromChild) -> None:
        self.messages.append(message)

    def heard(self, *kinds: type[FromChild]) -> list[FromChild]:
        return [message for message in self.messages if isinstance(message, kinds)]

    def listen_for(self, *kinds: type[FromChild]) -> None:
        deadline = time.monotonic() + WITHIN_S
        while not self.heard(*kinds):
            assert time.monotonic() < deadline, (self.messages, self.lines)
            self.group.listen(0.1)


def test_a_stream_of_a_client(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Games are played and spooled by the child that they were given to; the person at the terminal sees one line."""
    network = wire.NetworkInfo(
        name="net", url="http://server/net", model_file="http://server/net.bin.gz", model_file_bytes=1,
        model_file_sha256="0" * 64, is_random=False,
    )  # fmt: skip
    run = wire.RunReference(name="run", url="http://server/run")
    task = wire.SelfplayTask(
        kind="selfplay",
        run=run,
        network=network,
        config=overlay(default_text("selfplay", "7x7"), TINY + "cheapSearchProb = 0\n"),
    )
    child = Child(folder)
    try:
        child.listen_for(Want)
        child.group.processes[0].send(Job(task, {"net": NET}, games=8, seed=1, length=LENGTH))
        child.listen_for(Spooled, Failed)
        assert not child.heard(Failed)
        child.stopping = True
        child.group.stop()
        while child.group.alive():
            child.group.listen(0.1)
        assert child.group.processes[0].process.exitcode == 0
    finally:
        child.group.kill()
    assert child.lines == []
    written = capfd.readouterr()
    assert written.out == ""
    assert [("SIGFPE" in line) for line in written.err.splitlines()] == [True]
    assert len(processes(folder)) == 1
    assert child.group.processes[0].process.pid not in processes(folder)


@pytest.mark.usefixtures("no_child")
def test_nothing_left_to_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every reason is told where there is no way at all."""
    use("AlwaysDying", monkeypatch)

    monkeypatch.setattr("nets.evaluation.ways.TorchBackend", dying.missing)
    with pytest.raises(EvaluatorError, match=r"bfloat16 is not used here.*float32 is not used here.*no torch"):
        loaded()
