"""How the playouts of an asymmetric game are shared between its sides (selfplay.md 6), for players and audit alike."""

from __future__ import annotations

from common.go.basics import WHITE
from common.kernels import njit


@njit(cache=True, nogil=True)
def playout_share(colour: int, white_doublings: float) -> float:
    """What multiplies the visits of ``colour``, where White has 2 ** ``white_doublings`` times those of Black."""
    factor = 2.0 ** (white_doublings if colour == WHITE else -white_doublings)
    return float(2.0 * factor / (factor + 1.0))
