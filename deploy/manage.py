"""``python -m deploy.manage COMMAND …``: ``manage.py`` on the demo's data, while it runs or not.

The demo's database, secrets and folders are found by themselves; ``--data FOLDER``, before the command, names another
folder than ``data/demo``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from deploy.installation import ROOT, SECRETS_FILE, Installation, SetupError


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m deploy.manage", description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT / "data" / "demo", help="folder of the demo")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="command of manage.py, with its options")
    options = parser.parse_args(arguments)
    if not (options.data / SECRETS_FILE).exists():
        print(f"there is no demo in {options.data}: `make demo` makes one, --data names another", file=sys.stderr)
        return 1
    installation = Installation(options.data)
    ran_before = installation.database_runs()
    try:
        installation.start_database()
        command = [sys.executable, str(ROOT / "manage.py"), *options.command]
        return subprocess.run(command, env=installation.environment()).returncode
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        if not ran_before:
            installation.stop_database()


if __name__ == "__main__":
    sys.exit(main())
