"""The commands that README.md and deploy/README.md print, in order, and which of them a test can run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.installation import ROOT

README: Final = "README.md"
DEPLOYMENT: Final = "deploy/README.md"
_PROGRAMS: Final = r"(?:\.venv/bin/|make |manage\.py |python3? |celery |gunicorn |docker |git clone |sudo |cp |\. )"
_COMMAND: Final = re.compile(_PROGRAMS)
_FENCE: Final = "```"

NOT_RUN: Final = {
    r"git clone https://code\.example\.org": "the address is a placeholder; the tests have the code",
    r"make demo": "tests/e2e/test_demo.py and test_circle.py run the same programs by the same supervisor",
    r"make (test|test-all|bench)\b": "would run this test",
    r"python3 -m venv": "downloads packages; `make test` has installed them",
    r"\.venv/bin/python -m pip install": "downloads packages; tests/test_packaging.py installs the project",
    r"echo .*\.venv/bin/tengen": "tests/test_packaging.py runs the installed program, and tests of the engine play",
    r"docker ": "needs Docker; tests/e2e/test_rabbitmq.py runs the commands of compose.yaml",
    r"\$compose ": "needs Docker",
    r"compose=": "needs Docker",
    r"TENGEN_KATAGO=PROGRAM ": "needs a built KataGo and its source",
    r"python3 deploy/pin\.py": "needs the registry of the images; tests/deploy/test_pin.py has one of its own",
    r"SECRET_KEY=… DATABASE_URL=": "needs another host; the worker is the one of README.md",
}
"""Commands by how they begin, and why they are not run. Everything else that is printed is run."""


@dataclass(frozen=True)
class Block:
    """Commands that stand together: the lines between two fences, or one piece of code in a sentence or a table."""

    document: str
    section: str
    text: str
    inline: bool = False

    def commands(self) -> list[str]:
        """One per command: continued lines joined, a here-document with the command that reads it, no comments."""
        found: list[str] = []
        end = ""
        for line in self.text.splitlines():
            if end or (found and found[-1].endswith("\\")):
                found[-1] = f"{found[-1]}\n{line}" if end else found[-1][:-1].rstrip() + " " + line.strip()
                end = "" if line == end else end
                continue
            command = re.sub(r"\s+#\s.*$", "", line).strip()
            if command:
                found.append(command)
                here = re.search(r"<<(\w+)$", command)
                end = here[1] if here else ""
        return found


def blocks(document: str) -> list[Block]:
    """All commands of a document, as it stands."""
    found: list[Block] = []
    section, prose = "", ""
    fence: list[str] | None = None
    for line in [*(ROOT / document).read_text(encoding="utf-8").splitlines(), ""]:
        if line.startswith(_FENCE):
            if fence is None:
                found += _inline(document, section, prose)
                prose, fence = "", []
            else:
                found.append(Block(document, section, "\n".join(fence)))
                fence = None
        elif fence is not None:
            fence.append(line)
        elif line.startswith("#") or not line:
            found += _inline(document, section, prose)
            prose = ""
            section = line.lstrip("# ") if line.startswith("#") else section
        else:
            prose += f"{line}\n"
    return found


def _inline(document: str, section: str, prose: str) -> list[Block]:
    codes = (" ".join(code.split()) for code in re.findall(r"`([^`]+)`", prose))
    found = [Block(document, section, code, inline=True) for code in codes if _COMMAND.match(code) and " " in code]
    return [block for block in found if not re.fullmatch(r"\. \S+|celery \S+|python \S+", block.text)]


def why_not_run(command: str) -> str:
    """Why no test runs a command; empty if one has to."""
    return next((why for start, why in NOT_RUN.items() if re.match(start, command)), "")


def fresh_checkout(folder: Path) -> Path:
    """A copy of the code in ``folder`` as a clone would be, but for ``.venv``, which is the one that runs the tests."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True
    )
    names = listed.stdout.decode().split("\0") if listed.returncode == 0 else []
    for name in filter(None, names):
        source, target = ROOT / name, folder / name
        if source.is_file() and not source.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    (folder / ".venv").unlink(missing_ok=True)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder
