"""What a session of GTP has: a position, clocks, settings, searches and what they have said so far (engine.md 2).

The commands are functions of a session, in the modules beside this one. Knows no command.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from client.engine.clock import Clock, TimeControl, full_clock, no_limit
from client.engine.gtp.protocol import GtpError
from client.engine.gtp.settings import GtpSettings, Parameters
from client.engine.position import Position
from client.engine.queries import Queries, Query, Ticket
from client.search.pool import NonFiniteEvaluationError
from common.go.game import Game
from common.go.points import BLACK, MAX_LENGTH, WHITE
from common.go.start import GameStart
from common.parameters import SearchParameters
from nets.evaluation.batch import Evaluator, EvaluatorError

LINE: Final = "game"
"""The line of searches (`client.engine.queries`) that follows the game."""
SLOTS: Final = 2
"""Searches at once: that of the game, whose tree stays, and one that answers a question beside it."""
_OUR_SEED: Final = 1 << 63


class Session:
    """One game and an engine that plays and analyses it.

    Args:
        parameters: settings, which the session may change.
        queries: searches.
        models: what ``kata-get-models`` tells.
        seed: of all random draws.
        version: the answer to ``version``.
        length: edge of the board at the start.
        clock: seconds; tests give their own, and what waits for some.
    """

    def __init__(
        self,
        parameters: Parameters,
        queries: Queries,
        *,
        models: list[dict[str, Any]],
        seed: int,
        version: str,
        length: int = MAX_LENGTH,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.parameters, self.queries, self.models, self.version = parameters, queries, models, version
        self.clock, self.sleep = clock, sleep
        self._random = np.random.default_rng(seed)
        settings = self.settings
        start = GameStart(
            length,
            length,
            settings.rules,
            leading_moves_are_handicap=settings.assume_black_moves_are_handicap,
        )
        self.position = Position(start, prevents_cleanup=settings.prevent_cleanup_phase)
        self.clocks: dict[int, Clock] = {}
        self.set_time(no_limit())
        self.win_losses: list[float] = []
        """White's at the roots of the searches that chose moves of this game, latest last."""
        self.advantage = 0.0
        """White's dynamic playout doubling advantage."""
        self.genmove_seconds = 0.0
        self.last_search: tuple[float, int] = (0.0, 0)
        """Seconds of the latest search of the game, and the visits that it ended with."""
        self._pondering: Ticket | None = None
        self._pondered_since = 0.0

    @property
    def settings(self) -> GtpSettings:
        """As they are now."""
        return self.parameters.config.settings

    @property
    def search(self) -> SearchParameters:
        """The parameters of searches, before `client.engine.gtp.thinking` fits them to a purpose."""
        return self.parameters.config.search

    @property
    def game(self) -> Game:
        """The present game."""
        return self.position.game

    def begin_anew(self) -> None:
        """Forget what searches said: the game is another one, or goes on from elsewhere."""
        self.win_losses.clear()
        self.advantage = 0.0

    # -- clocks --

    def set_time(self, control: TimeControl) -> None:
        """The same control for both players, from its beginning."""
        self.clocks = {colour: full_clock(control) for colour in (BLACK, WHITE)}

    def restart_clocks(self) -> None:
        """A game under the same control begins."""
        self.clocks = {colour: full_clock(clock.control) for colour, clock in self.clocks.items()}

    # -- searches --

    def draw_seed(self) -> int:
        """64 bits for a search."""
        return int(self._random.integers(_OUR_SEED))

    @property
    def random(self) -> np.random.Generator:
        """For draws outside searches."""
        return self._random

    def evaluator(self) -> Evaluator:
        """The net for the present board; GtpError if it cannot be loaded."""
        try:
            return self.queries.evaluator(max(self.position.size))
        except EvaluatorError as error:
            raise GtpError(str(error)) from error

    def ask(self, query: Query) -> Ticket:
        """Begin a search; GtpError if the net cannot be loaded."""
        self.evaluator()
        return self.queries.ask(query)

    def work(self, ticket: Ticket) -> None:
        """One round; raises what ended the search, as a GtpError where it is the net's or the device's fault."""
        self.queries.poll()
        if isinstance(ticket.error, EvaluatorError | NonFiniteEvaluationError):
            raise GtpError(str(ticket.error)) from ticket.error
        if ticket.error is not None:
            raise ticket.error

    def finish(self, ticket: Ticket) -> None:
        """Work until a search is finished."""
        while not ticket.is_finished:
            self.work(ticket)

    def cut_short(self, ticket: Ticket) -> None:
        """End a search with what it has, whatever it is."""
        self.queries.cancel(ticket)
        while not ticket.is_finished:
            self.queries.poll()

    # -- in the opponent's time; as `client.engine.gtp.protocol.Background` --

    @property
    def is_busy(self) -> bool:
        """Whether the session ponders."""
        return self._pondering is not None

    def ponder(self, query: Query) -> None:
        """Search on until `stop`."""
        self._pondering, self._pondered_since = self.ask(query), self.clock()

    def go_on(self) -> None:
        """A round of pondering."""
        ticket = self._pondering
        assert ticket is not None
        self.queries.poll()
        if ticket.is_finished:
            self._pondered(ticket)

    def stop(self) -> None:
        """End pondering; its tree stays."""
        if self._pondering is not None:
            self.cut_short(self._pondering)
            self._pondered(self._pondering)

    def _pondered(self, ticket: Ticket) -> None:
        self._pondering = None
        if ticket.result is not None:
            self.last_search = self.clock() - self._pondered_since, ticket.result.visits
