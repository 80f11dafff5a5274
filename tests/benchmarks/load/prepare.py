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


def prepare(accounts: int, length: int, **settings: object) -> list[str]:
    """Make run and accounts in the database of this process's Django; the accounts' Authorization headers."""
    from django.conf import settings as django_settings
    from django.contrib.auth import get_user_model
    from django.test import Client

    from common.parameters import default_text
    from server.accounts.services import contributor_create
    from server.accounts.tokens import token_create
    from server.networks.services import run_create

    django_settings.ALLOWED_HOSTS = ["*"]
    run_create(
        name=RUN,
        selfplay_config=run_text(length),
        gating_config=default_text("gating", "7x7"),
        data_board_len=length,
        architecture="b2c32",
        **settings,
    )
    headers = []
    for number in range(accounts):
        name = f"load{number}"
        contributor_create(username=name, password=PASSWORD)
        if number % 2 == 0:
            headers.append("Bearer " + token_create(get_user_model().objects.get(username=name), "load"))
            continue
        headers.append("Basic " + base64.b64encode(f"{name}:{PASSWORD}".encode()).decode())
        answer = Client(headers={"Authorization": headers[-1]}).post(wire.PATH_TASKS, {"task_rep_factor": "0"})
        assert answer.status_code == 400, answer.content  # who it is was found out before
    return headers


def main(file: str, accounts: str, length: str) -> None:
    """Prepare the database of the environment."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "server.settings")
    import django

    django.setup()
    Path(file).write_text(json.dumps(prepare(int(accounts), int(length))))


if __name__ == "__main__":
    main(*sys.argv[1:])
