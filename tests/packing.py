"""Planes of tests as rows hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def pack_planes(planes: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Bit-packed planes of [n, 22, length, length] arrays of 0 and not 0; the inverse of ``Rows.planes``."""
    count, channels, height, width = planes.shape
    return np.packbits(planes.reshape(count, channels, height * width) != 0, axis=2)
