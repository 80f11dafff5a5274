"""What a request to the server came to, if not to its answer; the class says what to do next.

::

    ServerError
    ├── OutageError          no answer of the game server, or its own trouble: try again later
    ├── GameRefusedError     this game will never be taken: set it aside
    ├── UpdateNeededError    this program is too old: keep the games, tell the volunteer
    └── LoginRefusedError    nothing more with this login or run: keep the games, tell the volunteer
"""

from __future__ import annotations


class ServerError(Exception):
    """The server did not do what was asked; the text is for the volunteer."""


class OutageError(ServerError):
    """No answer, or one that passes; ``retry_after`` seconds if the server named a time."""

    def __init__(self, text: str, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class GameRefusedError(ServerError):
    """The game of this upload will never be accepted."""


class UpdateNeededError(ServerError):
    """The server does not work with this version of the program."""


class LoginRefusedError(ServerError):
    """Wrong name or password, no permission, or the run is closed."""
