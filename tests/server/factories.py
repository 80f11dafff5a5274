"""Objects of the server for tests: made by the services where there is one, so that they are as real as can be."""

from __future__ import annotations

import base64
import hashlib
import itertools
from dataclasses import replace
from pathlib import Path
from types import EllipsisType
from typing import Any

import numpy as np
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from common import npz
from common.files import sum_of
from common.parameters import default_text
from common.rows import ARRAYS, Rows
from common.wire import PATH_RATING_GAMES, PATH_TASKS, PATH_TRAINING_GAMES, USER_AGENT
from server.accounts.models import Contributor
from server.accounts.services import contributor_create
from server.games.auditing import Accepted, Verdict
from server.games.models import Game
from server.games.moving import Refusal
from server.gates.services import candidate_register
from server.jobs.models import Job
from server.jobs.tokens import token_of
from server.networks.models import Network
from server.networks.services import ModelFile, NewNetwork, run_create, seed_register
from server.runs.models import Run

PASSWORD = "a long enough password"
LENGTH = 7
SGF = b"(;FF[4]GM[1]SZ[7]PB[x]PW[x]HA[0]KM[7.5]RU[koPOSITIONALscoreAREAtaxNONEsui1]RE[W+7.5];B[];W[])"

_numbers = itertools.count(1)


def make_run(name: str = "seven", **settings: Any) -> Run:
    """A 7x7 run with the texts that come with the project; no rating games, which are drawn.

    Its gates are decided without a further look at their games.
    """
    settings = {"data_board_len": LENGTH, "architecture": "b2c32", "rating_share": 0.0, "gate_replays": 0} | settings
    return run_create(
        name=name,
        selfplay_config=default_text("selfplay", "7x7"),
        gating_config=default_text("gating", "7x7"),
        **settings,
    )


def make_contributor(username: str = "anna") -> Contributor:
    """A contributor whose password is `PASSWORD`."""
    return contributor_create(username=username, password=PASSWORD)[0]


def make_network(
    run: Run, folder: Path, *, is_candidate: bool = True, suits_katago_client: bool = False, **settings: Any
) -> Network:
    """A network with a file of some bytes; by default a candidate, which opens its gate."""
    number = next(_numbers)
    name = settings.pop("name", f"{run.name}-s{number}-d{number}")
    fault = "" if suits_katago_client else "it is too weak"
    register = candidate_register if is_candidate else seed_register
    return register(
        NewNetwork(run=run, name=name, model=replace(make_model(folder, number), katago_fault=fault), **settings)
    )


def make_model(folder: Path, number: int = 0) -> ModelFile:
    """A file of some bytes that is said to have been read as a network, which would take torch."""
    path = folder / f"net{number}.bin.gz"
    path.write_bytes(f"network number {number} ".encode() * 100)
    return ModelFile(path, f"net{number}", "b2c32", 15, *sum_of(path))


def accept(game: Game, sgf: bytes, rows: bytes | None) -> Verdict:
    """A judge of games that finds nothing."""
    return Accepted()


FAULT = Refusal("planes", "row 3: the planes do not follow from the game")


def refuse(game: Game, sgf: bytes, rows: bytes | None) -> Refusal:
    """A judge that always finds something."""
    return FAULT


def login(contributor: Contributor | None, password: str = PASSWORD) -> dict[str, str]:
    """Headers of HTTP Basic."""
    if contributor is None:
        return {}
    pair = f"{contributor.user.get_username()}:{password}".encode()
    return {"Authorization": "Basic " + base64.b64encode(pair).decode()}


OURS = {"User-Agent": USER_AGENT}
KATAGO = {"User-Agent": "cpp-httplib/0.7"}


def ask(client: Client, contributor: Contributor | None, *, agent: dict[str, str] = OURS, **fields: str) -> Any:
    """``POST /api/tasks/``."""
    form = {"git_revision": "f" * 40, "task_rep_factor": "4"} | fields
    return client.post(PATH_TASKS, form, headers=login(contributor) | agent)


def new_uid() -> str:
    """A uid that no other game of this test run has."""
    return f"{next(_numbers):032X}"


def sgf_of(form: dict[str, Any]) -> bytes:
    """A record like `SGF` whose moves, which need not be legal, no other game of this test run has."""
    drawn = hashlib.sha256(str(form["kg_game_uid"]).encode()).digest()  # in order, some would mirror others
    moves = [
        f";{colour}[{chr(97 + place % LENGTH)}{chr(97 + place // LENGTH % LENGTH)}]"
        for colour, place in zip("BWBWBWBW", drawn, strict=False)
    ]
    return SGF.replace(b";B[];W[]", "".join(moves).encode())


def game_form(job: Job, **changes: Any) -> dict[str, Any]:
    """Fields of a game of ``job``: Black has the job's black network."""
    base = "http://testserver/api"
    return {
        "board_size_x": "7",
        "board_size_y": "7",
        "handicap": "0",
        "komi": "7.5",
        "gametype": "normal",
        "rules": '{"ko":"POSITIONAL","scoring":"AREA","tax":"NONE","suicide":true}',
        "extra_metadata": "{}",
        "winner": "W",
        "score": "7.5",
        "resigned": "false",
        "game_length": "2",
        "kg_game_uid": new_uid(),
        "run": f"{base}/runs/{job.run.name}/",
        "black_network": f"{base}/networks/{job.black_network.name}/",
        "white_network": f"{base}/networks/{job.white_network.name}/",
        "job_id": str(job.pk),
        "job_token": token_of(job),
    } | changes


def make_rows(count: int, length: int = LENGTH) -> Rows:
    """Rows that pass every quick check and say nothing."""
    rows = Rows.zeros(count, length)
    rows.policy_targets[:] = 1
    return rows


def npz_bytes(count: int = 3, length: int = LENGTH, columns: int = 80, **extra: np.ndarray) -> bytes:
    """A file of rows with 80 or 64 target columns; ``extra`` arrays are added."""
    rows = make_rows(count, length)
    arrays = {spec.member: getattr(rows, spec.field) for spec in ARRAYS}
    arrays["globalTargetsNC"] = arrays["globalTargetsNC"][:, :columns]
    return npz.to_bytes(arrays | extra)


def upload(
    client: Client,
    contributor: Contributor | None,
    form: dict[str, Any],
    *,
    sgf: bytes | EllipsisType | None = ...,
    rows: bytes | None = None,
    agent: dict[str, str] = OURS,
) -> Any:
    """Upload a game: of self-play if there are ``rows``, else a match game; by default with moves of its own."""
    parts = dict(form)
    if sgf is ...:
        sgf = sgf_of(form)
    if sgf is not None:
        parts["sgf_file"] = SimpleUploadedFile("game.sgf", sgf, "text/plain")
    if rows is not None:
        parts["training_data_file"] = SimpleUploadedFile("game.npz", rows, "application/octet-stream")
    path = PATH_RATING_GAMES if rows is None else PATH_TRAINING_GAMES
    return client.post(path, parts, headers=login(contributor) | agent)


def upload_training(client: Client, contributor: Contributor | None, form: dict[str, Any], **options: Any) -> Any:
    """Upload a game of self-play with three rows."""
    options.setdefault("rows", npz_bytes())
    return upload(client, contributor, {"num_training_rows": "3"} | form, **options)
