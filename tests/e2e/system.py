"""A running installation for end-to-end tests: the demo's programs by the demo's supervisor, with tiny settings."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import psycopg2  # type: ignore[import-untyped]
import pytest

from common.config_text import overlay
from common.parameters import default_text
from deploy.installation import KNOWN_PLAYERS, Installation, RunPlan
from deploy.processes import Child, tail

PATIENCE_S = 600.0
ODD_PREFIX = "tengen's 50% #1 & [b]?;é, "
"""How the folder's name begins: with what an address, a shell or a pattern may take for its own."""


class System:
    """A running installation, the database's answers about it, and its children by name."""

    def __init__(
        self,
        folder: Path,
        plan: RunPlan,
        *,
        patience_s: float,
        make: Callable[[Path], Installation],
        durable: bool = False,
    ) -> None:
        self.patience_s = patience_s
        self.installation = make(folder)
        self.installation.start_database(durable=durable)
        self.children: dict[str, Child] = {}
        try:
            self.installation.set_up(plan)
            self.connection = psycopg2.connect(self.installation.environment()["DATABASE_URL"])
        except BaseException:
            self.installation.stop_database()
            raise
        self.connection.autocommit = True

    @property
    def files(self) -> Path:
        """The folder of stored files."""
        return Path(self.installation.environment()["DATA_DIR"]) / "files"

    def start_server(self) -> None:
        """Start web process, workers, scheduler and trainer."""
        for program in self.installation.server_programs():
            self.children[program.name] = Child(program, self.installation.logs, program.environment)

    def start_client(self, *, games: int = 8) -> None:
        """Start a volunteer's client with one stream of so many games at once."""
        program = self.installation.client_program(games_per_stream=games, streams=1)
        self.children["client"] = Child(program, self.installation.logs, program.environment)

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
            return rows

    def one(self, query: str) -> int:
        """The one integer that a query answers."""
        (row,) = self.ask(query)
        assert isinstance(row[0], int)
        return row[0]

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        """Keep the children alive until the condition holds; fail with their logs if it does not in time."""
        deadline = time.monotonic() + self.patience_s
        while not condition():
            for child in self.children.values():
                child.keep_alive()
            if time.monotonic() > deadline:
                logs = "\n".join(f"--- {path.name}\n{tail(path, 12)}" for path in self.installation.logs.iterdir())
                state = self.ask("select activity, trouble, samples from training_trainingstate")
                pytest.fail(f"{what} did not come within {self.patience_s:.0f} s; training: {state}\n{logs}")
            time.sleep(0.1)  # the pace at which the condition is asked for

    def stop(self) -> None:
        """Stop the children, the last started first, then the database."""
        for child in reversed(list(self.children.values())):
            child.stop()
        self.connection.close()
        self.installation.stop_database()


@contextmanager
def running_system(
    name: str,
    *arguments: str,
    texts: Literal["7x7", "9-19"],
    selfplay: str,
    gating: str,
    training: Mapping[str, Any],
    patience_s: float = PATIENCE_S,
    make: Callable[[Path], Installation] = Installation,
    prefix: str = ODD_PREFIX,
    durable: bool = False,
) -> Iterator[System]:
    """An installation with the run ``name``, its programs not started yet; stopped and removed at the end.

    ``selfplay`` and ``gating`` are laid over the shipped texts ``texts`` (``7x7`` or ``9-19``). ``make`` makes the
    installation in its folder, which is none of pytest's: started by root, PostgreSQL runs as another user, and every
    pytest that starts closes pytest's folder to others. With ``durable`` the database keeps what was written when it is
    killed.
    """
    with TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as made:
        folder = Path(made)
        folder.chmod(0o755)
        settings = folder / "training.json"
        settings.write_text(json.dumps(training))
        files = ["--training-settings", str(settings)]
        laid_over: dict[Literal["selfplay", "gating"], str] = {"selfplay": selfplay, "gating": gating}
        for kind, changes in laid_over.items():
            path = folder / f"{kind}.cfg"
            path.write_text(overlay(default_text(kind, texts), changes))
            files += [f"--{kind}-config", str(path)]
        plan = RunPlan(name, (*KNOWN_PLAYERS, *arguments, *files))
        system = System(folder, plan, patience_s=patience_s, make=make, durable=durable)
        try:
            yield system
        finally:
            system.stop()
