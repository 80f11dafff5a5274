"""A game that a server has stored, in a folder, with all that it follows from: so that it can be played again.

The server writes such a folder, ``python -m client replay`` reads it; neither knows the other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import Field, StrictInt, StrictStr, model_validator

from common.go.basics import MAX_LENGTH
from common.wire import MAX_CONFIG_BYTES, MAX_SEED, MIN_DATA_BOARD_LENGTH, StartPosition
from common.wire_base import JsonMessage, file_name
from common.wire_uploads import ForkOrigin

FACTS_FILE: Final = "game.json"
SGF_FILE: Final = "game.sgf"
ROWS_FILE: Final = "game.npz"


class StoredNetwork(JsonMessage):
    """One side's network."""

    name: StrictStr
    file: StrictStr | None
    """In the folder; None for the random network."""

    @model_validator(mode="after")
    def _lies_in_the_folder(self) -> Self:
        if self.file is not None:
            file_name(self.file)
        return self


class StoredGame(JsonMessage):
    """What a game follows from, up to the rounding of the evaluator."""

    kind: Literal["training", "rating"]
    job_seed: Annotated[StrictInt, Field(ge=0, le=MAX_SEED)]
    job_number: Annotated[StrictInt, Field(ge=0)]
    config: Annotated[StrictStr, Field(max_length=MAX_CONFIG_BYTES)]
    """Of this game, overrides included."""
    length: Annotated[StrictInt, Field(ge=MIN_DATA_BOARD_LENGTH, le=MAX_LENGTH)]
    black: StoredNetwork
    white: StoredNetwork
    start: StartPosition | None = None
    """Where its job let it begin."""
    fork: ForkOrigin | None = None
    """Told exactly by a game that goes on with another; the rest of that is in the record."""

    def write(self, folder: Path, sgf: bytes, rows: bytes | None) -> None:
        """Write the folder's files, but for the networks'."""
        (folder / FACTS_FILE).write_text(self.to_json(), "utf-8")
        (folder / SGF_FILE).write_bytes(sgf)
        if rows is not None:
            (folder / ROWS_FILE).write_bytes(rows)

    @classmethod
    def read(cls, folder: Path) -> tuple[Self, bytes, bytes | None]:
        """A folder's game, its record and its rows, if it has any.

        Raises:
            OSError: a file cannot be read.
            MessageError: the facts do not hold.
        """
        stored = cls.from_json((folder / FACTS_FILE).read_bytes())
        rows = (folder / ROWS_FILE).read_bytes() if stored.kind == "training" else None
        return stored, (folder / SGF_FILE).read_bytes(), rows
