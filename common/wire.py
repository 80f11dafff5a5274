"""Every message of the HTTP protocol between client and server, declared once: fields, limits, paths, phrases.

The protocol is the one of ``katago contribute`` (spec contribute-protocol.md) with some fields of our own, which
KataGo's client and server ignore, each marked "Ours", and the machine readable `ErrorAnswer.code`. Knows nothing of
HTTP libraries, of Django, of what is inside a configuration text (`common.parameters`), an SGF (`common.sgf`) or an npz
file (`common.rows`).

Reading is lenient (unknown fields are ignored, except among rules) but never guesses: numbers in JSON are JSON numbers,
numbers in a form are plain decimal text. Writing is strict: what is written was validated, in the order and spelling of
the protocol. A message that does not hold is a `MessageError` whose text names each field and what is wrong with it.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from common.go.basics import COLUMN_LETTERS, MAX_LENGTH, MIN_LENGTH
from common.wire_base import (
    FormBoolean,
    FormInteger,
    FormMessage,
    FormNumber,
    JsonMessage,
    Number,
    absent_if_empty,
    address,
    describe,
    file_name,
    limit_bytes,
    no_control_characters,
    sha256_or_empty,
    storable,
)
from common.wire_base import MessageError as MessageError

# --------------------------------------------------------------------------------------------------------------------
# Versions
# --------------------------------------------------------------------------------------------------------------------

CLIENT_VERSION: Final = "0.1.0"
"""Version of our client; equals the project's version."""
CLIENT_NAME: Final = "tengen"
USER_AGENT: Final = f"{CLIENT_NAME}/{CLIENT_VERSION}"
"""What our client sends as ``User-Agent``; `own_client_version` recognises it."""
CLIENT_REVISION: Final = f"{CLIENT_NAME}-{CLIENT_VERSION}".ljust(40, "-")
"""What our client sends as `TaskRequest.git_revision`; 40 characters, the least that katago-server takes."""
INPUTS_VERSION: Final = 7
"""The set of input features that we write and accept."""

# --------------------------------------------------------------------------------------------------------------------
# Paths below the server's base address; the slash at the end belongs to them
# --------------------------------------------------------------------------------------------------------------------

PATH_ROOT: Final = "/"
PATH_CURRENT_RUN: Final = "/api/runs/current_for_client/"
PATH_TASKS: Final = "/api/tasks/"
PATH_START_POSITIONS: Final = "/api/startposes/"
PATH_NETWORKS: Final = "/api/networks/"
PATH_NEWEST_NETWORK: Final = "/api/networks/newest_training/"
PATH_TRAINING_GAMES: Final = "/api/games/training/"
PATH_RATING_GAMES: Final = "/api/games/rating/"

# --------------------------------------------------------------------------------------------------------------------
# Limits
# --------------------------------------------------------------------------------------------------------------------

KIB: Final = 1024
MAX_SGF_BYTES: Final = 200 * KIB
MAX_NPZ_BYTES: Final = 500 * KIB
MAX_NPZ_UNPACKED_BYTES: Final = 20 * KIB * KIB
MAX_BODY_BYTES: Final = 2 * KIB * KIB
"""Least body size that a reverse proxy has to let through; no upload within the other limits is larger."""
MAX_CONFIG_BYTES: Final = 32768
MAX_OVERRIDE_BYTES: Final = 1024
MAX_URL_LENGTH: Final = 4096
MAX_RUN_NAME_LENGTH: Final = 32
MAX_NETWORK_NAME_LENGTH: Final = 128
MAX_TASK_REP_FACTOR: Final = 64
MAX_START_MOVES: Final = 10_000
MAX_START_POSITIONS: Final = 5000
"""Of one request that brings some."""
MAX_MODEL_BYTES: Final = KIB**3
MAX_MODEL_ZIP_BYTES: Final = 3 * KIB**3 // 2
MAX_NETWORK_UPLOAD_BYTES: Final = MAX_MODEL_BYTES + MAX_MODEL_ZIP_BYTES + KIB * KIB
MAX_POSITIONS_BYTES: Final = 16 * KIB * KIB
MAX_NOTES_LENGTH: Final = 1024
MAX_POSITION_METADATA_LENGTH: Final = 1024
MAX_FORM_JSON_BYTES: Final = 4096
"""Longest text of the JSON fields `GameUpload.rules` and `GameUpload.extra_metadata`."""
MIN_DATA_BOARD_LENGTH: Final = 3
MAX_GAME_LENGTH: Final = 50_000
MAX_ROWS: Final = 10_000
MAX_NET_CHANGES: Final = 16
"""Most changes of the network in one game."""
MAX_SEARCH_THREADS: Final = 16_384
MAX_NOTICE_LENGTH: Final = 1000
MAX_LEASE_SECONDS: Final = 30 * 24 * 3600
MAX_SEED: Final = 2**63 - 1
MAX_TOKEN_LENGTH: Final = 128
MAX_ROOM: Final = 1_000_000
MAX_GAMES_PER_HOUR: Final = 1e9

