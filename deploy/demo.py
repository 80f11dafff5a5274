"""``make demo``: the whole circle on this machine, from random play to gated networks, on 7×7.

Starts PostgreSQL, the web server, Celery's workers, the trainer and one client, each in a process group of its own, so
that the terminal's Ctrl-C reaches this supervisor alone; shows one live status; stops everything in order and goes on
where it was when it is run again.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import threading
import time
import traceback
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from client.contribute.warmup import ensure_compiled
from common.files import LockedError, lock
from deploy.installation import (
    CONTRIBUTOR,
    KNOWN_PLAYERS,
    LOG_FOLDER,
    MAINTAINER,
    ROOT,
    SECRETS_FILE,
    Installation,
    RunPlan,
    SetupError,
    check_port,
)
from deploy.processes import Child, ProcessFailedError, Program, end_leftovers

if TYPE_CHECKING:  # needs Django, which is set up only once the database runs
    from deploy.status import RunStatus

RUN_NAME: Final = "demo7"
GAMES_PER_STREAM: Final = 32
"""Few, so that a new network and a gate are taken up soon."""
READY_WITHIN_S: Final = 60.0
DATABASE_WITHIN_S: Final = 60.0
"""A killed PostgreSQL's last processes may take a while to go; before that, it cannot be started again."""
MAX_PORT: Final = 65535
REFRESH_S: Final = 2.0
LINE_EVERY_S: Final = 30.0
LOCK_FILE: Final = "demo.pid"
TRACEBACK_FILE: Final = "demo-error.log"

PLAN: Final = RunPlan(
    RUN_NAME,
    (
        *("--defaults", "7x7", "--data-board-len", "7", "--architecture", "b2c32-bn", "--lease-seconds", "120"),
        *KNOWN_PLAYERS,
        *("--training-settings", str(ROOT / "deploy" / "demo_training.json")),
    ),
)


def main(arguments: list[str] | None = None) -> int:
    """Run the demo; returns the exit code."""
    options = _parser().parse_args(arguments)
    console = Console()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        with _only_one(options.data):
            # What a killed demo left would hold the port and go on beside the new programs.
            if left := end_leftovers(options.data / LOG_FOLDER):
                say(console, f"ended what an earlier demo had left: {len(left)} processes")
            if options.port:
                check_port(options.port)
            return run(options.data, options.port, options.hours, stop, console)
    except (SetupError, ProcessFailedError, AlreadyRunningError) as error:
        reason = str(error)
    except Exception as error:  # whatever it was, everything is stopped by now
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}{_keep_traceback(options.data)}"
    console.print(f"[red]the demo cannot go on:[/red] {escape(reason)}", highlight=False, soft_wrap=True)
    return 1


