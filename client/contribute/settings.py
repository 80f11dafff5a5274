"""A volunteer's settings: from the command line, else the environment, else a file, else the default.

The file is KataGo's ``key = value`` text with the key names of its contribute command (spec contribute-protocol.md
17), so a volunteer of KataGo can bring the file along: what has no meaning here is ignored and named. Knows nothing
of runs and jobs.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import platformdirs

from client.contribute.exchange import PROXY_EXAMPLE
from client.games.playing import CACHE_MIB
from common import config_text
from common.arguments import MAX_GAMES_AT_ONCE
from common.precision import Precision
from common.text_files import TextError, read_text

ENVIRONMENT_PREFIX: Final = "TENGEN_"
REQUIRED: Final = {
    "serverUrl": "the address of the server",
    "token": "the token of your account",
    "username": "your contributor name",
    "password": "the password of your contributor name",
}
"""Keys without a default, and how a message names them; name and password only where there is no token."""

FREE_TEXT: Final = ("serverUrl", "token", "username", "password", "dataDirectory")
"""Keys whose value may have a ``#`` in it."""

_OF_KATAGO: Final = re.compile(
    r"maxRatingMatches|disablePredownloadLoop|modelDownloadMirrorBaseUrl|mirrorUseProxy"
    "|proxy(?:Host|Port|BasicAuthUsername|BasicAuthPassword)|reportPerformanceEvery|watchOngoingGameInFile(?:Name)?"
    r"|includeOwnership|warnTaskUnusedKeys|homeDataDir|numNNServerThreadsPerModel|gpuToUse\w*|deviceToUse\w*"
    "|log(?:Dir|DirDated|File|ToStdout|ToStderr|TimeStamp|ConfigContents|GamesAsJson|SearchInfo|Moves)"
    "|nn(?:MaxBatchSize|CacheSizePowerOfTwo|MutexPoolSizePowerOfTwo|Randomize|RandSeed)"
    r"|(?:cuda|trt|opencl|eigen|metal)[A-Z]\w*"
)
"""Keys of KataGo's contribute command that have no meaning here."""

_HOST: Final = re.compile(r"[^\s/?#@\\<>^`{|}]{1,253}")


class SettingsError(ValueError):
    """A setting is missing or wrong; the text names it and the remedy."""


@dataclass(frozen=True)
class Option:
    """One setting: its key in the file, its flag on the command line, its default and a line of help."""

    key: str
    flag: str
    default: str
    help: str

    @property
    def variable(self) -> str:
        """Name of the environment variable, e.g. ``TENGEN_SERVER_URL`` for ``--server-url``."""
        return ENVIRONMENT_PREFIX + self.flag.removeprefix("--").replace("-", "_").upper()


OPTIONS: Final = (
    Option("serverUrl", "--server-url", "", "address of the server, e.g. https://tengen.example.org"),
    Option(
        "token",
        "--token",
        "",
        "your login, made and revoked on your account's page (better in the environment or the file than here)",
    ),
    Option("username", "--username", "", "your contributor name, where you log in by a password"),
    Option("password", "--password", "", "its password, where you have no token"),
    Option("gpus", "--gpus", "", "devices to use: GPU numbers such as 0,1, or cpu; default: every GPU, else cpu"),
    Option("cpuStreams", "--cpu-streams", "0", "games streams on a CPU, one core each; 0 = one per core"),
    Option("maxSimultaneousGames", "--games-per-stream", "0", "games at once in each stream; 0 = chosen by device"),
    Option("taskRepFactor", "--task-rep-factor", "4", "games asked for at a time, 1 to 64"),
    Option("onlyPlayRatingMatches", "--only-rating", "false", "true: play matches between networks only"),
    Option("useFP16", "--use-fp16", "auto", "false: evaluate in float32; true: in 16 bits even if slow; auto: faster"),
    Option("dataDirectory", "--data-dir", "", "where networks and unsent games are kept"),
    Option(
        "evaluationCacheMiB",
        "--evaluation-cache-mib",
        str(CACHE_MIB),
        "memory of each stream's networks for evaluations that come up again",
    ),
    Option("networkCacheGiB", "--network-cache-gib", "4", "space for downloaded networks; the oldest unused go first"),
)