# --------------------------------------------------------------------------------------------------------------------
# Phrases that KataGo's client searches for in error texts (contribute-protocol.md 4.5, 10); kept to the letter
# --------------------------------------------------------------------------------------------------------------------

PHRASE_ONLY_RATING: Final = "server is only serving rating games right now"
"""In a 400 to a task request without rating: the client waits 30 s quietly and asks again."""
PHRASE_ALREADY_EXISTS: Final = "already exist"
"""In a 400 to an upload: the client takes the game as uploaded."""
PHRASE_NO_LONGER_ENABLED: Final = "no longer enabled for"
"""In a 400 to an upload: the client drops the game quietly."""
PHRASE_NO_PERMISSION: Final = "permission to perform"
"""In a 403: the client adds the hint to verify the e-mail address."""

LOGIN_TOKEN_PREFIX: Final = "tengen_"
"""Ours: how a token begins that takes the place of a password, as ``Authorization: Bearer`` or as Basic's password."""

SGF_CONTENT_TYPE: Final = "text/plain"
NPZ_CONTENT_TYPE: Final = "application/octet-stream"

_CREATED_AT_FORMAT: Final = "%Y-%m-%dT%H:%M:%S.%fZ"


def join_url(base: str, path: str) -> str:
    """Address of ``path`` (one of the ``PATH_`` constants) below the server's address ``base``."""
    return base.rstrip("/") + path


def format_created_at(moment: datetime) -> str:
    """The one spelling of a time on the wire, e.g. ``2026-03-01T12:00:00.000000Z``.

    KataGo's client compares these *texts*, so all of them have the same format and zone.

    Raises:
        ValueError: ``moment`` has no time zone.
    """
    if moment.tzinfo is None:
        raise ValueError("a time on the wire needs a time zone")
    return moment.astimezone(UTC).strftime(_CREATED_AT_FORMAT)


def own_client_version(user_agent: str) -> tuple[int, ...] | None:
    """Version of our client told by a ``User-Agent`` header, e.g. ``(0, 1, 0)``; None for any other program."""
    found = re.match(rf"{re.escape(CLIENT_NAME)}/(\d{{1,6}}(?:\.\d{{1,6}}){{0,3}})(?:\s|$)", user_agent)
    return tuple(int(part) for part in found[1].split(".")) if found else None


Url = Annotated[StrictStr, Field(max_length=MAX_URL_LENGTH), AfterValidator(address)]
_RunName = Annotated[StrictStr, Field(min_length=1, max_length=MAX_RUN_NAME_LENGTH), AfterValidator(file_name)]
NetworkName = Annotated[StrictStr, Field(min_length=1, max_length=MAX_NETWORK_NAME_LENGTH), AfterValidator(file_name)]
Sha256 = Annotated[StrictStr, Field(max_length=64), AfterValidator(sha256_or_empty)]
JobId = Annotated[StrictStr, Field(pattern=r"^[0-9A-Za-z-]{1,64}$")]
JobToken = Annotated[StrictStr, Field(pattern=r"^[0-9A-Za-z_=-]+$", max_length=MAX_TOKEN_LENGTH)]
_Hexadecimal = Annotated[StrictStr, Field(pattern=r"^[0-9A-Fa-f]{1,32}$")]


# --------------------------------------------------------------------------------------------------------------------
# Answers: run, network, task
# --------------------------------------------------------------------------------------------------------------------


class RunReference(JsonMessage):
    """The run a task belongs to: its folder name at the client and its address."""

    name: _RunName
    url: Url


