"""What the load is put on: a run whose text the recorded games were played by, accounts, and their logins.

``python -m tests.benchmarks.load.prepare FILE ACCOUNTS EDGE`` writes the accounts' Authorization headers into a file,
every other one a token, the others HTTP Basic with a password that the server has verified already. The database is
that of the environment, migrated and without a run.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path
from typing import Final

from common import wire
from tests.benchmarks.load.recorded import RUN, run_text

PASSWORD: Final = "a long enough password"


def run_make(length: int) -> None:
    """Make the run in the database of this process's Django."""
    from server.networks.services import run_create

    text, gating = run_text(length), run_text(length, "gating")
    run_create(
        name=RUN, selfplay_config=text, gating_config=gating, data_board_len=length, architecture="b2c32",
        recheck_share=0.0,
    )  # fmt: skip


def accounts_make(count: int) -> list[str]:
    """Make accounts, each with a network address of its own; their Authorization headers."""
    from django.conf import settings
    from django.contrib.auth import get_user_model
    from django.test import Client

    from server.accounts.services import contributor_create
    from server.accounts.tokens import token_create

    settings.ALLOWED_HOSTS = ["*"]
    headers = []
    for number in range(count):
        name = f"load{number}"
        contributor_create(username=name, password=PASSWORD)
        if number % 2 == 0:
            headers.append("Bearer " + token_create(get_user_model().objects.get(username=name), "load"))
            continue
        headers.append("Basic " + base64.b64encode(f"{name}:{PASSWORD}".encode()).decode())
        client = Client(headers={"Authorization": headers[-1]}, REMOTE_ADDR=f"10.0.{number // 250}.{number % 250}")
        answer = client.post(wire.PATH_TASKS, {"task_rep_factor": "0"})
        assert answer.status_code == 400, answer.content  # who it is was found out before
    return headers


def main(file: str, accounts: str, length: str) -> None:
    """Prepare the database of the environment."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "server.settings")
    import django

    django.setup()
    run_make(int(length))
    Path(file).write_text(json.dumps(accounts_make(int(accounts))))


if __name__ == "__main__":
    main(*sys.argv[1:])
