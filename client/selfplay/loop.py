"""The parent of a run of self-play: gives games to the children, takes them back, keeps them, follows the nets.

Which games there are follows from the seed alone (`client.games.fork_pools`); how many children play, and in which
order games end, changes none of them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from client.devices import Stream
from client.games.fork_pools import ForkedOrders
from client.games.orders import FinishedGame, GameOrder
from client.networks import Network
from client.selfplay.child import ChildSettings, child_main
from client.selfplay.ledger import PlayedGame, Run
from client.selfplay.messages import Finished, FromChild, Play, Progress, Unusable
from client.selfplay.status import Status
from client.stopping import StopSignals
from client.streams import StreamGroup, StreamProcess, Want

LISTEN_S: Final = 0.2
LOOK_EVERY_S: Final = 20.0
"""Between two looks for a newer net."""
LOOK_AGAIN_S: Final = 2.0
"""The same while there is none."""
SAVE_EVERY_S: Final = 2.0
SAVING_SHARE: Final = 20.0
"""Between two savings lie this many times as many seconds as one took."""
RETRY_SAVING_S: Final = 10.0


class LoopError(RuntimeError):
    """A run cannot go on; the text says why."""


class Nets(Protocol):
    """Where nets come from (`client.selfplay.nets`)."""

    def newest(self) -> Network | None:
        """The net for new games; None: there is none yet."""

    def refuse(self, network: Network) -> bool:
        """A net cannot be used; returns whether there may be another one."""


class OrderBook:
    """The games of a run that are still to be played.

    Args:
        orders: of the whole run, those that were played included.
        seki_prob: of `ForkedOrders`.
        played: games of before by seed; each is gone through once more for what went on from it, and is not played.
    """

    def __init__(self, orders: Iterator[GameOrder], seki_prob: float, played: dict[int, PlayedGame]) -> None:
        self._forked = ForkedOrders(orders, seki_prob)
        self._played = dict(played)
        self._returned: list[GameOrder] = []
        self._given: dict[int, GameOrder] = {}  # by seed

    def next(self) -> GameOrder | None:
        """A game to play; None: there is none at present."""
        order = self._returned.pop() if self._returned else self._new()
        if order is not None:
            self._given[order.seed] = order
        return order

    def _new(self) -> GameOrder | None:
        while (order := self._forked.next()) is not None:
            before = self._played.pop(order.seed, None)
            if before is None:
                return order
            self._forked.learn(order, before.forks, before.seki_forks)
        return None

    def take(self, game: FinishedGame) -> bool:
        """Learn of a game that is over; returns whether it was awaited."""
        if self._given.pop(game.order.seed, None) is None:
            return False
        self._forked.learn(game.order, game.forks, game.seki_forks)
        return True

    def give_back(self, seed: int) -> None:
        """A game that was given out is to be played by somebody else."""
        order = self._given.pop(seed, None)
        if order is not None:
            self._returned.append(order)

    def has_more(self) -> bool:
        """Whether any game is not over, or has not begun."""
        if not self._given and not self._returned and (order := self._new()) is not None:
            self._returned.append(order)
        return bool(self._given or self._returned)


@dataclass
class _Share:
    """What a child has been given."""

    wants: int = 0
    seeds: dict[int, None] = field(default_factory=dict)
    """Of the games that it has not handed over, in their order."""


@dataclass(frozen=True)
class LoopSettings:
    """How a run is played here."""

    streams: Sequence[Stream]
    child: ChildSettings
    say: Callable[[str], None]
    nowhere: str  # what is said while there is no net


class Loop:
    """One run from its start to its end."""

    def __init__(self, settings: LoopSettings, book: OrderBook, run: Run, nets: Nets, status: Status) -> None:
        self._settings = settings
        self._book, self._run, self._nets, self._status = book, run, nets, status
        self._say = settings.say
        self._shares = {stream.name: _Share() for stream in settings.streams}
        self._net: Network | None = None
        self._look_at = -math.inf
        self._waits = False  # and has said so
        self._save_at = 0.0
        self._is_full = False  # the games that were taken cannot be written
        self._is_ending = False
        self._fault = ""

    def play(self, signals: StopSignals) -> None:
        """Play until all games are played or the signals say stop, at once if no game has begun.

        Raises:
            LoopError: no child can go on, or no net can be used.
            OSError: games could not be written.
        """
        if not self._book.has_more():
            return
        group: StreamGroup[FromChild] = StreamGroup(
            self._settings.streams,
            child_main,
            self._settings.child,
            self._hear,
            self._say,
            stopping=lambda: self._is_ending,
            lost=self._lose,
        )
        signals.last_act = group.kill_now
        try:
            while group.alive() and not self._is_stopped(signals):
                group.listen(LISTEN_S)
                self._look(group)
                self._serve(group)
                self._end_if_due(group, signals)
                self._save_now_and_then()
                self._status.report_now_and_then()
        finally:
            self._is_ending = True
            group.kill()
            self._save_the_rest()
        is_stopped = self._is_stopped(signals)
        if is_stopped:
            self._say(f"stopped at once; {self._status.games} finished games are kept")
        if self._fault or not (group.usable() or is_stopped):
            raise LoopError(self._fault or "no stream can go on; what is finished is kept")

    def _is_stopped(self, signals: StopSignals) -> bool:
        """Whether nothing is waited for: asked twice, or once while no game has had a move."""
        return signals.now.is_set() or (signals.finish.is_set() and self._status.is_loading)

    # -- children --

    def _hear(self, process: StreamProcess, message: FromChild) -> None:
        share = self._shares[process.stream.name]
        if isinstance(message, Want):
            share.wants = message.games
        elif isinstance(message, Finished):
            share.seeds.pop(message.game.order.seed, None)
            if self._book.take(message.game):
                self._run.add(message.game)
                self._status.add(message.game)
        elif isinstance(message, Progress):
            self._status.hear(process.stream.name, message)
        elif isinstance(message, Unusable):
            self._give_back(share, message.seeds)
            self._pass_over(message)

    def _lose(self, process: StreamProcess) -> None:
        """A child has ended: its games are given out again."""
        share = self._shares[process.stream.name]
        share.wants = 0
        self._give_back(share, tuple(share.seeds))
        self._status.lose(process.stream.name)

    def _give_back(self, share: _Share, seeds: Sequence[int]) -> None:
        for seed in seeds:
            share.seeds.pop(seed, None)
            self._book.give_back(seed)

    def _serve(self, group: StreamGroup[FromChild]) -> None:
        """Give games to the children that want some, each in its turn, so that few games are played by all."""
        if self._net is None or self._is_full or self._is_ending:
            return
        given: dict[str, list[GameOrder]] = {name: [] for name in self._shares}
        most = max(share.wants for share in self._shares.values())
        places = (name for place in range(most) for name, share in self._shares.items() if place < share.wants)
        for name in places:
            order = self._book.next()
            if order is None:
                break
            given[name].append(order)
        for process in group.processes:
            share, orders = self._shares[process.stream.name], given[process.stream.name]
            if orders:
                share.wants = 0
                share.seeds |= dict.fromkeys(order.seed for order in orders)
                process.send(Play(tuple(orders), self._net))

    def _end_if_due(self, group: StreamGroup[FromChild], signals: StopSignals) -> None:
        """Let the running games be the last ones if that was asked for, or there are no others."""
        if self._is_ending or self._is_stopped(signals):
            return
        if signals.finish.is_set():
            running = self._status.running
            self._say(f"finishing the {running} running games; once more (Ctrl-C) stops at once")
        elif group.usable() and not self._fault and self._book.has_more():
            return
        self._is_ending = True
        group.stop()

    # -- nets --

    def _look(self, group: StreamGroup[FromChild]) -> None:
        """See whether there is a newer net, now and then."""
        now = time.monotonic()
        if now < self._look_at or self._is_ending:
            return
        net = self._nets.newest()
        self._look_at = now + (LOOK_EVERY_S if net else LOOK_AGAIN_S)
        if net is None and not self._waits:
            self._waits = True
            self._say(self._settings.nowhere)
        if net != self._net and net is not None:
            self._waits = False
            self._status.load()
            self._say(f"new games are played by {net.name}")
            for process in group.processes:
                process.send(Play((), net))
        self._net = net

    def _pass_over(self, message: Unusable) -> None:
        """Do without a net that a child could not use."""
        hopes = self._nets.refuse(message.network)
        if message.network == self._net:  # and not what another child has told before
            told = f"{message.network.path or message.network.name} cannot be used ({message.text})"
            if hopes:
                self._say(f"{told}: it is passed over until the file changes")
            else:
                self._fault = told
            self._net, self._look_at = None, -math.inf

    # -- files --

    def _save_now_and_then(self) -> None:
        start = time.monotonic()
        if not self._run.unsaved or start < self._save_at:
            return
        try:
            self._run.save()
        except OSError as error:
            self._save_at = time.monotonic() + RETRY_SAVING_S
            if not self._is_full:
                self._is_full = True
                self._say(
                    f"finished games cannot be written ({_told(error)}): make room; no new ones begin until that is"
                    f" done, and another try follows every {RETRY_SAVING_S:.0f} s"
                )
            return
        now = time.monotonic()
        self._save_at = now + max(SAVE_EVERY_S, SAVING_SHARE * (now - start))
        if self._is_full:
            self._is_full = False
            self._say("finished games can be written again")

    def _save_the_rest(self) -> None:
        try:
            self._run.save()
        except OSError as error:
            raise OSError(
                f"{self._run.unsaved} finished games could not be written ({_told(error)});"
                " the same command plays them again"
            ) from None


def _told(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