class RunInfo(RunReference):
    """Answer to ``GET /api/runs/current_for_client/`` (contribute-protocol.md 3)."""

    data_board_len: Annotated[StrictInt, Field(ge=MIN_DATA_BOARD_LENGTH, le=MAX_LENGTH)]
    """Edge of the tensors in the npz file, whatever the size of the board."""
    inputs_version: Annotated[StrictInt, Field(ge=3, le=INPUTS_VERSION)]
    max_search_threads_allowed: Annotated[StrictInt, Field(ge=1, le=MAX_SEARCH_THREADS)]
    """Promise that no task asks for more ``numSearchThreads``."""


class NetworkInfo(JsonMessage):
    """One network, in tasks and as answer to ``GET /api/networks/newest_training/`` (contribute-protocol.md 4.3)."""

    name: NetworkName
    url: Url | None
    """Sent back in uploads."""
    model_file: Url | None
    """Absolute address of the file; None for the random network."""
    model_file_bytes: Annotated[StrictInt, Field(ge=0)]
    model_file_sha256: Sha256
    is_random: StrictBool
    """No file: the client plays with an evaluator without knowledge."""
    created_at: Annotated[StrictStr, Field(max_length=128)] | None = None
    """See `format_created_at`; required in rating tasks."""
    run: Annotated[StrictStr, Field(max_length=MAX_URL_LENGTH)] | None = None

    @model_validator(mode="after")
    def _has_a_file_or_is_random(self) -> Self:
        if not self.is_random:
            if self.model_file is None:
                raise ValueError("model_file: a network that is not random needs the address of its file")
            if not self.model_file_sha256:
                raise ValueError("model_file_sha256: a network that is not random needs it")
            if self.model_file_bytes == 0:
                raise ValueError("model_file_bytes: a network file is not empty")
        return self


def _colour(text: object) -> object:
    return {"black": "B", "white": "W"}.get(text.lower(), text) if isinstance(text, str) else text


def _hint(text: object) -> object:
    return None if text in ("", "null") else text


_Colour = Annotated[Literal["B", "W"], BeforeValidator(_colour)]
_Vertex = Annotated[StrictStr, Field(max_length=4)]


class StartPosition(JsonMessage):
    """A position from which a game is to start (contribute-protocol.md 6). Legality is not checked here."""

    x_size: Annotated[StrictInt, Field(ge=MIN_LENGTH, le=MAX_LENGTH, alias="xSize")]
    y_size: Annotated[StrictInt, Field(ge=MIN_LENGTH, le=MAX_LENGTH, alias="ySize")]
    board: Annotated[StrictStr, Field(max_length=MAX_LENGTH * (MAX_LENGTH + 1))]
    """Rows from the top joined by ``/``; ``.`` empty, ``X`` black, ``O`` white."""
    next_player: Annotated[_Colour, Field(alias="nextPla")]
    move_vertices: Annotated[tuple[_Vertex, ...], Field(max_length=MAX_START_MOVES, alias="moveLocs")]
    move_colours: Annotated[tuple[_Colour, ...], Field(max_length=MAX_START_MOVES, alias="movePlas")]
    initial_turn_number: Annotated[StrictInt, Field(ge=0, le=MAX_GAME_LENGTH, alias="initialTurnNumber")]
    hint: Annotated[_Vertex | None, BeforeValidator(_hint), Field(alias="hintLoc")]
    weight: Annotated[Number, Field(gt=0, le=1e200)] = 1.0
    metadata: Annotated[StrictStr, Field(max_length=MAX_POSITION_METADATA_LENGTH)] | None = None
    training_weight: Annotated[Number, Field(gt=0, lt=5, alias="trainingWeight")] = 1.0

    @model_validator(mode="after")
    def _fits_its_board(self) -> Self:
        rows = self.board.split("/")
        if len(rows) != self.y_size or any(len(row) != self.x_size or set(row) - set(".XO") for row in rows):
            raise ValueError(
                f"board: is not {self.y_size} rows of {self.x_size} characters out of '.XO', joined by '/'"
            )
        if len(self.move_vertices) != len(self.move_colours):
            raise ValueError(f"movePlas: {len(self.move_colours)} colours for {len(self.move_vertices)} moves")
        for vertex in (*self.move_vertices, *((self.hint,) if self.hint is not None else ())):
            if not self._on_board(vertex.upper()):
                raise ValueError(f"moveLocs, hintLoc: {vertex!r} is neither on the board nor a pass")
        return self

    def _on_board(self, vertex: str) -> bool:
        if vertex == "PASS":
            return True
        found = re.fullmatch(r"([A-Z])([1-9][0-9]?)", vertex)
        if found is None:
            return False
        return 0 <= COLUMN_LETTERS.find(found[1]) < self.x_size and int(found[2]) <= self.y_size

    def to_object(self) -> dict[str, Any]:
        """The JSON object to send; no hint is the text ``null``, as KataGo writes it."""
        return super().to_object() | {"hintLoc": self.hint or "null"}


