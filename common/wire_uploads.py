"""The messages of the HTTP protocol by which games and networks are uploaded: forms, what travels in them, the answer.

A part of `common.wire` (whose first lines say how messages are read and written), with the specs
contribute-protocol.md 8, 9 and 14. Files travel beside the forms: an SGF, an npz file, a network.
"""

from __future__ import annotations

import itertools
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    model_validator,
)

from common.go.basics import MAX_LENGTH, MIN_LENGTH
from common.wire import (
    MAX_FORM_JSON_BYTES,
    MAX_GAME_LENGTH,
    MAX_NET_CHANGES,
    MAX_NOTES_LENGTH,
    MAX_POSITION_METADATA_LENGTH,
    MAX_ROWS,
    MAX_TASK_REP_FACTOR,
    MAX_URL_LENGTH,
    JobId,
    JobToken,
    NetworkName,
    Sha256,
    Url,
)
from common.wire_base import (
    FormBoolean,
    FormInteger,
    FormMessage,
    FormNumber,
    HalfInteger,
    JsonMessage,
    Number,
    absent_if_empty,
    json_text,
    storable,
)

_Uid = Annotated[StrictStr, Field(pattern=r"^[0-9A-Fa-f]{32}$"), AfterValidator(str.upper)]
_BoardSize = Annotated[FormInteger, Field(ge=MIN_LENGTH, le=MAX_LENGTH)]
_JsonText = BeforeValidator(json_text(MAX_FORM_JSON_BYTES))


class UploadAnswer(JsonMessage):
    """Answer to an upload that needs no further attempt.

    Only `kg_game_uid` proves it to our client, as a status can come from whatever stands in between; katago-server
    answers with the game's fields, this one among them. The other fields are ours.
    """

    kg_game_uid: Annotated[StrictStr, Field(max_length=48)] | None = None
    """The game that the server has now."""
    already_known: StrictBool = False
    """The same game was received before; nothing was stored now."""
    detail: StrictStr | None = None
    """Text for people, e.g. that the game waits for its audit."""


class UploadedRules(JsonMessage):
    """The rules of an uploaded game, without komi (rules.md 1.3, compact).

    A rule that is not known here is refused: without it the game would be another.
    """

    model_config = ConfigDict(extra="forbid")

    ko: Literal["SIMPLE", "POSITIONAL", "SITUATIONAL"]
    scoring: Literal["AREA", "TERRITORY"]
    tax: Literal["NONE", "SEKI", "ALL"]
    suicide: StrictBool
    has_button: Annotated[StrictBool, Field(alias="hasButton")] = False
    white_handicap_bonus: Annotated[Literal["0", "N", "N-1"], Field(alias="whiteHandicapBonus")] = "0"
    friendly_pass_ok: Annotated[StrictBool, Field(alias="friendlyPassOk")] = False

    def to_object(self) -> dict[str, Any]:
        """The JSON object to send: what has its default is left out."""
        required = {"ko", "scoring", "tax", "suicide"}
        kept = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return self.model_dump(mode="json", by_alias=True, include=required) | kept


class ExtraMetadata(JsonMessage):
    """Facts about a training game that neither its SGF nor its rows tell; an empty object for rating games."""

    playout_doubling_advantage: Annotated[Number, Field(ge=-10, le=10)] | None = None
    playout_doubling_advantage_pla: Literal["Black", "White", "Empty"] | None = None
    draw_equivalent_wins_for_white: Annotated[Number, Field(ge=0, le=1)] | None = None
    pos_metadata: (
        Annotated[StrictStr, Field(max_length=MAX_POSITION_METADATA_LENGTH), AfterValidator(storable)] | None
    ) = None


class ForkOrigin(JsonMessage):
    """Ours: what a game that goes on with another one cannot tell by its record: see `GameUpload.fork`."""

    kind: Literal["plain", "seki", "hint"]
    komi: Annotated[Number, Field(ge=-1000, le=1000)]
    """Before it was drawn again for this game."""
    training_weight: Annotated[Number, Field(gt=0, lt=5)]
    """Of the rows of the other game."""


