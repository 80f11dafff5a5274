"""Every command of README.md and deploy/README.md is run as it is printed, each as its role, or listed with a reason.

In a fresh copy of the code, in a folder with an odd name; only what is a placeholder in the text is replaced (the table
`PLACEHOLDERS`). A command that is added to the text is run from then on without a change here.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from deploy.installation import ROOT, Installation
from deploy.processes import Child, Program, tail
from server import database
from server.settings import database_settings
from tests import FIXTURES
from tests.e2e.readme import DEPLOYMENT, NOT_RUN, README, Block, blocks, fresh_checkout, why_not_run
from tests.e2e.services import free_port
from tests.e2e.system import ODD_PREFIX

pytestmark = pytest.mark.e2e

PATIENCE_S: Final = 600.0
NETS: Final = FIXTURES / "nets"
FILES: Final = {
    "net.bin.gz": "mini-nbt-fson-mish-rvgl-bnh.bin.gz",
    "a.bin.gz": "mini-nbt-fson-mish-rvgl-bnh.bin.gz",
    "b.bin.gz": "mini-v13-fs-mish.bin.gz",
}
"""Networks that a reader is supposed to have."""
PLACEHOLDERS: Final = {
    r"^manage\.py ": "python manage.py ",
    r"\bcreate_run NAME …": "create_run other",
    r"\bcreate_run NAME ": "create_run another ",
    r"\badd_contributor NAME": "add_contributor somebody",
    r"\bset_role NAME": "set_role somebody",
    r"\badd_network RUN FILE": "add_network small7 net.bin.gz",
    r"\badd_token NAME": "add_token somebody",
    r"\bset_run NAME": "set_run other",
    r"\bset_run_state NAME ": "set_run_state other ",
    r"\bexclude_games user NAME": "exclude_games user somebody",
    r"\brequeue_games RUN ": "requeue_games small7 ",
    r"\bcompute_ratings RUN ": "compute_ratings small7 ",
    r"--games 1000000": "--games 100",
    r"\bsudo -u postgres psql ": "{psql} ",
    r"@localhost:5432/tengen": "@/tengen?host={host}",
    r"^gunicorn server\.wsgi": "gunicorn server.wsgi --bind 127.0.0.1:{port}",
    r"https://go\.example\.org": "http://127.0.0.1:{port}",
    r"--gpus 0,1": "--gpus cpu",
    r"--username you --password …": "--username alice --password {password}",
}
"""What the text leaves to the reader, and what a reader here would write."""
QUEUES: Final = ("audit", "ratings", "recheck", "training")
LASTING: Final = r"gunicorn |celery -A server |\.venv/bin/python -m client --gpus"
"""Commands that go on until they are stopped."""
MAINTAINER, VOLUNTEER, RESEARCHER = "For maintainers", "For volunteers", "For researchers"
PLAYER: Final = "For players"
ROLES: Final = {
    (README, "Try it"),
    (README, PLAYER),
    (README, VOLUNTEER),
    (README, MAINTAINER),
    (README, RESEARCHER),
    (DEPLOYMENT, "Start"),
    (DEPLOYMENT, "Without containers"),
}
"""Sections whose commands the tests below run."""


def to_run(document: str, section: str) -> list[tuple[Block, str]]:
    """The commands of a section that are not listed, in their order."""
    found = [block for block in blocks(document) if block.section == section]
    return [(block, command) for block in found for command in block.commands() if not why_not_run(command)]


class Shell:
    """A terminal in a folder: each command goes on in the environment that the one before left."""

    def __init__(self, folder: Path, state: Path) -> None:
        self.folder = folder
        self.values: dict[str, str] = {}
        self._state = state
        names = ("SECRET_KEY", "DATABASE_URL", "DATA_DIR", "DJANGO_SETTINGS_MODULE", "PYTHONPATH", "BROKER_URL")
        self.environment = {name: value for name, value in os.environ.items() if name not in names}

    def script(self, command: str) -> list[str]:
        for place, here in PLACEHOLDERS.items():
            command = re.sub(place, lambda _, here=here: here.format_map(self.values), command)  # type: ignore[misc]
        state = shlex.quote(str(self._state))
        return ["bash", "-e", "-o", "pipefail", "-c", f"[ -f {state} ] && . {state}\n{command}\nexport -p > {state}"]

    def run(self, command: str) -> str:
        """What a command prints that has to succeed; asked anything, it reads ``quit``."""
        result = subprocess.run(
            self.script(command), cwd=self.folder, env=self.environment, capture_output=True, text=True, input="quit\n"
        )
        assert result.returncode == 0, f"{command}\n{result.stdout[-2000:]}\n{result.stderr[-3000:]}"
        return result.stdout

    def start(self, name: str, command: str) -> Child:
        """Run a command that lasts, in a terminal of its own."""
        *shell, script = self.script(command)
        before, lasting, _ = script.split("\n")
        moved = f"cd {shlex.quote(str(self.folder))}"
        program = Program(name, [*shell, f"{moved}\n{before}\nexec {lasting}"])  # signals reach it, not the shell
        return Child(program, self._state.parent, self.environment)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=ODD_PREFIX, ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)  # started by root, PostgreSQL runs as another user
        checkout = fresh_checkout(Path(name) / "tengen")
        for file, fixture in FILES.items():
            shutil.copy(NETS / fixture, checkout / file)
        yield checkout


@pytest.fixture(scope="module")
def postgres(folder: Path) -> Iterator[str]:
    """Address of a PostgreSQL, which is also that of a demo in the fresh checkout."""
    installation = Installation(folder / "data" / "demo")
    installation.start_database(durable=False)
    yield installation.environment()["DATABASE_URL"]
    installation.stop_database()


@pytest.fixture(scope="module")
def maintainer(folder: Path, postgres: str) -> Shell:
    """A maintainer's terminal in which the recipe without Docker was followed up to the processes."""
    shell = Shell(folder, folder.parent / "maintainer")
    host = database_settings(postgres)["HOST"]
    psql = f"{shlex.quote(str(database._bin_path() / 'psql'))} -h {host} -U postgres"
    shell.values |= {"psql": psql, "host": host, "port": str(free_port())}
    for block, command in to_run(README, MAINTAINER):
        if not block.inline and not re.match(LASTING, command):
            said = shell.run(command)
            if command.endswith("add_contributor alice"):
                shell.values["password"] = said.split("password: ")[1].strip()
    return shell