class GivenPosition(JsonMessage):
    """One element of what an administrator sends to `PATH_START_POSITIONS` (contribute-protocol.md 14)."""

    run: Url
    weight: Annotated[Number, Field(gt=0, le=1e200)]
    """How often it is drawn, in comparison with others."""
    data: StartPosition
    notes: Annotated[StrictStr, Field(max_length=MAX_NOTES_LENGTH), AfterValidator(storable)] = ""


class TaskBase(JsonMessage):
    """What both kinds of task have (contribute-protocol.md 4.2)."""

    run: RunReference
    config: Annotated[StrictStr, Field(max_length=MAX_CONFIG_BYTES), limit_bytes(MAX_CONFIG_BYTES)]
    """KataGo configuration text for these games; see `common.parameters`."""
    start_poses: Annotated[tuple[StartPosition, ...], Field(max_length=MAX_TASK_REP_FACTOR)] = ()
    """Element i is for game i of the batch; games beyond the end start normally."""
    overrides: Annotated[
        tuple[Annotated[StrictStr, Field(max_length=MAX_OVERRIDE_BYTES), limit_bytes(MAX_OVERRIDE_BYTES)], ...],
        Field(max_length=MAX_TASK_REP_FACTOR),
    ] = ()
    """Element i is ``key=value,key=value`` put over `config` for game i."""
    job_id: JobId | None = None
    """Ours: names the leased job; comes back with each of its games."""
    lease_seconds: Annotated[StrictInt, Field(ge=1, le=MAX_LEASE_SECONDS)] | None = None
    """Ours: after this time the server may give the job to another client."""
    job_token: JobToken | None = None
    """Ours: comes back with each game, and proves that the server gave this job to this login."""
    games: Annotated[StrictInt, Field(ge=1, le=MAX_TASK_REP_FACTOR)] | None = None
    """Ours: how many games are to be played, by the speed and room that the request told."""
    seed: Annotated[StrictInt, Field(ge=0, le=MAX_SEED)] | None = None
    """Ours: from which the seeds of the games follow, so that each can be played again."""
    notice: Annotated[StrictStr, Field(max_length=MAX_NOTICE_LENGTH)] | None = None
    """Ours: what the volunteer should read, such as until when this version of the client may play."""

    def to_object(self) -> dict[str, Any]:
        """The JSON object to send; start positions write themselves."""
        written = super().to_object()
        if self.start_poses:
            written["start_poses"] = [position.to_object() for position in self.start_poses]
        return written


class SelfplayTask(TaskBase):
    """Play self-play games with one network."""

    kind: Literal["selfplay"]
    network: NetworkInfo


class RatingTask(TaskBase):
    """Play games between two networks; on the wire a gating match is one of these too."""

    kind: Literal["rating"]
    black_network: NetworkInfo
    white_network: NetworkInfo
    """Who gets which colour in a game is the client's choice; the upload tells."""

    @model_validator(mode="after")
    def _two_dated_networks(self) -> Self:
        if self.black_network.name == self.white_network.name:
            raise ValueError("white_network: a rating task needs two different networks")
        for colour, network in (("black", self.black_network), ("white", self.white_network)):
            if network.created_at is None:
                raise ValueError(f"{colour}_network.created_at: required in a rating task")
        return self


Task = Annotated[SelfplayTask | RatingTask, Field(discriminator="kind")]
"""Answer to ``POST /api/tasks/``."""
_TASK: Final[TypeAdapter[SelfplayTask | RatingTask]] = TypeAdapter(Task)


def read_task(body: bytes | str) -> SelfplayTask | RatingTask:
    """Read and check the answer to a task request.

    Raises:
        MessageError: as `JsonMessage.from_json`; also for an unknown ``kind``.
    """
    try:
        return _TASK.validate_json(body)
    except ValidationError as error:
        raise MessageError(describe(error)) from None


# --------------------------------------------------------------------------------------------------------------------
# Errors
# --------------------------------------------------------------------------------------------------------------------


