"""Elo, in which people tell strengths; programs compute with log gamma (`common.bradley_terry`)."""

from __future__ import annotations

import math
from typing import Final

ELO_PER_LOG_GAMMA: Final = 400.0 / math.log(10.0)
"""Ten times as likely to win as to lose are 400 Elo."""
