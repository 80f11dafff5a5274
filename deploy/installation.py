"""One complete installation in a folder: database, settings, run, accounts, and the programs that serve it.

`Installation` knows where everything of it lies and how it is set up; `deploy.demo` and the end-to-end tests use it, so
both start the same processes. Nothing here waits for the user or prints.

The folder: ``postgres/`` the database, ``data/`` files and messages, ``client/`` the volunteer's spool and networks,
``logs/`` one log per program, ``secrets.json`` (readable by its owner alone) the passwords that were made. All of it
may lie in a folder of any name in which PostgreSQL can work (`server.database`).
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from common.files import written_whole
from deploy.processes import Program
from server import database

ROOT: Final = Path(__file__).resolve().parent.parent
CONTRIBUTOR: Final = "demo"
MAINTAINER: Final = "maintainer"
CLIENT_STOP_S: Final = 30.0
CLIENT_NICENESS: Final = 5
"""Its games take whatever server and trainer leave."""
QUEUES: Final = ("audit", "ratings", "recheck")
"""Of which each has a worker of its own; the trainer has that of the training."""
TRAINER_STOP_S: Final = 90.0
KNOWN_PLAYERS: Final = ("--watch-games", "0", "--no-quarantines", "--no-prove-texts", "--gate-replays", "0")
"""Options of a run whose clients are one's own: nobody has to be looked at first."""
LOG_FOLDER: Final = "logs"
SECRETS_FILE: Final = "secrets.json"
_BYTES: Final = {"secret_key": 50, "contributor": 12, "maintainer": 12}
_NEW: Final = "new"
"""Key in the secrets as long as the accounts do not have these passwords."""


class SetupError(RuntimeError):
    """A step of the set-up failed; the text is the end of what it printed."""


@dataclass(frozen=True)
class RunPlan:
    """The run that an installation serves: the arguments of ``manage.py create_run``."""

    name: str
    arguments: tuple[str, ...]