def say(console: Console, text: str) -> None:
    """Print as it is: the name of a folder may look like markup."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--hours", type=_hours, help="end by itself after so many hours, counted from readiness")
    parser.add_argument("--data", type=Path, default=ROOT / "data" / "demo", help="folder of the installation")
    parser.add_argument("--port", type=_port, default=8420, help="port of the web pages; 0 = any free one")
    return parser


def _hours(text: str) -> float:
    try:
        hours = float(text)
    except ValueError:
        hours = math.nan
    if not 0 < hours < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of hours above 0")
    return hours


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > MAX_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; ports are 1 to {MAX_PORT}, and 0 is any free one")
    return int(text)


def _keep_traceback(folder: Path) -> str:
    """Write the error at hand to a file; where it is, as the end of a message."""
    path = folder / TRACEBACK_FILE
    with suppress(OSError):
        path.write_text(traceback.format_exc())
        return f" (details: {path})"
    return ""


class AlreadyRunningError(RuntimeError):
    """Another demo uses the same folder."""


def run(folder: Path, port: int, hours: float | None, stop: threading.Event, console: Console) -> int:
    """Start everything, watch it until ``stop`` or the end of ``hours``, and stop it again."""
    console.print("setting up: database, run, accounts …")
    installation = Installation(folder, port)
    with ExitStack() as database:
        database.callback(installation.stop_database)
        installation.start_database()
        with ExitStack() as programs:
            _start_and_watch(installation, programs, hours, stop, console)
        summary = _status()
    line = "no summary: the database does not answer" if summary is None else _line(summary)
    say(console, f"{line}\nrun `make demo` again to go on from here")
    return 0


def _start_and_watch(
    installation: Installation, programs: ExitStack, hours: float | None, stop: threading.Event, console: Console
) -> None:
    """Start the programs and watch them; leaving ``programs`` stops them, the last one first, whatever happened."""
    children: list[Child] = []

    def start(program: Program) -> None:
        child = Child(program, installation.logs, program.environment)
        programs.callback(child.stop)
        children.append(child)

    installation.set_up(PLAN)
    ensure_compiled(console.print)
    _set_up_django(installation)
    for program in installation.server_programs():
        start(program)
    _wait_until_ready(installation.url, children, stop)
    start(installation.client_program(games_per_stream=GAMES_PER_STREAM))
    _announce(installation, console)
    _watch(installation, children, hours, stop, console)
    console.print("stopping: the client first, then the server …")


def _set_up_django(installation: Installation) -> None:
    import django

    os.environ.update(installation.environment())
    os.environ["DJANGO_SETTINGS_MODULE"] = "server.settings"
    django.setup()


def _wait_until_ready(url: str, children: list[Child], stop: threading.Event) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while not stop.is_set():
        try:
            with urllib.request.urlopen(f"{url}/healthz/", timeout=5):
                return
        except (urllib.error.URLError, OSError) as error:
            if time.monotonic() > deadline:
                log = children[0].log_path
                raise SetupError(f"the web server at {url} does not answer ({error}); see {log}") from error
        for child in children:
            child.keep_alive()
        stop.wait(0.2)


def _announce(installation: Installation, console: Console) -> None:
    secrets = installation.secrets
    say(
        console,
        f"ready: {installation.url}/   pages of the run, networks, games\n"
        f"       {installation.url}/admin/   as {MAINTAINER} with the password {secrets['maintainer']}\n"
        f"       the client plays as {CONTRIBUTOR}, whose password is {secrets['contributor']}, by a token\n"
        f"       passwords are kept in {installation.folder / SECRETS_FILE}, logs in {installation.logs}\n"
        "Ctrl-C stops everything; the next `make demo` goes on from there",
    )


def _watch(
    installation: Installation, children: list[Child], hours: float | None, stop: threading.Event, console: Console
) -> None:
    """Show the status and keep database and children alive until it is time to stop."""
    began = time.monotonic()
    deadline = None if hours is None else began + 3600 * hours
    next_line = began
    with _display(console) as show:
        while not stop.is_set() and (deadline is None or time.monotonic() < deadline):
            _keep_database(installation, stop, console)
            for child in children:
                if child.keep_alive():
                    say(console, f"{child.program.name} ended and was started again; see {child.log_path}")
            now = time.monotonic()
            status = _status() if console.is_terminal or now >= next_line else None
            if status is not None:
                show(status, now - began)
                next_line = now + LINE_EVERY_S
            stop.wait(REFRESH_S)


def _keep_database(installation: Installation, stop: threading.Event, console: Console) -> None:
    """Start the database again if it is away. Raises `SetupError` where that does not succeed in time."""
    if installation.database_runs():
        return
    console.print("the database is away; it is started again")
    deadline = time.monotonic() + DATABASE_WITHIN_S
    while not stop.is_set():
        try:
            return installation.start_database()
        except SetupError:
            if time.monotonic() > deadline:
                raise
        stop.wait(REFRESH_S)


@contextmanager
def _display(console: Console) -> Iterator[Callable[[RunStatus, float], None]]:
    """A live table on a terminal, a line from time to time elsewhere."""
    live = Live(console=console, auto_refresh=False) if console.is_terminal else None
    with live or nullcontext():

        def show(status: RunStatus, elapsed: float) -> None:
            if live is not None:
                live.update(_table(status, elapsed), refresh=True)
            else:
                say(console, f"{_clock(elapsed)}  {_line(status)}")

        yield show


def _status() -> RunStatus | None:
    """A look at the run; None where the database does not answer."""
    from django.db import InterfaceError, OperationalError, connections

    from deploy.status import read_status

    try:
        return read_status(RUN_NAME)
    except (InterfaceError, OperationalError):
        connections.close_all()  # else the broken connection would be used for ever
        return None


def _table(status: RunStatus, elapsed: float) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in _facts(status):
        table.add_row(name, value)
    table.add_row("running for", _clock(elapsed))
    return table


def _line(status: RunStatus) -> str:
    return ", ".join(f"{name} {value}" for name, value in _facts(status))


def _facts(status: RunStatus) -> list[tuple[str, str]]:
    losses = ", ".join(f"{name} {value:.3f}" for name, value in sorted(status.losses.items()) if name in SHOWN_LOSSES)
    gate = status.gate
    facts = [
        ("games", f"{status.games:,} ({status.rows:,} rows, {status.refused} refused)"),
        ("trained", f"{status.samples:,} samples" + (f" ({losses})" if losses else "")),
        ("network", f"{status.current or '-'} ({status.promoted} promoted of {status.candidates} candidates)"),
        ("Elo", "-" if status.elo is None else f"{status.elo:.0f} ± {2 * status.elo_error:.0f}"),
        ("gate", "-" if gate is None else f"{gate.candidate} {gate.points:g} of {gate.played} (of {gate.games})"),
    ]
    return facts + ([("trouble", status.trouble)] if status.trouble else [])


SHOWN_LOSSES: Final = ("policy", "value")


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02}:{int(seconds) % 60:02}"


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Refuse to start a second demo in the same folder; a lock of a killed demo does not count."""
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            held.enter_context(lock(folder / LOCK_FILE))
        except LockedError:
            raise AlreadyRunningError(f"another one runs in {folder}; stop it, or choose --data and --port") from None
        except OSError as error:
            why = "it is no folder" if folder.is_file() else error.strerror
            told = f"--data {folder} cannot be used: {why}; name a folder that can be made or written"
            raise SetupError(told) from error
        yield


if __name__ == "__main__":
    sys.exit(main())
