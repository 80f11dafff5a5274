"""Refusals that a client is told, each with the reaction it calls for.

::

    Refused                     status, code (common/wire.py: what our client does), detail (text for people)
    ├── GameRefused        400  this game will never be accepted: drop it
    ├── GameExists         400  the game was received before
    ├── NoJob              400  nothing to do for this client now: ask again later
    ├── TooMany            429  this login holds or sends more than an honest one does: ask again later
    ├── NoRun              404  no run is active
    ├── OutdatedClient     400  the program is not on the run's list
    ├── NotAllowed         403  the login may not contribute
    ├── Unavailable        503  our own trouble (database, storage): the same request may succeed later
    └── NoSpace            507  the disk is nearly full

KataGo's client reads phrases in the text and ignores the code (contribute-protocol.md 10); the classes add them.
Services raise these; `server.api.handle_exception` turns them into answers.
"""

from __future__ import annotations

from typing import ClassVar

from common.wire import (
    PHRASE_ALREADY_EXISTS,
    PHRASE_NO_LONGER_ENABLED,
    PHRASE_NO_PERMISSION,
    PHRASE_ONLY_RATING,
    ErrorCode,
)


class Refused(Exception):
    """A request that is not honoured. ``str()`` is the whole text for people."""

    status: ClassVar[int] = 400
    code: ClassVar[ErrorCode] = ErrorCode.RETRY
    retry_after: int | None = None
    """Seconds after which another try may succeed, where that is known."""


class GameRefused(Refused):
    """A game that will never be accepted; the phrase keeps KataGo's client from sending it for six days."""

    code = ErrorCode.DROP_GAME

    def __init__(self, reason: str) -> None:
        super().__init__(f"game refused: {reason}. Sending it again is of no use: uploads are {self._phrase()}.")

    @staticmethod
    def _phrase() -> str:
        return f"{PHRASE_NO_LONGER_ENABLED} this game"


class GameExists(Refused):
    """A game whose uid is known, so that a repeated upload is finished with."""

    code = ErrorCode.ALREADY_STORED

    def __init__(self, uid: str) -> None:
        super().__init__(f"a game with kg_game_uid {uid} {PHRASE_ALREADY_EXISTS}s; nothing was stored now")


class NoJob(Refused):
    """No job for this client at the moment."""

    retry_after = 30


class TooMany(Refused):
    """A bound that honest clients do not meet."""

    status = 429
    retry_after: int | None = 120


class OnlyRatingNow(NoJob):
    """No job for a client that takes no rating games; by the phrase KataGo's client waits quietly."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{PHRASE_ONLY_RATING}: {reason}")


class NoRun(Refused):
    """No run is active."""

    status = 404

    def __init__(self) -> None:
        super().__init__("no run is active on this server at the moment; try again later")


class OutdatedClient(Refused):
    """The client's revision is not among those that the run takes."""

    code = ErrorCode.UPDATE_CLIENT


class NotAllowed(Refused):
    """The login is right, but it may not contribute."""

    status = 403
    code = ErrorCode.STOP

    def __init__(self, reason: str) -> None:
        super().__init__(f"You do not have {PHRASE_NO_PERMISSION} this action: {reason}")


class Unavailable(Refused):
    """Trouble of ours that passes."""

    status = 503
    code = ErrorCode.RETRY
    retry_after = 30


class NoSpace(Unavailable):
    """The storage has too little room left."""

    status = 507
    retry_after = 600


class InvalidSettings(ValueError):
    """Settings that an operator gave and that cannot be saved; the text names each fault. Never told to clients."""