class ErrorCode(StrEnum):
    """What our client does after a refusal; the text beside it is for people only."""

    RETRY = "retry"
    """Try again later: the server's trouble, or one that passes."""
    DROP_GAME = "drop_game"
    """This game will never be accepted."""
    ALREADY_STORED = "already_stored"
    """This game was received before: nothing is left to be done for it."""
    UPDATE_CLIENT = "update_client"
    """The program is too old for this server or run; finished games are kept."""
    STOP = "stop"
    """Nothing more is to be had with this login or run; finished games are kept."""


class ErrorAnswer(JsonMessage):
    """Body of every answer with status 400 or above (contribute-protocol.md 10)."""

    detail: Annotated[StrictStr, Field(min_length=1)]
    """Shown to the volunteer by KataGo's client and by ours."""
    code: ErrorCode


_BY_FIELD: Final = {
    "kg_game_uid": (PHRASE_ALREADY_EXISTS, ErrorCode.ALREADY_STORED),
    "non_field_errors": (PHRASE_NO_LONGER_ENABLED, ErrorCode.DROP_GAME),
}
"""What katago-server means by a 400 whose JSON has a list of texts under this name, one of them with these words."""


def read_error(status: int, body: bytes | str) -> ErrorAnswer:
    """Make out what an answer of ``status`` >= 300 means, whoever sent it; never raises.

    Our server's answers explain themselves and carry a code, and only that decides. For katago-server the code follows
    from the status and the phrases in the fields where it puts them: 401 and 403 with an explanation stop, and a 400
    may be final for its game. What has neither shape (of a proxy, a captive portal, a wrong address) and everything
    else may still succeed, so that no game and no client is lost by a guess.
    """
    text = body if isinstance(body, str) else body.decode("utf-8", "replace")
    try:
        decoded = json.loads(text)
    except (ValueError, RecursionError):
        decoded = None
    fields = decoded if isinstance(decoded, dict) else {}
    explained = next((fields[key] for key in ("detail", "error") if isinstance(fields.get(key), str)), "").strip()
    try:
        return ErrorAnswer(detail=explained, code=ErrorCode(fields["code"]))
    except (KeyError, ValueError, TypeError):
        pass
    told = _told_of_the_game(fields) if status == 400 else None
    if told is not None:
        return told
    detail = explained or f"the server answered with status {status} and no explanation"
    return ErrorAnswer(detail=detail, code=ErrorCode.STOP if explained and status in (401, 403) else ErrorCode.RETRY)


def _told_of_the_game(fields: dict[str, object]) -> ErrorAnswer | None:
    """What katago-server says of an uploaded game for good; None if it does not.

    That the data "possibly" exist, its answer to two equal uploads at the same moment, is not for good: the next try
    finds the game.
    """
    for name, (phrase, code) in _BY_FIELD.items():
        messages = fields.get(name)
        for message in messages if isinstance(messages, list) else []:
            if isinstance(message, str) and phrase in message:
                return ErrorAnswer(detail=message, code=code)
    return None


# --------------------------------------------------------------------------------------------------------------------
# Forms: task request and uploads
# --------------------------------------------------------------------------------------------------------------------


class TaskRequest(FormMessage):
    """Fields of ``POST /api/tasks/`` (contribute-protocol.md 4.1)."""

    left_out_if_none: ClassVar[frozenset[str]] = frozenset({"client_instance_id", "machine", "room", "games_per_hour"})

    git_revision: Annotated[StrictStr, Field(max_length=80), AfterValidator(no_control_characters)] = ""
    """Commit of KataGo's source with suffixes; of our client `CLIENT_REVISION`. Which ones may play is the server's."""
    client_instance_id: Annotated[_Hexadecimal | None, BeforeValidator(absent_if_empty)] = None
    """Random for each process; KataGo's has 16 upper-case hexadecimal digits."""
    task_rep_factor: Annotated[FormInteger, Field(ge=1, le=MAX_TASK_REP_FACTOR)] = 1
    """Number of games that will be played from this one task."""
    allow_selfplay_task: FormBoolean = True
    allow_rating_task: FormBoolean = True
    machine: Annotated[_Hexadecimal | None, BeforeValidator(absent_if_empty)] = None
    """Ours: random for each data folder, and kept there."""
    room: Annotated[FormInteger, Field(ge=1, le=MAX_ROOM)] | None = None
    """Ours: how many games can begin now."""
    games_per_hour: Annotated[FormNumber, Field(ge=0, le=MAX_GAMES_PER_HOUR)] | None = None
    """Ours: the machine's speed of late, once it is known."""
