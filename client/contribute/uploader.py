"""One step of sending: the oldest game of the spool goes to the server, and the answer decides what becomes of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from client.contribute.api import (
    GameRefusedError,
    LoginRefusedError,
    OutageError,
    ServerApi,
    ServerError,
    UpdateNeededError,
)
from client.contribute.loop import Backoff, Outcome
from client.contribute.spool import Spool, SpooledGame


@dataclass
class Uploader:
    """Sends the spool's games one after the other.

    Only games that were played for this server are sent; those of another server wait until the client is started for
    that one. A game that the server will never take is set aside; any other failure leaves it where it is.

    Attributes:
        report: called with a line for the volunteer.
        give_up: called once, with the reason, when no game can be sent by this client any more.
    """

    api: ServerApi
    spool: Spool
    backoff: Backoff
    report: Callable[[str], None]
    give_up: Callable[[str], None]
    sent: int = 0
    refused: int = 0
    trouble: str = ""
    _queue: deque[SpooledGame] = field(default_factory=deque)

    def send_waiting(self, may_go_on: Callable[[], bool]) -> None:
        """Send one game after the other until none waits, a try fails, or ``may_go_on`` denies it."""
        while may_go_on() and self.step() is Outcome.WORKED:
            pass

    def step(self) -> Outcome:
        """Send one game."""
        game = self._next()
        if game is None:
            return Outcome.IDLE
        try:
            self.api.upload(game)
        except GameRefusedError as error:
            kept = self.spool.refuse(game, str(error))
            self.refused += 1
            self.report(f"game {game.uid} was refused: {error}; it is kept in {kept}")
        except OutageError as error:
            self._queue.appendleft(game)
            self.backoff.at_least = error.retry_after or 0.0
            self._trouble(
                f"cannot send games: {error}; {self.spool.count()} wait on disk, the next try follows by itself"
            )
            return Outcome.FAILED
        except (LoginRefusedError, UpdateNeededError) as error:
            self._queue.appendleft(game)
            self.give_up(f"{error}; {self.spool.count()} finished games stay on disk and are sent by a later start")
            return Outcome.FAILED
        except ServerError as error:
            raise AssertionError(f"an unforeseen kind of refusal: {error!r}") from error
        except FileNotFoundError:  # another process of this volunteer sent it
            return Outcome.WORKED
        else:
            self.spool.sent(game)
            self.sent += 1
        self._trouble("")
        return Outcome.WORKED

    def waiting(self) -> int:
        """Games on disk that are for this server."""
        return sum(game.server_url == self.api.server_url for game in self.spool.pending())

    def _next(self) -> SpooledGame | None:
        if not self._queue:
            self._queue.extend(game for game in self.spool.pending() if game.server_url == self.api.server_url)
        return self._queue.popleft() if self._queue else None

    def _trouble(self, text: str) -> None:
        """Tell of a trouble when it begins and when it is over, not at every try."""
        if bool(text) != bool(self.trouble):
            self.report(text or "the server takes games again")
        self.trouble = text
