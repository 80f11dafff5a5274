"""One step of sending: a game of the spool goes to the server, and the answer decides what becomes of it."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from client.contribute.api import ServerApi
from client.contribute.errors import GameRefusedError, LoginRefusedError, OutageError, UpdateNeededError
from client.contribute.loop import Backoff, Outcome
from client.contribute.spool import Spool, SpooledGame

TELL_AGAIN_S: Final = 600.0
"""A trouble that comes and goes is told at most this often."""
READ_TRIES: Final = 4
"""So often a game's files are read before it is left to the next start; a virus scanner lets go of them sooner."""


@dataclass
class Uploader:
    """Sends the spool's games one after the other.

    Only games that were played for this server are sent; those of another server wait until the client is started for
    that one. A game that the server will never take is set aside; any other failure leaves it where it is, and the
    others are tried before it is tried again, so that no single game holds them up.

    Attributes:
        report: called with a line for the volunteer.
        give_up: called once, with the reason, when no game can be sent by this client any more.
        clock: monotonic seconds.
    """

    api: ServerApi
    spool: Spool
    backoff: Backoff
    report: Callable[[str], None]
    give_up: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    sent: int = 0
    refused: int = 0
    trouble: str = ""
    _queue: deque[SpooledGame] = field(default_factory=deque)
    _failures: Counter[str] = field(default_factory=Counter)
    _done: set[str] = field(default_factory=set)
    _told_at: float = float("-inf")
    _told: bool = False

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
            self._refuse(game, error)
        except OutageError as error:
            self._try_later(game)
            self.backoff.at_least = error.retry_after or 0.0
            self._trouble(
                f"cannot send games: {error}; {self.spool.count()} wait on disk, the next try follows by itself"
            )
            return Outcome.FAILED
        except (LoginRefusedError, UpdateNeededError) as error:
            self._try_later(game)
            self.give_up(f"{error}; {self.spool.count()} finished games stay on disk and are sent by a later start")
            return Outcome.FAILED
        except FileNotFoundError:  # somebody took it away
            return Outcome.WORKED
        except OSError as error:  # of its files: what the network does is a `ServerError`
            return self._not_readable(game, error)
        except Exception:
            self._try_later(game)
            raise
        else:
            self.sent += 1
            self._forget(game)
        self._trouble("")
        return Outcome.WORKED

    def waiting(self) -> int:
        """Games on disk that this client can send."""
        return len(self._sendable())

    def _sendable(self) -> list[SpooledGame]:
        return [
            game
            for game in self.spool.pending()
            if game.server_url == self.api.server_url and game.uid not in self._done
        ]

    def _next(self) -> SpooledGame | None:
        if not self._queue:  # the sort is stable: among those that failed as often the oldest goes first
            self._queue.extend(sorted(self._sendable(), key=lambda game: self._failures[game.uid]))
        return self._queue.popleft() if self._queue else None

    def _try_later(self, game: SpooledGame) -> None:
        self._failures[game.uid] += 1
        self._queue.clear()

    def _not_readable(self, game: SpooledGame, error: OSError) -> Outcome:
        """Try it later, but not for ever: pauses after failures would hold the others up."""
        self._try_later(game)
        self.trouble = f"game {game.uid} cannot be read from {game.folder}: {error.strerror or error}"
        if self._failures[game.uid] == 1:
            self.report(f"{self.trouble}; it is tried again")
        if self._failures[game.uid] < READ_TRIES:
            return Outcome.FAILED
        self._done.add(game.uid)
        self.report(f"{self.trouble}; it stays there, and the next start tries again")
        self.trouble = ""
        return Outcome.WORKED

    def _forget(self, game: SpooledGame) -> None:
        self._failures.pop(game.uid, None)
        try:
            self.spool.sent(game)
        except FileNotFoundError:
            pass
        except OSError as error:  # it is sent again by the next start, which does no harm
            self._done.add(game.uid)
            self.report(f"game {game.uid} is sent but cannot be removed from {game.folder}: {error.strerror or error}")

    def _refuse(self, game: SpooledGame, error: GameRefusedError) -> None:
        self.refused += 1
        self._failures.pop(game.uid, None)
        try:
            where = f"it is kept in {self.spool.refuse(game, str(error))}"
        except OSError as trouble:
            self._done.add(game.uid)
            where = f"it stays in {game.folder}, as it cannot be moved: {trouble.strerror or trouble}"
        self.report(f"game {game.uid} was refused: {error}; {where}")

    def _trouble(self, text: str) -> None:
        """Tell of a trouble when it begins and when it is over, not at every try."""
        if text and not self.trouble and self.clock() - self._told_at >= TELL_AGAIN_S:
            self.report(text)
            self._told_at, self._told = self.clock(), True
        elif not text and self._told:
            self.report("the server takes games again")
            self._told = False
        self.trouble = text
