"""The run that the recorded session of KataGo's client was about (tests/exchange.py), made again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from common import wire
from server.runs.models import Run
from tests.exchange import recorded_exchange
from tests.server.factories import make_network, make_run

RUN: Final = "both"
SEED: Final = "both-b7c96h3tfrs-test5-cnorm"
CANDIDATE: Final = "both-b3c32-bn-v12-r1"


def config(kind: str) -> str:
    """The text of the recorded tasks of a kind."""
    tasks = [json.loads(one.answer or "") for one in recorded_exchange() if one.path == wire.PATH_TASKS]
    return next(str(task["config"]) for task in tasks if task["kind"] == kind)


def make_session_run(folder: Path) -> Run:
    """The run of the recording, with its networks, one of which has a gate; their files are others."""
    made = make_run(RUN, data_board_len=9)
    Run.objects.filter(pk=made.pk).update(selfplay_config=config("selfplay"), gating_config=config("rating"))
    make_network(made, folder, name=SEED, is_candidate=False, suits_katago_client=True)
    make_network(made, folder, name=CANDIDATE)
    return made
