"""The table of encoders: what writes a position as each of the declared inputs (`common.inputs`).

For single positions of a `Game`; where many are encoded, the kernels of the encoding are called directly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from common.features import FeatureOptions, encode, new_scratch
from common.go.game import Game
from common.inputs import V7, Inputs

Encoder = Callable[[Game, npt.NDArray[np.float32], npt.NDArray[np.float32]], None]
"""Writes a game's position into planes [P, L, L] and global inputs [G], all of them, whatever they held."""


def _encode_v7(game: Game, planes: npt.NDArray[np.float32], global_inputs: npt.NDArray[np.float32]) -> None:
    encode(game.state, game.history, planes.shape[-1], FeatureOptions(), planes, global_inputs, new_scratch())


ENCODERS: Final[dict[str, Encoder]] = {V7.name: _encode_v7}
"""By the name of the inputs."""


def encoder_of(inputs: Inputs) -> Encoder:
    """The encoder for these inputs. LookupError, for people, if there is none."""
    if inputs.name not in ENCODERS:
        raise LookupError(f"nothing encodes positions as inputs {inputs.name!r}; known are: {', '.join(ENCODERS)}")
    return ENCODERS[inputs.name]
