"""A RabbitMQ and an nginx of one's own in a folder, and the services of ``deploy/compose.yaml`` run without containers.

The commands and the environment are read from the compose file, so what is tested is what is deployed; only addresses
of other services, folders and the database's (a socket here) are put in place of the containers'.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
from pathlib import Path
from typing import Any, Final

import yaml

from deploy.installation import ROOT, TRAINER_STOP_S, Installation
from deploy.processes import Program

COMPOSE: Final = ROOT / "deploy" / "compose.yaml"
NGINX_SITE: Final = ROOT / "deploy" / "nginx" / "tengen.conf"
SERVER_SERVICES: Final = ("web", "audit", "ratings", "recheck", "beat", "trainer")
BROKER_PASSWORD: Final = "0a1b2c3d4e5f"


def missing_programs() -> str:
    """Why these services cannot run here; empty if they can."""
    missing = [name for name in ("nginx", "rabbitmq-server", "epmd") if not program_path(name)]
    return f"not installed: {', '.join(missing)}" if missing else ""


def program_path(name: str) -> str:
    """Path of a system program. Debian's ``rabbitmq-server`` in ``sbin`` changes the user; the one beneath does not."""
    folders = ("/usr/lib/rabbitmq/bin", os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin")
    return shutil.which(name, path=os.pathsep.join(folders)) or ""


def free_port() -> int:
    """A TCP port of the loopback address that nobody uses now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class RabbitMq:
    """A broker that listens on the loopback address only, with an Erlang port mapper of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.port, self._mapper_port = free_port(), free_port()
        (folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\n"
            f"default_user = tengen\ndefault_pass = {BROKER_PASSWORD}\n"
            "vm_memory_high_watermark.absolute = 400MB\n"
            "disk_free_limit.absolute = 50MB\n"
        )
        for empty in ("rabbitmq-env.conf", "enabled_plugins"):
            (folder / empty).write_text("" if empty.endswith("conf") else "[].\n")

    def answers(self) -> bool:
        """Whether the broker listens."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    @property
    def environment(self) -> dict[str, str]:
        """What the broker and its command line tools have to be told."""
        return os.environ | {
            "HOME": str(self.folder),  # of the cookie
            "ERL_EPMD_PORT": str(self._mapper_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": "tengen@localhost",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_CONF_ENV_FILE": str(self.folder / "rabbitmq-env.conf"),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "enabled_plugins"),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            # Two schedulers, which sleep when there is nothing to do.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none",
        }

    def programs(self) -> list[Program]:
        """The port mapper and the broker, in the order in which they are started."""
        mapper = [program_path("epmd"), "-port", str(self._mapper_port), "-address", "127.0.0.1"]
        return [
            Program("epmd", mapper, self.environment),
            Program("rabbitmq", [program_path("rabbitmq-server")], self.environment, stop_within_s=60),
        ]


class Nginx:
    """An nginx that serves the site of ``deploy/``; only the address of its upstream and its own are replaced.

    ``more`` stands beside the site, as what an operator adds.
    """

    def __init__(self, folder: Path, port: int, upstream_port: int, more: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        site = NGINX_SITE.read_text()
        for place, here in (
            ("server web:8000", f"server 127.0.0.1:{upstream_port}"),
            ("listen 80;", f"listen 127.0.0.1:{port};"),
            ("access_log /var/log/nginx/access.log", f"access_log {folder}/access.log"),
        ):
            assert site.count(place) == 1, f"{NGINX_SITE} has no {place!r}"
            site = site.replace(place, here)
        (folder / "tengen.conf").write_text(site)
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        folders = "".join(f"    {kind}_temp_path {folder}/{kind};\n" for kind in kinds)
        self.configuration = folder / "nginx.conf"
        self.configuration.write_text(
            ("user root;\n" if os.geteuid() == 0 else "")
            + f"daemon off;\nworker_processes 1;\npid {folder}/nginx.pid;\nerror_log stderr;\nevents {{}}\n"
            f"http {{\n{more}{folders}    include {folder}/tengen.conf;\n}}\n"
        )
        self._folder = folder

    def program(self) -> Program:
        """The server."""
        command = [program_path("nginx"), "-p", str(self._folder), "-e", "stderr", "-c", str(self.configuration)]
        return Program("nginx", command, os.environ.copy())


class ComposedInstallation(Installation):
    """An installation whose server programs and settings are those of ``deploy/compose.yaml``, behind an nginx."""

    def __init__(self, folder: Path) -> None:
        self.compose: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
        self.broker = RabbitMq(folder / "rabbitmq")
        self.web_port = free_port()
        super().__init__(folder)
        self.nginx = Nginx(self.folder / "nginx", self.port, self.web_port)
        # What a deploy/.env says where there is no TLS.
        typed = {
            "SECRET_KEY": self.secrets["secret_key"],
            "ALLOWED_HOSTS": "127.0.0.1",
            "DATABASE_PASSWORD": "unused",
            "RABBITMQ_PASSWORD": BROKER_PASSWORD,
        }
        composed = {name: _expanded(value, typed) for name, value in self.compose["x-server"]["environment"].items()}
        del composed["DATABASE_URL"]
        composed["DATA_DIR"] = str(self.folder / "data")
        composed["BROKER_URL"] = composed["BROKER_URL"].replace("@rabbitmq:5672", f"@127.0.0.1:{self.broker.port}")
        self._extra = composed | {"HTTPS": "false"}

    def server_programs(self) -> list[Program]:
        """The services of the compose file that run our image, in the order in which they are started."""
        environment = self.environment()
        return [
            Program(
                name,
                self._without_container(self.compose["services"][name]["command"]),
                environment,
                stop_within_s=TRAINER_STOP_S,
            )
            for name in SERVER_SERVICES
        ]

    def _without_container(self, command: list[str]) -> list[str]:
        program, *arguments = command
        here = f"127.0.0.1:{self.web_port}"
        arguments = [argument.replace("0.0.0.0:8000", here) for argument in arguments]
        return [sys.executable, *([] if program == "python" else ["-m", program]), *arguments]


def _expanded(value: str, variables: dict[str, str]) -> str:
    """A value with compose's ``${NAME}`` and ``${NAME:?text}`` filled in."""
    return re.sub(r"\$\{(\w+)(:\?[^}]*)?\}", lambda found: variables[found[1]], value)
