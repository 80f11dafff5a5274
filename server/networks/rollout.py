"""Which network a client plays self-play with while a new one is rolled out: a pure function over run and client.

Each client changes over at a moment of its own, fixed by a digest of its name, between the promotion and the end of the
roll-out, so that the server's line is not asked for the same file by all at once (contribute-protocol.md 15).
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import Final

from server.networks.models import Network
from server.runs.models import Run

_PARTS: Final = 1 << 32


def network_for(run: Run, contributor: int, instance: str, now: datetime) -> Network | None:
    """The network of self-play for a process (``instance``) of a contributor (by key)."""
    previous, since = run.previous_network, run.current_since
    if previous is None or since is None or not previous.training_games_enabled:
        return run.current_network
    digest = hashlib.sha256(f"{run.pk}/{contributor}/{instance}".encode()).digest()
    share = int.from_bytes(digest[:4], "big") / _PARTS
    changes_at = since + timedelta(minutes=run.rollout_minutes * share)
    return previous if now < changes_at else run.current_network
