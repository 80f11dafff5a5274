"""The file broker under writers and readers that meet: no message is read half-written, none twice, none lost."""

from __future__ import annotations

import threading
from pathlib import Path

from kombu import Connection

from server import broker

MESSAGES = 200


def connect(folder: Path) -> Connection:
    broker.install()
    options = {"data_folder_in": str(folder / "m"), "data_folder_out": str(folder / "m"), "polling_interval": 0.01}
    for name in ("m", "c"):
        (folder / name).mkdir(exist_ok=True)
    return Connection("filesystem://localhost", transport_options=options | {"control_folder": str(folder / "c")})


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

    threads = [threading.Thread(target=read) for _ in range(2)]
    threads += [threading.Thread(target=write, args=(first,)) for first in (0, MESSAGES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not faults
    assert sorted(found) == list(range(2 * MESSAGES))
    assert list((tmp_path / "m").iterdir()) == []
