"""Uploads and requests for jobs of 500 accounts on two gunicorn workers; what they take, and what it costs.

``python -m tests.benchmarks.load HEADERS GAMES --uploads 80`` starts the web process on the database of the environment
(prepared by `prepare`), lets locust's users come, and prints times of answers and the processor time of every part.
``--audit`` starts a worker of the audit beside them, ``--outage 20`` kills the web process for so many seconds in the
middle, ``--pressing 7`` lets strangers press on pages and guess at passwords. All of it runs on this machine: the
generator's own processor time is told.
"""

from __future__ import annotations

import argparse
import csv
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import psutil  # type: ignore[import-untyped]

from deploy.installation import ROOT
from deploy.processes import Child, Program
from tests.e2e.services import free_port

_SHOWN: Final = ("50%", "95%", "99%", "99.9%", "Max Response Time")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.load", description=__doc__)
    parser.add_argument("headers", type=Path)
    parser.add_argument("games", type=Path)
    parser.add_argument("--uploads", type=float, default=0.0, help="per second")
    parser.add_argument("--jobs", type=float, default=0.0, help="requests for jobs per second")
    parser.add_argument("--users", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=180)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--audit", action="store_true")
    parser.add_argument("--pressing", type=int, default=0, help="strangers who press on pages; as many guess passwords")
    parser.add_argument("--outage", type=float, default=0.0)
    told = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="tengen-load-") as folder:
        _measure(told, Path(folder))


def _measure(told: argparse.Namespace, folder: Path) -> None:
    port = free_port()
    web = Child(_web(port, told.workers), folder, os.environ)
    parts = {"web": psutil.Process(web.pid)}
    children = [web]
    if told.audit:
        children.append(Child(_audit(), folder, os.environ))
        parts["audit"] = psutil.Process(children[-1].pid)
    try:
        time.sleep(10.0)  # until everything is loaded
        generator = subprocess.Popen(_locust(told, port, folder), env=_environment(told), stderr=subprocess.DEVNULL)
        parts["generator"] = psutil.Process(generator.pid)
        parts["database"] = _postmaster()
        time.sleep(20.0)  # users come within five seconds, and the first answers are no measure
        before, began = {name: _seconds(process) for name, process in parts.items()}, time.monotonic()
        if told.outage:
            time.sleep(told.seconds / 2)
            web.kill()
            time.sleep(told.outage)
            web.keep_alive()
            time.sleep(max(0.0, told.seconds / 2 - told.outage))
            del parts["web"]
        else:
            time.sleep(told.seconds)
        passed = time.monotonic() - began
        used = {name: _seconds(process) - before[name] for name, process in parts.items()}
        generator.send_signal(signal.SIGTERM)
        generator.wait(60)
    finally:
        for child in reversed(children):
            child.stop()
    _print(folder / "load_stats.csv", used, passed)
    with (folder / "load_failures.csv").open(newline="") as lines:
        for row in csv.DictReader(lines):
            print(f"{row['Occurrences']} times: {row['Name']}: {row['Error'][:200]}")


def _web(port: int, workers: int) -> Program:
    command = [sys.executable, "-m", "gunicorn", "server.wsgi", "--config", str(ROOT / "gunicorn.conf.py")]
    command += ["--chdir", str(ROOT), "--bind", f"127.0.0.1:{port}", "--workers", str(workers)]
    return Program("web", command, {"TRUST_PROXY": "true", "NUM_PROXIES": "1"})


def _audit() -> Program:
    command = [sys.executable, "-m", "celery", "-A", "server", "worker", "-Q", "audit", "-n", "audit@%h", "--beat"]
    return Program("audit", [*command, "--pool", "solo", "-l", "INFO", "--without-mingle", "--without-gossip"])


def _locust(told: argparse.Namespace, port: int, folder: Path) -> list[str]:
    command = [sys.executable, "-m", "locust", "-f", str(Path(__file__).parent / "locustfile.py"), "--headless"]
    command += [
        "--host",
        f"http://127.0.0.1:{port}",
        "--users",
        str(told.users + 2 * told.pressing),
        "--spawn-rate",
        "100",
    ]
    return [*command, "--reset-stats", "--only-summary", "--csv", str(folder / "load"), "--loglevel", "ERROR"]


def _environment(told: argparse.Namespace) -> dict[str, str]:
    files = {"LOAD_HEADERS": str(told.headers), "LOAD_GAMES": str(told.games)}
    rates = {"LOAD_USERS": str(told.users), "LOAD_UPLOADS": str(told.uploads), "LOAD_JOBS": str(told.jobs)}
    return os.environ | files | rates | {"LOAD_PRESSING": str(told.pressing), "PYTHONPATH": str(ROOT)}


def _postmaster() -> psutil.Process:
    """The PostgreSQL that serves the environment's database, which is on this machine."""
    import psycopg2  # type: ignore[import-untyped]

    connection = psycopg2.connect(os.environ["DATABASE_URL"])
    try:
        return psutil.Process(connection.info.backend_pid).parent()
    finally:
        connection.close()


def _seconds(process: psutil.Process) -> float:
    """Processor time of a process and all that it started so far, those that have ended included."""
    found = 0.0
    for each in (process, *process.children(recursive=True)):
        times = each.cpu_times()
        found += times.user + times.system
    ended = process.cpu_times()
    return float(found + ended.children_user + ended.children_system)


def _print(file: Path, used: dict[str, float], passed: float) -> None:
    names = [name.removesuffix(" Response Time").lower() for name in _SHOWN]
    print(f"| | requests | a second | failed | {' | '.join(names)} |\n|---|---|---|---|{'---|' * len(_SHOWN)}")
    with file.open(newline="") as lines:
        for row in csv.DictReader(lines):
            times = " | ".join(f"{float(row[column]):.0f} ms" for column in _SHOWN)
            count, failed = int(row["Request Count"]), int(row["Failure Count"])
            rate = float(row["Requests/s"])
            print(f"| {row['Name']} | {count} | {rate:.1f} | {failed} | {times} |")
    print(f"processor time over {passed:.0f} s, in cores: ", end="")
    print(", ".join(f"{name} {seconds / passed:.2f}" for name, seconds in used.items()))
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