class GameUpload(FormMessage):
    """The fields that both kinds of upload share (contribute-protocol.md 8, 9)."""

    left_out_if_none: ClassVar[frozenset[str]] = frozenset({"job_id", "job_token", "game_number", "fork"})

    def to_form(self) -> dict[str, str]:
        """The text fields in the order of the protocol, ours after those."""
        written = super().to_form()
        return {name: text for name, text in written.items() if name not in self.left_out_if_none} | written

    board_size_x: _BoardSize
    board_size_y: _BoardSize
    handicap: Annotated[FormInteger, Field(ge=0, le=1000)]
    """As ``HA`` of the SGF: 0, or 2 and more."""
    komi: Annotated[HalfInteger, Field(ge=-1000, le=1000)]
    gametype: Annotated[StrictStr, Field(pattern=r"^[a-z_]{1,24}$")]
    """``normal``, ``cleanup_training``, ``fork``, … (see `form_game_type`)."""
    rules: Annotated[UploadedRules, _JsonText]
    extra_metadata: Annotated[ExtraMetadata, _JsonText]
    winner: Literal["W", "B", "0", "-"]
    """``0`` is a draw, ``-`` no result."""
    score: Annotated[Annotated[HalfInteger, Field(ge=-10000, le=10000)] | None, BeforeValidator(absent_if_empty)]
    """White minus Black at the end; 0 after resignation or no result."""
    resigned: FormBoolean
    game_length: Annotated[FormInteger, Field(ge=0, le=MAX_GAME_LENGTH)]
    """Moves recorded, the opening included."""
    kg_game_uid: _Uid
    """Drawn by the client; the key by which a repeated upload is recognised. Kept in upper case."""
    run: Url
    white_network: Url
    black_network: Url
    job_id: Annotated[JobId | None, BeforeValidator(absent_if_empty)] = None
    """Ours: `TaskBase.job_id` of the task."""
    job_token: Annotated[JobToken | None, BeforeValidator(absent_if_empty)] = None
    """Ours: `TaskBase.job_token` of the task."""
    game_number: Annotated[FormInteger, Field(ge=0, lt=MAX_TASK_REP_FACTOR)] | None = None
    """Ours: which game of the task it is, from 0; with `TaskBase.seed` it determines the game."""
    fork: Annotated[ForkOrigin | None, _JsonText] = None
    """Ours: told exactly by a game that goes on with another one."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.handicap == 1:
            raise ValueError("handicap: is 0, or 2 and more")
        if self.resigned and self.winner not in ("W", "B"):
            raise ValueError("winner: a game that ended by resignation has one")
        return self


class NetChange(JsonMessage):
    """A game of self-play went on with another network of its run."""

    turn: Annotated[StrictInt, Field(ge=1, le=MAX_GAME_LENGTH)]
    """Of the record: its search is the first one by that network."""
    network: Url


class TrainingGameUpload(GameUpload):
    """Text fields of ``POST /api/games/training/``; files ``sgf_file`` and ``training_data_file`` travel with it."""

    left_out_if_none: ClassVar[frozenset[str]] = GameUpload.left_out_if_none | {"net_changes"}

    num_training_rows: Annotated[FormInteger, Field(ge=1, le=MAX_ROWS)]
    """Rows in the npz file; a game without rows is not uploaded."""
    net_changes: Annotated[
        Annotated[tuple[NetChange, ...], Field(min_length=1, max_length=MAX_NET_CHANGES)] | None,
        BeforeValidator(json_text(MAX_NET_CHANGES * MAX_URL_LENGTH)),
        BeforeValidator(absent_if_empty),
    ] = None
    """Ours: the changes of the network in mid-game, by ascending turns; ``black_network`` and ``white_network`` are the
    one by which the game began."""

    @model_validator(mode="after")
    def _changes_in_order(self) -> Self:
        turns = [change.turn for change in self.net_changes or ()]
        if any(before >= after for before, after in itertools.pairwise(turns)):
            raise ValueError("net_changes: their turns ascend")
        if turns and turns[-1] > self.game_length:
            raise ValueError("net_changes: a turn lies beyond the end of the game")
        if turns and self.job_id is None:
            raise ValueError("net_changes: only the games of a job that has a name change their network")
        return self


class NetworkUpload(FormMessage):
    """Text fields of ``POST /api/networks/`` (contribute-protocol.md 14); ``model_file`` travels with them."""

    run: Url
    name: NetworkName
    network_size: Annotated[StrictStr, Field(max_length=64), AfterValidator(storable)] = ""
    is_random: FormBoolean = False
    model_file_bytes: Annotated[FormInteger | None, BeforeValidator(absent_if_empty)] = None
    model_file_sha256: Sha256 = ""
    training_games_enabled: FormBoolean = False
    rating_games_enabled: FormBoolean = True
    parent_network: Annotated[Url | None, BeforeValidator(absent_if_empty)] = None
    train_step: Annotated[FormInteger, Field(ge=0)] = 0
    total_num_data_rows: Annotated[FormInteger, Field(ge=0)] = 0
    extra_stats: Annotated[dict[str, Any], _JsonText] = Field(default_factory=dict)
    notes: Annotated[StrictStr, Field(max_length=MAX_NOTES_LENGTH), AfterValidator(storable)] = ""
    log_gamma_offset: Annotated[FormNumber, Field(ge=-100, le=100)] = 0.0


class RatingGameUpload(GameUpload):
    """Text fields of ``POST /api/games/rating/``; the file ``sgf_file`` travels with it."""

    @model_validator(mode="after")
    def _two_networks(self) -> Self:
        if self.white_network == self.black_network:
            raise ValueError("black_network: a rating game has two different networks")
        return self


def form_game_type(sgf_game_type: str) -> str:
    """Spelling of a game type in `GameUpload.gametype`, from the one in the SGF's root comment (``gtype``)."""
    return "cleanup_training" if sgf_game_type == "cleanuptraining" else sgf_game_type
