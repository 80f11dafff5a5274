"""KataGo's own ``contribute`` as a program beside an installation, and what it reports of its games."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from deploy.installation import CONTRIBUTOR, Installation
from deploy.processes import Program
from tests.katago import katago_program

SUITABLE_NET = "nets/b7c96h3tfrs-test5-cnorm.bin.gz"
"""The one small network that passes the client's own test before each upload (contribute-protocol.md 8.1)."""
OTHER_NET = "nets/random/b3c32-bn-v12-r1.bin.gz"


def contribute(installation: Installation, folder: Path, *, url: str = "", more: str = "") -> Program:
    """KataGo's client in ``folder``, as the installation's contributor; it asks at ``url``, or the server itself."""
    folder.mkdir()
    config = folder / "contribute.cfg"
    config.write_text(
        f"serverUrl = {url or installation.url}\nusername = {CONTRIBUTOR}\n"
        f'password = "{installation.secrets["contributor"]}"\nmaxSimultaneousGames = 2\n'
        f"watchOngoingGameInFile = false\nhomeDataDir = {folder}\n{more}"
    )
    command = [str(katago_program()), "contribute", "-config", str(config), "-base-dir", str(folder / "base")]
    return Program("katago", command, os.environ.copy(), stop_signal=signal.SIGINT, stop_within_s=30)


def reported_games(log: str) -> dict[str, list[str]]:
    """The uids of the games of each kind that the client's log reports as uploaded, read from the games' records."""
    found: dict[str, list[str]] = {"training": [], "rating": []}
    for kind, path in re.findall(r"Finished game \d+ \((training|rating)\), uploaded sgf (.+?\.sgf)", log):
        told = re.search(r"gameHash=([0-9A-F]{32})", Path(path).read_text())
        assert told is not None, path
        found[kind].append(told[1])
    return found
