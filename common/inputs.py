"""What a net sees: the declaration of an encoding of positions, which a net's description carries. No encoder itself.

Encoders are found by an encoding's name in `common.encoders`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from common.rows import NUM_GLOBAL_INPUTS, NUM_PLANES, GlobalInput, InputPlane


@dataclass(frozen=True)
class Inputs:
    """An encoding of positions for tensors of edge L: planes [P, L, L] and global inputs [G], float32."""

    name: str
    planes: int
    """P, at least 1."""
    globals: int
    """G; 0 for nets that see planes alone."""
    binary: bool
    """Whether planes hold nothing but 0 and 1, so that bytes can carry them."""
    board: int
    """The plane that is 1 on the board and 0 elsewhere."""
    ko_not_simple: int | None = None
    """The global input that is not 0 where the ko rule is other than the simple one; None if none tells."""
    territory_scoring: int | None = None
    """The global input that is not 0 where territory is scored; None if none tells."""
    komi_parity: int | None = None
    """The global input that says which of the final scores komi and board make possible; None if none tells."""

    def __post_init__(self) -> None:
        if self.planes < 1 or self.globals < 0:
            raise ValueError(f"inputs {self.name}: {self.planes} planes and {self.globals} global inputs are no inputs")
        if not 0 <= self.board < self.planes:
            raise ValueError(f"inputs {self.name}: plane {self.board}, the board, is none of {self.planes}")
        for index in (self.ko_not_simple, self.territory_scoring, self.komi_parity):
            if index is not None and not 0 <= index < self.globals:
                raise ValueError(f"inputs {self.name}: there is no global input {index} among {self.globals}")


V7: Final = Inputs(
    "v7",
    NUM_PLANES,
    NUM_GLOBAL_INPUTS,
    binary=True,
    board=int(InputPlane.ON_BOARD),
    ko_not_simple=int(GlobalInput.KO_NOT_SIMPLE),
    territory_scoring=int(GlobalInput.TERRITORY_SCORING),
    komi_parity=int(GlobalInput.KOMI_PARITY),
)
"""KataGo's inputs (features.md), those of training rows and of KataGo's net files."""