@pytest.fixture(scope="module")
def server(maintainer: Shell) -> Iterator[dict[str, Child]]:
    """The processes of the recipe, by their commands."""
    lasting = [command for _, command in to_run(README, MAINTAINER) if re.match(LASTING, command)]
    children = {command: maintainer.start(f"server{i}", command) for i, command in enumerate(lasting)}
    yield children
    for child in children.values():
        child.stop()


def page_of(port: str, path: str) -> str | None:
    """A page of the web server; None while there is none, as before it has started."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=60) as page:
            return str(page.read().decode())
    except OSError:
        return None


def wait_until(condition: Callable[[], bool], children: dict[str, Child], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        logs = "\n".join(f"--- {command}\n{tail(child.log_path)}" for command, child in children.items())
        assert all(child.running() for child in children.values()), f"one has ended\n{logs}"
        assert time.monotonic() < deadline, f"{what} did not come\n{logs}"
        time.sleep(0.2)  # the pace at which the condition is asked for


def test_every_command_is_run_or_listed_with_a_reason() -> None:
    found = [
        (document, block, command)
        for document in (README, DEPLOYMENT)
        for block in blocks(document)
        for command in block.commands()
    ]
    assert len(found) > 30
    unknown = [
        command
        for document, block, command in found
        if not why_not_run(command) and (document, block.section) not in ROLES
    ]
    assert not unknown, "in a section whose commands no test here runs"
    unused = [start for start in NOT_RUN if not any(re.match(start, command) for _, _, command in found)]
    assert not unused, "listed, but printed nowhere"


def test_what_is_replaced_is_printed_and_nothing_else_looks_like_a_placeholder(tmp_path: Path) -> None:
    commands = [command for document, section in ROLES for _, command in to_run(document, section)]
    unused = [place for place in PLACEHOLDERS if not any(re.search(place, command) for command in commands)]
    assert not unused
    shell = Shell(tmp_path, tmp_path / "state")
    shell.values |= dict.fromkeys(("psql", "host", "port", "password"), "here")
    left = [
        command
        for command in commands
        if re.search(r"…|example\.org|\b[A-Z]{4,}\b(?=[^=]*$)", shell.script(command)[-1].splitlines()[1])
    ]
    assert not [command for command in left if "CREATE ROLE" not in command and "<<END" not in command]


def test_a_maintainer_without_docker_has_a_server(maintainer: Shell, server: dict[str, Child], folder: Path) -> None:
    """The processes run, see one database, and leave nothing in the checkout but what git ignores."""
    port = maintainer.values["port"]

    wait_until(lambda: page_of(port, "healthz/") is not None, server, "the web server")
    assert "small7" in (page_of(port, "runs/small7/") or "")
    control = folder / "data" / "broker" / "control"
    wait_until(lambda: all((control / f"{queue}.exchange").exists() for queue in QUEUES), server, "workers and beat")
    logs = [child.log_path for child in server.values()]
    assert not any("Traceback" in log.read_text() for log in logs)
    assert {path.name for path in folder.iterdir()} - {path.name for path in ROOT.iterdir()} <= {
        *FILES,
        "data",
        "tengen.env",
        ".venv",
        "__pycache__",
    }


@pytest.mark.slow
def test_the_maintainers_other_commands(maintainer: Shell) -> None:
    for section in ((README, MAINTAINER), (DEPLOYMENT, "Without containers"), (DEPLOYMENT, "Start")):
        for block, command in to_run(*section):
            if (block.inline or block.document == DEPLOYMENT) and not re.match(LASTING, command):
                maintainer.run(command)


def test_the_demos_data_are_reached_as_printed(folder: Path, postgres: str) -> None:
    shell = Shell(folder, folder.parent / "demo")
    shell.run(".venv/bin/python -m deploy.manage migrate --verbosity 0")  # what the demo has done
    for _, command in to_run(README, "Try it"):
        assert "password: " in shell.run(command)


@pytest.mark.slow
def test_a_volunteer_plays_for_the_server(maintainer: Shell, server: dict[str, Child], folder: Path) -> None:
    (command,) = [command for _, command in to_run(README, VOLUNTEER) if re.match(LASTING, command)]
    volunteer = Shell(folder, folder.parent / "volunteer")
    volunteer.values = maintainer.values
    volunteer.environment["TENGEN_DATA_DIR"] = str(folder.parent / "client")
    client = volunteer.start("client", command)

    def played() -> bool:
        return "/game/training/" in (page_of(maintainer.values["port"], "games/small7/") or "")

    try:
        wait_until(played, server | {"client": client}, "a game")
    finally:
        client.stop()


@pytest.mark.slow
def test_a_researcher_needs_no_server(folder: Path) -> None:
    shell = Shell(folder, folder.parent / "researcher")
    for section in (VOLUNTEER, RESEARCHER):
        for _, command in to_run(README, section):
            if not re.match(LASTING, command):
                shell.run(command)
