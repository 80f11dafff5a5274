"""Jobs without a server."""

from __future__ import annotations

import json
from typing import Any

from client.contribute.messages import Job
from common import wire
from tests.client.games.games import LENGTH

RUN = {"name": "tiny", "url": "http://a/run/"}

POSITION: dict[str, Any] = {
    "xSize": 5,
    "ySize": 5,
    "board": "...../.X.../..O../...../.....",
    "nextPla": "W",
    "moveLocs": [],
    "movePlas": [],
    "initialTurnNumber": 2,
    "hintLoc": "C3",
    "metadata": "book",
}
"""A start position of a task."""


def network(name: str) -> dict[str, Any]:
    """A network of a task."""
    return {
        "name": name,
        "url": f"http://a/{name}/",
        "created_at": "2026-01-01T00:00:00Z",
        "model_file": None,
        "model_file_bytes": 0,
        "model_file_sha256": "",
        "is_random": True,
    }


def selfplay_job(text: str, games: int, **fields: Any) -> Job:
    """Games of self-play by one network."""
    task = {"kind": "selfplay", "run": RUN, "config": text, "network": network("net-a"), "job_id": "7"} | fields
    return Job(read_task(task), {task["network"]["name"]: None}, games, seed=1, length=LENGTH)


def rating_job(text: str, games: int) -> Job:
    """Games between two networks."""
    networks = {"black_network": network("net-a"), "white_network": network("net-b")}
    task = {"kind": "rating", "run": RUN, "config": text} | networks
    return Job(read_task(task), {"net-a": None, "net-b": None}, games, seed=2, length=LENGTH)


def read_task(task: dict[str, Any]) -> wire.SelfplayTask | wire.RatingTask:
    """A task as the server would send it."""
    return wire.read_task(json.dumps(task))
