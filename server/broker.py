"""Celery's file broker, in files that appear whole, and that may be damaged without harm.

kombu's transport makes a message's file and then fills it, so a worker that looks in between reads nothing and ends;
the table of an exchange has the same gap. Here both are written beside and renamed. What a power cut or a hand damaged
all the same is set aside with a warning, since a message is only a hint that there is work, and a table is made again
from the bindings that each process declares. Used where `BROKER_URL` is ``filesystem://``, that is in the demo and in
tests of whole systems; knows nothing of tasks.
"""

# mypy: allow-untyped-calls
# kombu says that it is typed and annotates only a part.

from __future__ import annotations

import logging
import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty
from time import time, time_ns
from typing import Any, Final

from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.json import dumps, loads

from common.files import written_whole

LOCK_FILE: Final = "tables.lock"
ABANDONED_S: Final = 3600.0
"""Nobody takes so long to write a file, or to read one."""
_BINDING: Final = threading.Lock()

logger = logging.getLogger(__name__)


class Channel(filesystem.Channel):
    """A channel whose files appear complete; its folders are made, and tidied, when it is opened."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for folder in {Path(self.data_folder_in), Path(self.data_folder_out), Path(self.control_folder)}:
            folder.mkdir(parents=True, exist_ok=True)
            sweep(folder)

    def _put(self, queue: str, payload: Any, **_: Any) -> None:  # type: ignore[override]  # kombu's own bases disagree
        name = f"{time_ns():020d}_{uuid.uuid4()}.{queue}.msg"
        _write(Path(self.data_folder_out) / name, dumps(payload))

    def _get(self, queue: str, timeout: Any = None) -> Any:
        """The next message of a queue that can be read. What cannot be read is removed, with a warning."""
        folder = Path(self.data_folder_in)
        for name in sorted(os.listdir(folder)):
            if name.partition(".")[2] != f"{queue}.msg":
                continue
            taken = folder / f".{name}.taken"
            try:
                os.rename(folder / name, taken)  # by one reader only
                text = taken.read_bytes()
                taken.unlink()
            except FileNotFoundError:
                continue
            except OSError as error:
                logger.warning("the message %s cannot be read and is passed over: %s", taken, error)
                continue
            payload = self._payload(text)
            if payload is not None:
                return payload
            logger.warning("the message %s is damaged and is passed over; the schedule gives it again", name)
        raise Empty

    def _payload(self, text: bytes) -> Any:
        """What a message's file holds; None if no message can be made of it."""
        try:
            payload = loads(text)
            message = self.Message(payload, channel=self)
            info = message.delivery_info
            complete = isinstance(message.delivery_tag, str) and {"exchange", "routing_key"} <= info.keys()
        except Exception:  # whatever the bytes are, and whatever kombu's decoders make of them
            return None
        return payload if complete else None

    def get_table(self, exchange: str) -> list[Any]:
        """The queues bound to an exchange; those that this process has bound where the file says nothing."""
        table = self._read_table(exchange)
        if table is None:
            with self._locked_tables():
                table = self._table(exchange)
                _write(self._exchange_file(exchange), dumps(table), keep=True)
        return table

    def _table(self, exchange: str) -> list[Any]:
        """As `get_table`, for one who holds the lock and writes the table."""
        table = self._read_table(exchange)
        if table is not None:
            return table
        if (path := self._exchange_file(exchange)).exists():
            logger.warning("the table %s is damaged and is made again", path)
        bound = dict.fromkeys(tuple(part or "" for part in entry) for entry in self._bound(exchange))
        return [filesystem.exchange_queue_t(*entry) for entry in bound]

    def _bound(self, exchange: str) -> list[Any]:
        """What this process has bound to an exchange, as kombu keeps it."""
        bound: list[Any] = self.state.exchanges.get(exchange, {}).get("table", [])
        return bound

    def _read_table(self, exchange: str) -> list[Any] | None:
        """What the file says; None where it says nothing that can be understood."""
        try:
            table = loads(self._exchange_file(exchange).read_bytes())
            entries = [filesystem.exchange_queue_t(*entry) for entry in table] if isinstance(table, list) else None
        except FileNotFoundError:
            return None if self._bound(exchange) else []
        except (ValueError, TypeError, RecursionError, OSError):
            return None
        return entries if all(isinstance(part, str) for entry in entries or () for part in entry) else None

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
            table = self._table(exchange)
            if entry not in table:
                table.insert(0, entry)
            if table != self._read_table(exchange):
                _write(self._exchange_file(exchange), dumps(table), keep=True)

    def _delete(self, queue: str, exchange: str, routing_key: str, pattern: str, *args: Any, **kwargs: Any) -> None:
        self._purge(queue)
        entry = filesystem.exchange_queue_t(routing_key or "", pattern or "", queue or "")
        with self._locked_tables():
            table = [other for other in self._table(exchange) if other != entry]
            if table != self._read_table(exchange):
                _write(self._exchange_file(exchange), dumps(table), keep=True)

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


def sweep(folder: Path) -> None:
    """Remove what killed processes left in ``folder``: half-written files, and messages taken but not read."""
    for path in folder.glob(".*"):
        try:
            if path.stat().st_mtime < time() - ABANDONED_S:
                path.unlink()
        except OSError as error:  # another process sweeps too, or it is no file
            logger.debug("%s is left where it is: %s", path, error)


def _write(path: Path, text: str, *, keep: bool = False) -> None:
    """Write a file that appears whole; one to ``keep`` is on the disk before it appears."""
    with written_whole(path, beside=path.with_name(f".{path.name}.{uuid.uuid4().hex}"), durable=keep) as temporary:
        temporary.write_text(text)