class Installation:
    """An installation in ``folder``, reached at ``port`` on this machine (0 = any free port)."""

    def __init__(self, folder: Path, port: int = 0, extra_environment: dict[str, str] | None = None) -> None:
        self.folder = folder.resolve()
        self.logs = self.folder / LOG_FOLDER
        self.logs.mkdir(parents=True, exist_ok=True)
        self.port = port or _free_port()
        self.secrets = load_secrets(self.folder / SECRETS_FILE)
        self._extra = extra_environment or {}
        self._database_url = ""
        self._token = ""

    @property
    def url(self) -> str:
        """The web address."""
        return f"http://127.0.0.1:{self.port}"

    def start_database(self, *, durable: bool = True) -> None:
        """Start PostgreSQL, unless it runs; everything else is told its address.

        Raises:
            SetupError: it does not start.
        """
        folder = self.folder / "postgres"
        try:
            self._database_url = database.start(folder, durable=durable)
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            raise SetupError(f"PostgreSQL does not start ({error}); its log is {folder / 'log'}") from error

    def database_runs(self) -> bool:
        """Whether PostgreSQL is there."""
        return database.is_running(self.folder / "postgres")

    def stop_database(self) -> None:
        """Stop PostgreSQL."""
        database.stop(self.folder / "postgres")

    def environment(self) -> dict[str, str]:
        """Environment of every server program."""
        return (
            os.environ
            | {
                "DATABASE_URL": self._database_url,
                "BROKER_URL": "filesystem://",
                "DATA_DIR": str(self.folder / "data"),
                "SECRET_KEY": self.secrets["secret_key"],
                "ALLOWED_HOSTS": "127.0.0.1,localhost",
                "HTTPS": "false",
                # On a busy core, two threads that wait for each other come to a standstill.
                "OMP_NUM_THREADS": "1",
                "PYTHONUNBUFFERED": "1",
                "PYTHONPATH": str(ROOT),
            }
            | self._extra
        )

    def set_up(self, plan: RunPlan) -> None:
        """Bring the database to the current shape; make run and accounts that are missing. Safe to repeat.

        Raises:
            SetupError: a step failed.
        """
        self.manage("migrate", "--noinput", "--verbosity", "0")
        self.manage("create_run", plan.name, "--if-missing", *plan.arguments)
        # Only new passwords are put over old ones: a maintainer may have changed theirs in the admin pages.
        known = "--set-password" if _NEW in self.secrets else "--if-missing"
        account = ("add_contributor", known, "--password-stdin")
        self.manage(*account, CONTRIBUTOR, typed=self.secrets["contributor"])
        self.manage(*account, MAINTAINER, "--maintainer", typed=self.secrets["maintainer"])
        if self.secrets.pop(_NEW, ""):
            _write_secrets(self.folder / SECRETS_FILE, self.secrets)
        # A new one for each start: it is kept nowhere.
        self._token = self.manage("add_token", CONTRIBUTOR, "--label", "this machine", "--replace").strip()

    def manage(self, *arguments: str, typed: str = "") -> str:
        """Run a management command that reads ``typed`` and return what it printed.

        Raises:
            SetupError: it failed.
        """
        command = [sys.executable, str(ROOT / "manage.py"), *arguments]
        result = subprocess.run(command, env=self.environment(), capture_output=True, text=True, input=typed)
        if result.returncode:
            raise SetupError(f"manage.py {' '.join(arguments)}:\n{(result.stderr or result.stdout).strip()[-2000:]}")
        return result.stdout

    def server_programs(self) -> list[Program]:
        """Web process, workers by queue, scheduler, trainer; in the order in which they are started."""
        environment = self.environment()
        celery = [sys.executable, "-m", "celery", "-A", "server"]
        quiet = [
            "--without-mingle",
            "--without-gossip",
            "--without-heartbeat",
        ]  # one worker per queue: nothing to agree on
        return [
            Program(
                "web",
                [
                    *(sys.executable, "-m", "gunicorn", "server.wsgi", "--config", str(ROOT / "gunicorn.conf.py")),
                    *("--chdir", str(ROOT), "--bind", f"127.0.0.1:{self.port}", "--workers", "1"),
                ],
                environment,
            ),
            *(
                Program(
                    queue,
                    [*celery, "worker", "-Q", queue, "-n", f"{queue}@%h", "--pool", "solo", "-l", "INFO", *quiet],
                    environment,
                )
                for queue in QUEUES
            ),
            Program("beat", [*celery, "beat"], environment),
            self.trainer_program(),
        ]

    def trainer_program(self) -> Program:
        """The worker that trains."""
        command = [sys.executable, "-m", "celery", "-A", "server", "worker", "-Q", "training", "-n", "trainer@%h"]
        return Program(
            "trainer",
            [*command, "--pool", "solo", "-l", "INFO", "--without-mingle", "--without-gossip", "--without-heartbeat"],
            self.environment(),
            stop_within_s=TRAINER_STOP_S,
        )

    def client_program(self, *, games_per_stream: int = 0, streams: int = 0) -> Program:
        """A volunteer's client on this machine, after `set_up`."""
        command = [sys.executable, "-m", "client", "--gpus", "cpu", "--server-url", self.url]
        command += ["--data-dir", str(self.folder / "client")]
        command += ["--task-rep-factor", "16"]
        command += ["--games-per-stream", str(games_per_stream)] if games_per_stream else []
        command += ["--cpu-streams", str(streams)] if streams else []
        environment = os.environ | {
            "TENGEN_TOKEN": self._token,
            "PYTHONUNBUFFERED": "1",
            "PYTHONPATH": str(ROOT),
        }
        return Program(
            "client",
            command,
            environment,
            stop_signal=signal.SIGINT,
            stop_within_s=CLIENT_STOP_S,
            niceness=CLIENT_NICENESS,
        )


def load_secrets(path: Path) -> dict[str, str]:
    """The passwords of an installation; made, and marked as new, where the file is missing or damaged."""
    try:
        loaded = json.loads(path.read_bytes())
        return {name: str(loaded[name]) for name in _BYTES} | ({_NEW: "yes"} if _NEW in loaded else {})
    except (FileNotFoundError, ValueError, TypeError, KeyError):  # a power cut may leave an empty file
        made = {name: secrets.token_urlsafe(count) for name, count in _BYTES.items()} | {_NEW: "yes"}
        _write_secrets(path, made)
        return made


def _write_secrets(path: Path, values: dict[str, str]) -> None:
    """Write the file so that it is there whole, and for its owner alone, or not at all."""
    with written_whole(path) as temporary:
        temporary.unlink(missing_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w") as file:
            json.dump(values, file, indent=1)


def check_port(port: int) -> None:
    """Refuse a ``port`` of this machine that no web server could be given.

    Raises:
        SetupError: it is taken, or not for us.
    """
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the web server does
        try:
            listener.bind(("127.0.0.1", port))
            listener.listen()
        except OSError as error:
            why = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            raise SetupError(f"port {port} {why}; choose another with --port") from error


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
