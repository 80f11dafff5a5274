"""``python -m deploy.lock``: write ``deploy/locks/``, what the images install: each package with its hashes.

The versions are those of ``requirements.lock``, which `make` uses without hashes; run it after changing that file or a
``requirements.txt``. Needs the program ``uv``; what follows on the command line goes to it, such as
``--find-links FOLDER`` with the wheel of torch. `torch-cpu.txt` is apart, since it comes from another index.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
LOCKS: Final = ROOT / "deploy" / "locks"
REQUIREMENTS: Final = {"server": "requirements.txt", "client": "client/requirements.txt"}
TORCH_INDEX: Final = "https://download.pytorch.org/whl/cpu"
_HEAD: Final = "# Written by python -m deploy.lock from requirements.lock, for {what}.\n"
_UV: Final = (
    *("uv", "pip", "compile", "--quiet", "--generate-hashes", "--no-header", "--no-annotate"),
    *("--constraint", "requirements.lock", "--python-version", "3.11"),
    *("--python-platform", "x86_64-manylinux_2_28", "--index-strategy", "unsafe-best-match"),
)


def entries(text: str) -> dict[str, str]:
    """Lines of a lock by the package that they are of."""
    found = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.M)
    return {entry.partition("==")[0]: entry for entry in found if "==" in entry.partition("\n")[0]}


def main(arguments: list[str]) -> int:
    """Write the files; returns the exit code."""
    version = next(line for line in (ROOT / "requirements.lock").read_text().splitlines() if line.startswith("torch=="))
    with tempfile.TemporaryDirectory() as folder:
        override = Path(folder) / "override.txt"
        override.write_text(f"{version}+cpu\n")
        for image, requirements in REQUIREMENTS.items():
            command = [*_UV, "--override", str(override), "--extra-index-url", TORCH_INDEX, *arguments, requirements]
            said = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
            found = entries(said)
            torch = found.pop("torch")
            (LOCKS / "torch-cpu.txt").write_text(_HEAD.format(what="processors of x86-64") + torch)
            (LOCKS / f"{image}.txt").write_text(
                _HEAD.format(what=f"the image of the {image}") + "".join(found.values())
            )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
