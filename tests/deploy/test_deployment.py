"""What ``deploy/`` says holds: its settings are sound, its containers confined, its packages known by their hashes."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import psycopg2  # type: ignore[import-untyped]
import pytest
import yaml
from django.conf import settings as django_settings
from packaging.requirements import Requirement

from deploy.installation import QUEUES, ROOT
from deploy.lock import LOCKS, REQUIREMENTS, entries
from server import database
from server.celery import app
from server.settings import database_settings

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "tengen-server"}
TYPED = {
    "SECRET_KEY": "0123456789abcdef" * 4,
    "ALLOWED_HOSTS": "tengen.example.org",
    "POSTGRES_PASSWORD": "1a2b3c4d5e",
    "DATABASE_PASSWORD": "2a2b3c4d5e",
    "RABBITMQ_PASSWORD": "3a2b3c4d5e",
}
"""What an operator fills in."""


def example() -> dict[str, str]:
    """deploy/env.example, filled in."""
    lines = (ROOT / "deploy" / "env.example").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#")) | TYPED


def environment_of(service: str) -> dict[str, str]:
    """What compose gives a service: its file first, over that what stands with the service."""

    def filled(text: str) -> str:
        return re.sub(r"\$\{(\w+)(?::[?-][^}]*)?\}", lambda found: example().get(found[1], ""), text)

    return example() | {name: filled(str(value)) for name, value in SERVICES[service]["environment"].items()}


# ----------------------------------------------------------------------------------------------------------- settings


def test_djangos_checks_of_a_deployment_find_nothing(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "NUMBA_CACHE_DIR")}
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "INFO"]
    told = environment_of("web") | {"DATA_DIR": str(tmp_path)}
    found = subprocess.run(command, cwd=ROOT, env=environment | told, capture_output=True, text=True, timeout=300)
    assert (found.returncode, found.stderr) == (0, ""), found.stderr
    assert "no issues (1 silenced)" in found.stdout


def test_the_file_of_secrets_is_no_part_of_the_repository() -> None:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("no checkout")
    ignored = subprocess.run(
        ["git", "check-ignore", "deploy/.env", "tengen.env"], cwd=ROOT, capture_output=True, text=True
    )
    assert ignored.stdout.split() == ["deploy/.env", "tengen.env"]
    tracked = subprocess.run(["git", "ls-files", "deploy"], cwd=ROOT, capture_output=True, text=True)
    assert "deploy/.env\n" not in tracked.stdout


# --------------------------------------------------------------------------------------------------------- containers


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_is_confined(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["pids_limit"] <= 256
    assert "mem_limit" in service
    assert service["read_only"] is (name != "rabbitmq")
    assert not service.get("privileged")
    assert bool(service.get("cap_add")) is (name not in OURS)


def test_only_nginx_is_reached_from_outside_and_only_ours_reach_the_database() -> None:
    assert [name for name, service in SERVICES.items() if service.get("ports")] == ["nginx"]
    assert COMPOSE["networks"]["back"] == {"internal": True}
    by_network = {net: {name for name in SERVICES if net in SERVICES[name]["networks"]} for net in COMPOSE["networks"]}
    assert by_network["front"] == {"nginx", "web"}
    assert by_network["back"] == {"postgres", "rabbitmq", *OURS}
    assert not by_network["outside"] - set(OURS)


def test_volumes_are_apart_and_what_reads_strangers_files_writes_nothing() -> None:
    mounted = {name: sorted(map(str, SERVICES[name].get("volumes", []))) for name in OURS}
    assert mounted == {
        "migrate": [],
        "web": ["files:/data/files"],
        "audit": ["files:/data/files:ro"],
        "ratings": ["files:/data/files"],
        "recheck": ["files:/data/files:ro"],
        "beat": [],
        "trainer": ["files:/data/files", "training:/data/training"],
    }


def test_each_queue_has_a_worker_wherever_the_server_runs() -> None:
    routes = django_settings.CELERY_TASK_ROUTES
    queues = {route["queue"] for route in routes.values()}
    assert queues == {*QUEUES, "training"}
    commands = [service["command"] for service in OURS.values() if "-Q" in service["command"]]
    assert {command[command.index("-Q") + 1] for command in commands} == queues
    app.loader.import_default_modules()
    tasks = [name for name in app.tasks if name.startswith("server.")]
    assert len(tasks) > 10
    assert [name for name in tasks if not any(fnmatch(name, route) for route in routes)] == []
    assert {entry["task"] for entry in django_settings.CELERY_BEAT_SCHEDULE.values()} <= set(tasks)


def test_the_superusers_password_is_postgresqls_alone() -> None:
    for name in OURS:
        assert TYPED["POSTGRES_PASSWORD"] not in environment_of(name).values()
        assert "postgresql://tengen:" in environment_of(name)["DATABASE_URL"]
    assert environment_of("postgres")["TENGEN_DATABASE_PASSWORD"] == TYPED["DATABASE_PASSWORD"]


# ----------------------------------------------------------------------------------------------------------- packages


def test_the_images_take_the_versions_of_the_lock() -> None:
    lock = dict(line.split("==") for line in (ROOT / "requirements.lock").read_text().split())
    versions = {name.lower().replace("_", "-"): version for name, version in lock.items()}
    for path in sorted(LOCKS.glob("*.txt")):
        for name, entry in entries(path.read_text()).items():
            version = entry.split()[0].partition("==")[2].partition("+")[0]
            # setuptools comes with an environment and is no line of the lock
            assert version == versions.get(name, version if name == "setuptools" else None), "run python -m deploy.lock"
            assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), name


@pytest.mark.parametrize("image", REQUIREMENTS)
def test_the_images_lack_no_package(image: str) -> None:
    """The images install without looking for what a package needs, so the file names all."""
    have = set(entries((LOCKS / f"{image}.txt").read_text())) | {"torch"}
    assert set(entries((LOCKS / "torch-cpu.txt").read_text())) == {"torch"}
    text = (ROOT / REQUIREMENTS[image]).read_text()
    if image == "server":
        text = text.replace("-r client/requirements.txt", (ROOT / "client" / "requirements.txt").read_text())
    wanted = [Requirement(line) for line in text.splitlines() if line and not line.startswith("#")]
    seen: set[tuple[str, str]] = set()
    while wanted:
        requirement = wanted.pop()
        name = requirement.name.lower().replace("_", "-").replace(".", "-")
        extras = requirement.extras or {""}
        if (name, ",".join(sorted(extras))) in seen:
            continue
        seen.add((name, ",".join(sorted(extras))))
        assert name in have, f"{name} is missing: run python -m deploy.lock"
        for line in importlib.metadata.requires(name) or ():
            more = Requirement(line)
            if more.marker is None or any(more.marker.evaluate({"extra": extra}) for extra in extras):
                wanted.append(more)


def test_docker_installs_by_hashes_alone() -> None:
    for name in ("server", "client"):
        text = (ROOT / "deploy" / f"{name}.Dockerfile").read_text()
        installs = re.findall(r"pip install[^\n\\]*", text)
        assert len(installs) == 2
        assert all("--require-hashes" in install and "--no-deps" in install for install in installs)
        assert f"deploy/locks/{name}.txt" in text


# ----------------------------------------------------------------------------------------------------------- database


@pytest.fixture(scope="module")
def cluster() -> Iterator[Path]:
    """A PostgreSQL whose superuser is called postgres, as in the image."""
    with tempfile.TemporaryDirectory(prefix="tengen-roles-") as name:
        Path(name).chmod(0o755)  # started by root, PostgreSQL runs as another user
        database.start(Path(name) / "postgres", durable=False)
        yield Path(name) / "postgres"
        database.stop(Path(name) / "postgres")


def test_the_server_has_a_role_that_is_no_superuser_and_can_migrate(cluster: Path, tmp_path: Path) -> None:
    from server.database import _bin_path

    socket = database_settings(database.address(cluster))["HOST"]
    script = ROOT / "deploy" / "postgres" / "10-roles.sh"
    assert os.access(script, os.X_OK)
    told = {"POSTGRES_USER": "postgres", "TENGEN_DATABASE_PASSWORD": "it's; 'quoted'", "PGHOST": socket}
    path = f"{_bin_path()}:{os.environ['PATH']}"
    subprocess.run(["sh", str(script)], env={"PATH": path} | told, check=True, timeout=60)
    url = f"postgresql://tengen:0a1b2c3d@/tengen?host={socket}"
    connection = psycopg2.connect(url)
    with connection.cursor() as cursor:
        rights = "rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls"
        cursor.execute(f"SELECT {rights} FROM pg_roles WHERE rolname = 'tengen'")
        assert cursor.fetchone() == (False,) * 5
        cursor.execute("SELECT pg_catalog.pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'tengen'")
        assert cursor.fetchone() == ("tengen",)
        with pytest.raises(psycopg2.errors.InsufficientPrivilege):
            cursor.execute("COPY (SELECT 1) TO PROGRAM 'id'")
    connection.close()
    with pytest.raises(psycopg2.OperationalError, match="permission denied"):
        psycopg2.connect(f"postgresql://tengen@/postgres?host={socket}")
    told = {"SECRET_KEY": TYPED["SECRET_KEY"], "DATABASE_URL": url, "DATA_DIR": str(tmp_path)}
    command = [sys.executable, "manage.py", "migrate", "--noinput", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=os.environ | told, check=True, timeout=300)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("name", ["postgres", "a folder, long " + "x" * 90], ids=["short", "long"])
def test_another_user_of_the_machine_has_no_way_to_our_database(name: str) -> None:
    with tempfile.TemporaryDirectory(prefix="tengen-other-") as folder:
        Path(folder).chmod(0o755)
        path = Path(folder) / name
        try:
            url = database.start(path, durable=False)
            psycopg2.connect(url).close()
            code = f"psycopg2.connect({url!r})"
            plain = dict(os.environ, HOME="/nonexistent")
            tried = subprocess.run(
                [
                    sys.executable,
                    "-c",
                    "import os, psycopg2; os.setgroups([]); os.setgid(65534); os.setuid(65534)\n" + code,
                ],
                capture_output=True,
                text=True,
                env=plain,
                timeout=60,
            )
            assert "Permission denied" in tried.stderr
            for place in (path, Path(database_settings(url)["HOST"])):
                assert place.stat().st_mode & 0o077 == 0, place
        finally:
            database.stop(path)
