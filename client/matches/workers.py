"""The processes of a match: one per stream, each with a hall of tables; the parent gives out the games.

A match goes on where it stopped, so a process that fails ends it, with its reason, and nothing is tried twice here.
"""

from __future__ import annotations

import contextlib
import multiprocessing.connection
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Final

from client.devices import Stream
from client.matches.ledger import MatchResult
from client.matches.openings import Openings
from client.matches.players import Player, PlayerError
from client.matches.schedule import Schedule
from client.networks import Network
from client.processes import begin_child, start_child
from common.parameters import MatchConfig
from common.precision import Precision
from common.progress import LOADING, READY, Announcement

if TYPE_CHECKING:  # the playing code is slow to import and the parent does not need it
    from client.search.cache import CacheSettings

KILL_WAIT_S: Final = 5.0
_POLL_S: Final = 0.2


@dataclass(frozen=True, kw_only=True)
class MatchSetup:
    """All that a process needs to know; plain data."""

    networks: tuple[Network, ...]  # of the first players
    program: str | None  # the last player, if it is one
    names: tuple[str, ...]  # of all players
    config: MatchConfig
    schedule: Schedule
    openings: Openings
    opening_moves: int  # drawn from the first network's policy
    seed: int
    precisions: tuple[Precision, ...]  # in which each network is evaluated
    patience_s: float  # for an answer of the program
    memory: float  # bytes for the trees of a player in a process
    cache: CacheSettings


@dataclass(frozen=True)
class _Wants:
    """A process has a free table."""


@dataclass(frozen=True)
class _Failed:
    """A process cannot go on."""

    text: str


def players_of(setup: MatchSetup, stream: Stream) -> list[Player]:
    """The players of a process, the first one a network; PlayerError if one cannot be made."""
    from client.engine.queries import Queries, capacity_within
    from client.matches.net_player import NetPlayer
    from client.matches.programs import ProgramPlayer
    from client.networks import evaluator_loader

    def net_player(seat: int, network: Network) -> NetPlayer:
        search = setup.config.bots[seat]
        capacity = min(search.max_visits, capacity_within(setup.memory, stream.games))
        load = evaluator_loader(stream.device, stream.threads, setup.precisions[seat])
        queries = Queries(
            network,
            load,
            slots=stream.games,
            leaves=search.num_search_threads,
            capacity=capacity,
            cache=setup.cache,
        )
        return NetPlayer(setup.names[seat], queries, search, setup.config.match)

    players: list[Player] = [net_player(seat, network) for seat, network in enumerate(setup.networks)]
    if setup.program is not None:
        players.append(ProgramPlayer(setup.program, setup.names[-1], setup.patience_s))
    return players


def worker_main(pipe: Connection, stream: Stream, setup: MatchSetup) -> None:
    """Entry point of a process: plays what the parent gives until it says that there is no more."""
    begin_child(stream.core)
    players: list[Player] = []
    try:
        from client.matches.net_player import NetPlayer, PolicyOpenings
        from client.matches.playing import Beginnings, Hall

        players = players_of(setup, stream)
        openings: Beginnings = setup.openings
        if setup.opening_moves:
            assert isinstance(players[0], NetPlayer)
            openings = PolicyOpenings(players[0], setup.openings, setup.opening_moves, setup.seed)
        start = setup.openings.start_of(0)
        for player in reversed(players):  # a program that cannot be started is told before anything is compiled
            player.warm_up(start)
        hall = Hall(
            players,
            openings,
            tables=stream.games,
            seed=setup.seed,
            max_moves=setup.config.match.max_moves_per_game,
            schedule=setup.schedule,
        )

        def source() -> int | None:
            pipe.send(_Wants())
            answer: int | None = pipe.recv()
            return answer

        hall.play(source, pipe.send)
    except (EOFError, OSError):  # the parent is gone, or has had enough
        pass
    except PlayerError as error:
        with contextlib.suppress(OSError):
            pipe.send(_Failed(str(error)))
    except Exception as error:
        with contextlib.suppress(OSError):
            pipe.send(_Failed(f"{type(error).__name__}: {error}"))
    finally:
        for player in players:
            player.close()
        pipe.close()


class MatchWorkers:
    """All processes of a match.

    Args:
        streams: one process each.
        setup: what is played.
        numbers: of the games to play, in order.
    """

    def __init__(self, streams: Sequence[Stream], setup: MatchSetup, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self._children: dict[Connection, tuple[Stream, BaseProcess]] = {}
        self._dismissed: set[Connection] = set()  # told that there is no more to play
        self._ready: set[Connection] = set()  # have asked for a game
        try:
            for stream in streams:
                process, pipe = start_child(worker_main, (stream, setup), stream.name)
                self._children[pipe] = stream, process
        except BaseException:
            self.kill()
            raise

    def run(
        self, take: Callable[[MatchResult], None], *, may_begin: Callable[[], bool], is_stopped: Callable[[], bool]
    ) -> None:
        """Play until there is no game left, or none may begin and those that run are over, or all is stopped.

        A process that still loads or compiles when none may begin is not waited for.

        Raises:
            PlayerError: a process cannot go on; the others are ended.
        """
        loading = Announcement(LOADING, READY)
        try:
            while self._children and not is_stopped():
                for pipe in multiprocessing.connection.wait(list(self._children), _POLL_S):
                    assert isinstance(pipe, Connection)
                    self._hear(pipe, take, may_begin)
                if self._ready:
                    loading.over()
                if not may_begin():
                    self._end(self._children.keys() - self._ready)
        finally:
            loading.over(well=False)
            self.kill()

    def kill(self) -> None:
        """End what is left."""
        self._end(set(self._children))

    def _end(self, pipes: set[Connection]) -> None:
        for pipe in pipes:
            _, process = self._children.pop(pipe)
            process.kill()
            process.join(KILL_WAIT_S)
            pipe.close()

    def _hear(self, pipe: Connection, take: Callable[[MatchResult], None], may_begin: Callable[[], bool]) -> None:
        stream, process = self._children[pipe]
        try:
            message = pipe.recv()
        except (EOFError, OSError):
            process.join(KILL_WAIT_S)
            del self._children[pipe]
            pipe.close()
            if pipe not in self._dismissed:
                raise PlayerError(f"{stream.name} ended unexpectedly (exit code {process.exitcode})") from None
            return
        if isinstance(message, _Failed):
            raise PlayerError(f"{stream.name}: {message.text}")
        if isinstance(message, MatchResult):
            take(message)
        else:
            self._ready.add(pipe)
            number = next(self._numbers, None) if may_begin() else None
            if number is None:
                self._dismissed.add(pipe)
            with contextlib.suppress(OSError):  # it has ended, and the next reading will tell
                pipe.send(number)
