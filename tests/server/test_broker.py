"""The file broker under writers and readers that meet: no message is read half-written, none twice, none lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kombu.connection import Connection

from server import broker

MESSAGES = 200
DEADLINE = 60.0  # seconds, of all threads together


def connect(folder: Path) -> Connection:
    broker.install()
    options = {"data_folder_in": str(folder / "m"), "data_folder_out": str(folder / "m"), "polling_interval": 0.01}
    for name in ("m", "c"):
        (folder / name).mkdir(exist_ok=True)
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