@dataclass(frozen=True)
class Login:
    """Who contributes: a token, or name and password as KataGo's client has them."""

    token: str = field(default="", repr=False)
    username: str = ""
    password: str = field(default="", repr=False)

    @property
    def told(self) -> str:
        """How lines name it."""
        return self.username or "the holder of a token"


@dataclass(frozen=True)
class ClientSettings:
    """What the contribute command needs to know; ``gpus`` is as typed (see `client.devices`)."""

    server_url: str
    login: Login
    gpus: str
    cpu_streams: int
    games_per_stream: int
    task_rep_factor: int
    only_rating: bool
    precision: Precision
    data_directory: Path
    network_cache_bytes: int
    evaluation_cache_bytes: int
    ignored: tuple[str, ...] = ()
    """Keys of the file that only KataGo's client has."""

    def advice(self) -> list[str]:
        """What to tell of the login and of `ignored`: what is better, and what does the same here."""
        lines = []
        if not self.login.token:
            lines.append(
                f"logs in by a password; a token, made at {self.server_url}/account/, can be revoked and costs the"
                " server less: give it by --token, TENGEN_TOKEN or `token = ...`"
            )
        if self.ignored:
            lines.append(f"ignored settings, which have no meaning here: {', '.join(self.ignored)}")
        if any(key.startswith("proxy") for key in self.ignored):
            lines.append(f"a proxy is named in the environment instead: {PROXY_EXAMPLE}")
        return lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add one flag per setting, and ``--config`` for the file."""
    parser.add_argument("--config", type=Path, help="file of `key = value` lines with these settings")
    for option in OPTIONS:
        shown = f" (default: {option.default})" if option.default not in ("", "0") else ""
        parser.add_argument(
            option.flag,
            dest=option.key,
            default=None,
            help=f"{option.help}{shown}; file: {option.key}, environment: {option.variable}",
        )


def load_settings(arguments: argparse.Namespace, environment: Mapping[str, str] | None = None) -> ClientSettings:
    """Merge flags, environment and file.

    Raises:
        SettingsError: server or login missing, a value out of range, or the file cannot be read.
    """
    environment = os.environ if environment is None else environment
    from_file, ignored = _read_file(arguments.config)
    values = {}
    for option in OPTIONS:
        given = getattr(arguments, option.key, None)
        value = given if given is not None else environment.get(option.variable)
        values[option.key] = value if value is not None else from_file.get(option.key, option.default)
    _check_given(values)
    _check_address(values["serverUrl"])
    return ClientSettings(
        server_url=values["serverUrl"].rstrip("/"),
        login=_login(values),
        gpus=values["gpus"],
        cpu_streams=_integer(values, "cpuStreams", 0, 1024),
        games_per_stream=_integer(values, "maxSimultaneousGames", 0, MAX_GAMES_AT_ONCE),
        task_rep_factor=_integer(values, "taskRepFactor", 1, 64),
        only_rating=_boolean(values, "onlyPlayRatingMatches"),
        precision=_precision(values),
        data_directory=_data_directory(values["dataDirectory"]),
        network_cache_bytes=_integer(values, "networkCacheGiB", 1, 10_000) * 2**30,
        evaluation_cache_bytes=_integer(values, "evaluationCacheMiB", 0, 1_000_000) * 2**20,
        ignored=ignored,
    )


def _login(values: Mapping[str, str]) -> Login:
    """A token, where there is one, is all that is sent, so that a password may stay where it is."""
    if values["token"]:
        return Login(token=values["token"].strip(), username=values["username"])
    return Login(username=values["username"], password=values["password"])


def _data_directory(given: str) -> Path:
    directory = given or platformdirs.user_data_dir("tengen-client", appauthor=False)
    try:
        return Path(directory).expanduser()
    except RuntimeError as error:  # a user without an entry and without HOME
        raise SettingsError(
            f"where networks and unsent games are to be kept is not known, as this user has no home folder ({error});"
            " name a folder by --data-dir or TENGEN_DATA_DIR"
        ) from None


def data_directory_error(directory: Path, error: OSError) -> SettingsError:
    """What to tell a volunteer whose data folder cannot be used."""
    return SettingsError(
        f"the folder for networks and unsent games, {directory}, cannot be used: {error.strerror or error}"
        f"{f' ({error.filename})' if error.filename not in (None, str(directory)) else ''};"
        " name a folder that can be written by --data-dir or TENGEN_DATA_DIR"
    )


def prepare_data_directory(directory: Path) -> None:
    """Make the folder and see that it can be written.

    Raises:
        SettingsError: it cannot; the text says why and what to do.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise data_directory_error(directory, error) from error


