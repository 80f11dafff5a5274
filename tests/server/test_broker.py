"""The file broker under writers and readers that meet: no message is read half-written, none twice, none lost.

And in files that a power cut, or somebody, has damaged.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from kombu.connection import Connection

from server import broker

MESSAGES = 200
DEADLINE = 60.0  # seconds, of all threads together


@pytest.fixture(autouse=True)
def no_bindings_of_another_folder() -> None:
    """kombu remembers the bindings of the process, which has one folder outside of tests."""
    cast(Any, broker.Transport.global_state).clear()


def connect(folder: Path) -> Connection:
    broker.install()
    options = {"data_folder_in": str(folder / "m"), "data_folder_out": str(folder / "m"), "polling_interval": 0.01}
    options["control_folder"] = str(folder / "c")
    return Connection("filesystem://localhost", transport_options=options)  # type: ignore[no-untyped-call]


def run_together(*works: Callable[[], None]) -> None:
    """Run each in a thread; one that does not end keeps neither the test nor the process."""
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    until = time.monotonic() + DEADLINE
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))


def test_every_message_arrives_whole_and_once(tmp_path: Path) -> None:
    found: list[int] = []
    faults: list[BaseException] = []

    def read() -> None:
        with connect(tmp_path) as connection, connection.SimpleQueue("work") as queue:
            while len(found) < 2 * MESSAGES and not faults:
                try:
                    message = queue.get(timeout=0.2)
                except queue.Empty:
                    continue
                except BaseException as error:
                    faults.append(error)
                    return
                found.append(message.payload["number"])
                message.ack()

    def write(first: int) -> None:
        with connect(tmp_path) as connection, connection.SimpleQueue("work") as queue:
            for number in range(first, first + MESSAGES):
                queue.put({"number": number, "filling": "x" * 5000})

    run_together(read, read, lambda: write(0), lambda: write(MESSAGES))
    assert not faults
    lost, double = set(range(2 * MESSAGES)) - set(found), len(found) - len(set(found))
    assert (lost, double) == (set(), 0)
    assert list((tmp_path / "m").iterdir()) == []


def test_a_message_sent_while_another_thread_binds_the_queue_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binding, second_waits = threading.Event(), threading.Event()
    bind = broker.Channel._queue_bind

    def slow_bind(*args: Any) -> None:
        binding.set()
        second_waits.wait(0.5)  # were it not kept waiting, the second would have sent by now
        bind(*args)

    def first() -> None:
        with connect(tmp_path) as connection, connection.SimpleQueue("bound") as queue:
            queue.put(1)

    def second() -> None:
        binding.wait(DEADLINE)
        with connect(tmp_path) as connection, connection.SimpleQueue("bound") as queue:
            queue.put(2)
        second_waits.set()

    monkeypatch.setattr(broker.Channel, "_queue_bind", slow_bind)
    run_together(first, second)
    assert len(list((tmp_path / "m").glob("*.bound.msg"))) == 2


DAMAGED = {
    "empty": b"",
    "truncated": b'[["audit", "", "au',
    "zeros": bytes(4096),
    "garbage": random.Random(1).randbytes(300),
    "no UTF-8": b'["\xff\xfe"]',
    "a number": b"5",
    "null": b"null",
    "an object": b"{}",
    "other entries": b'[["audit"], 7]',
    "entries of other things": b"[[1, 2, 3]]",
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_table_is_made_again_while_everything_goes_on(damage: str, tmp_path: Path) -> None:
    table = tmp_path / "c" / "work.exchange"
    with connect(tmp_path) as connection, connection.SimpleQueue("work") as queue:
        assert table.exists(), "it is there with the binding, before anything is sent"
        queue.put("first")
        whole = table.read_bytes()
        table.write_bytes(DAMAGED[damage])
        queue.put("second")  # by a process that was there before
        assert table.read_bytes() == whole
        table.unlink()
        queue.put("third")
        assert table.read_bytes() == whole
        table.write_bytes(DAMAGED[damage])
    cast(Any, broker.Transport.global_state).clear()  # what a process that is started later has
    with connect(tmp_path) as connection, connection.SimpleQueue("work") as queue:
        queue.put("fourth")
        assert table.read_bytes() == whole
        assert [read_one(queue) for _ in range(4)] == ["first", "second", "third", "fourth"]


MESSAGE = {
    "body": "NQ==",
    "content-type": "application/json",
    "content-encoding": "utf-8",
    "headers": {},
    "properties": {
        "body_encoding": "base64",
        "delivery_tag": "1",
        "delivery_info": {"exchange": "work", "routing_key": "work"},
    },
}


def with_property(name: str, value: Any) -> bytes:
    return json.dumps(MESSAGE | {"properties": {**cast(dict[str, Any], MESSAGE["properties"]), name: value}}).encode()


DAMAGED_MESSAGES = DAMAGED | {
    "without properties": json.dumps({"body": "", "headers": {}}).encode(),
    "a tag that is none": with_property("delivery_tag", [1]),
    "from nowhere": with_property("delivery_info", None),
    "without its exchange": with_property("delivery_info", {}),
    "a body that is none": json.dumps(MESSAGE | {"body": "5"}).encode(),
    "an encoding that is none": with_property("body_encoding", "rot13"),
}


@pytest.mark.parametrize("damage", DAMAGED_MESSAGES)
def test_a_damaged_message_is_removed_and_the_next_one_arrives(
    damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with connect(tmp_path) as connection, connection.SimpleQueue("work") as queue:
        (tmp_path / "m" / "0_a.work.msg").write_bytes(DAMAGED_MESSAGES[damage])
        (tmp_path / "m" / "0_b.work.msg").write_bytes(json.dumps(MESSAGE).encode())
        assert read_one(queue) == 5
    assert "0_a.work.msg is damaged" in caplog.text
    assert list((tmp_path / "m").iterdir()) == []


def test_what_is_no_file_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with connect(tmp_path) as connection, connection.SimpleQueue("work") as queue:
        (tmp_path / "m" / "00_a.work.msg").mkdir()
        queue.put(5)
        assert read_one(queue) == 5
    assert "cannot be read" in caplog.text


def test_what_killed_processes_left_is_swept_after_a_while(tmp_path: Path) -> None:
    old, new, whole = tmp_path / ".a.b", tmp_path / ".c.taken", tmp_path / "1_d.work.msg"
    for path in (old, new, whole):
        path.write_text("x")
    for path in (old, whole):
        os.utime(path, (0, 0))
    (tmp_path / ".folder").mkdir()
    os.utime(tmp_path / ".folder", (0, 0))
    broker.sweep(tmp_path)
    assert not old.exists()
    assert new.exists()
    assert whole.exists()
    broker.sweep(tmp_path / "none")


def read_one(queue: Any) -> Any:
    message = queue.get(timeout=DEADLINE)
    message.ack()
    return message.payload
