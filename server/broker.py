"""Celery's file broker, without the moment in which a reader finds a file that is not written yet.

kombu's transport makes a message's file and then fills it, so a worker that looks in between reads nothing and ends;
the table of an exchange has the same gap. Here both are written beside and renamed. Used where `BROKER_URL` is
``filesystem://``, that is in the demo and in tests of whole systems; knows nothing of tasks.
"""

# mypy: allow-untyped-calls
# kombu says that it is typed and annotates only a part.

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import time_ns
from typing import Any, Final

from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.json import dumps

LOCK_FILE: Final = "tables.lock"
_BINDING: Final = threading.Lock()


class Channel(filesystem.Channel):
    """A channel whose files appear complete."""

    def _put(self, queue: str, payload: Any, **_: Any) -> None:  # type: ignore[override]  # kombu's own bases disagree
        name = f"{time_ns():020d}_{uuid.uuid4()}.{queue}.msg"
        _write(Path(self.data_folder_out) / name, dumps(payload))

    def queue_bind(self, *args: Any, **kwargs: Any) -> None:
        """Bind a queue; a thread that finds the binding known finds it in the exchange's table as well.

        kombu notes a binding for all threads of the process before it writes the table, and a message that is sent in
        between goes nowhere.
        """
        with _BINDING:
            super().queue_bind(*args, **kwargs)

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        entry = filesystem.exchange_queue_t(routing_key or "", pattern or "", queue or "")
        with self._locked_tables():
            table = self.get_table(exchange)
            if entry not in table:
                _write(self._exchange_file(exchange), dumps([entry, *table]))

    def _delete(self, queue: str, exchange: str, routing_key: str, pattern: str, *args: Any, **kwargs: Any) -> None:
        self._purge(queue)
        entry = filesystem.exchange_queue_t(routing_key or "", pattern or "", queue or "")
        with self._locked_tables():
            table = self.get_table(exchange)
            if entry in table:
                _write(self._exchange_file(exchange), dumps([other for other in table if other != entry]))

    @contextmanager
    def _locked_tables(self) -> Iterator[None]:
        """Keep other processes from changing a table between reading and writing it."""
        with (Path(self.control_folder) / LOCK_FILE).open("a+b") as file:
            filesystem.lock(file, filesystem.LOCK_EX)
            try:
                yield
            finally:
                filesystem.unlock(file)


class Transport(filesystem.Transport):
    """kombu's file transport with that channel."""

    Channel = Channel


def install() -> None:
    """Make ``filesystem://`` mean this transport in this process."""
    TRANSPORT_ALIASES["filesystem"] = f"{__name__}:Transport"


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    temporary.write_text(text)
    os.replace(temporary, path)