def _check_given(values: Mapping[str, str]) -> None:
    by_password = not values["token"] and (values["username"] or values["password"])
    required = {"serverUrl", "username", "password"} if by_password else {"serverUrl", "token"}
    for option in OPTIONS:
        if option.key in required and not values[option.key]:
            raise SettingsError(
                f"{REQUIRED[option.key]} is not set: give {option.flag}, or set {option.variable}, or write a file with"
                f" `{option.key} = ...` and name it by --config"
            )


def _check_address(url: str) -> None:
    """Refuse what can never be an address, as an address that merely does not answer is tried for ever."""
    remedy = "; an address is for example https://tengen.example.org"
    if not url.startswith(("http://", "https://")):
        raise SettingsError(f"server address {url!r} must begin with http:// or https://{remedy}")
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise SettingsError(f"server address {url!r} is wrong: {error}{remedy}") from error
    if not parts.hostname:
        raise SettingsError(f"server address {url!r} names no host{remedy}")
    if port == 0 or not _HOST.fullmatch(parts.hostname):
        raise SettingsError(f"server address {url!r} is wrong: {parts.netloc!r} is no host and port{remedy}")
    if parts.query or parts.fragment:
        raise SettingsError(f"server address {url!r} must end before the '?' or '#'{remedy}")


def _read_file(path: Path | None) -> tuple[dict[str, str], tuple[str, ...]]:
    """Values by key, and the keys that are ignored."""
    if path is None:
        return {}, ()
    try:
        entries = config_text.parse(read_text(path))
    except OSError as error:
        raise SettingsError(f"cannot read the settings file {path}: {error.strerror}") from error
    except TextError as error:
        raise SettingsError(f"settings file {error}") from error
    except config_text.ConfigError as error:
        raise SettingsError(f"settings file {path}: {error}") from error
    known = {option.key for option in OPTIONS}
    ignored = tuple(key for key in entries if key not in known and _OF_KATAGO.fullmatch(key))
    unknown = sorted(set(entries) - known - set(ignored))
    if unknown:
        raise SettingsError(f"settings file {path}: unknown key {unknown[0]!r}; known are {', '.join(sorted(known))}")
    for key in FREE_TEXT:
        if key in entries and entries[key].cut:
            raise SettingsError(
                f"settings file {path}, {entries[key].place}: {key}: a '#' begins a comment, also right after the"
                f' value. If it belongs to the value, put that in quotes, as in {key} = "abc#123" (with a backslash'
                " before a quote or backslash of its own); if it does not, put a blank before it"
            )
    return {key: entry.value for key, entry in entries.items() if key in known}, ignored


def _integer(values: Mapping[str, str], key: str, low: int, high: int) -> int:
    try:
        value = int(values[key])
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        raise SettingsError(f"{key} must be a whole number from {low} to {high}, not {values[key]!r}")
    return value


def _precision(values: Mapping[str, str]) -> Precision:
    try:
        return Precision(values["useFP16"].lower())
    except ValueError:
        raise SettingsError(f"useFP16 must be one of {', '.join(Precision)}, not {values['useFP16']!r}") from None


def _boolean(values: Mapping[str, str], key: str) -> bool:
    text = values[key].lower()
    if text not in ("true", "false"):
        raise SettingsError(f"{key} must be true or false, not {values[key]!r}")
    return text == "true"
