"""A child process of a run of self-play: plays the orders of one stream and hands the games to its parent.

Two threads: the main one plays; the other hears the parent, so that neither ever waits for the other to listen, and
tells it the progress. A network is loaded before the first game with it is begun, so that one that cannot be used ends
no game.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

from client.devices import Stream
from client.networks import Network, evaluator_loader
from client.processes import begin_child
from client.selfplay.messages import Finished, FromChild, FromParent, Play, Progress, Unusable
from client.streams import Failed, Stop, Want
from common.config_text import ConfigError
from common.precision import Precision

if TYPE_CHECKING:  # the playing code is slow to import and the parent, which imports this module, does not need it
    from client.games.orders import FinishedGame, GameOrder
    from client.search.cache import CacheSettings
    from nets.evaluation.batch import Evaluator

PROGRESS_EVERY_S: Final = 2.0
HEAR_S: Final = 0.2


@dataclass(frozen=True)
class ChildSettings:
    """What every child needs to know."""

    precision: Precision
    cache: CacheSettings


def child_main(pipe: Connection, stream: Stream, settings: ChildSettings) -> None:
    """Entry point of the process."""
    begin_child(stream.core)
    player = Player(pipe, stream, settings)
    try:
        player.play()
    except ConfigError as error:
        player.tell(Failed(str(error), permanent=True))
    except Exception as error:
        player.tell(Failed(f"{type(error).__name__}: {error}", permanent=False))
        raise
    finally:
        pipe.close()


class Player:
    """The state of a child: orders to play, and the network for those that begin."""

    def __init__(self, pipe: Connection, stream: Stream, settings: ChildSettings) -> None:
        from client.games.stream import StreamControl, StreamStats

        self._pipe = pipe
        self._stream = stream
        self._settings = settings
        self._orders: deque[GameOrder] = deque()
        self._network: Network | None = None
        self._asked = False
        self._heard: SimpleQueue[Play] = SimpleQueue()  # not yet taken in
        self._loaded: dict[tuple[Network, int], Evaluator] = {}  # for the stream, which then closes them
        self._usable: set[tuple[Network, int]] = set()
        self._sending = threading.Lock()
        self._ended = threading.Event()
        self._control = StreamControl()
        self._stats = StreamStats()

    def play(self) -> None:
        """Play until the parent says stop or is gone."""
        from client.games.stream import play_stream

        talker = threading.Thread(target=self._talk, daemon=True)
        talker.start()
        try:
            play_stream(
                self.next_order,
                self.take,
                games=self._stream.games,
                load=self._load,
                control=self._control,
                stats=self._stats,
                cache=self._settings.cache,
                newer=self.newer,
            )
        finally:
            self._ended.set()
            talker.join()
            for evaluator in self._loaded.values():
                evaluator.close()
            self.tell(self._progress())

    def tell(self, message: FromChild) -> None:
        """Say something to the parent; without one, nothing is worth playing."""
        with self._sending:
            try:
                self._pipe.send(message)
            except OSError:
                self._control.stop_now.set()

    def take(self, game: FinishedGame) -> None:
        """Hand over a game."""
        self.tell(Finished(game))

    def next_order(self) -> GameOrder | None:
        """The next game to begin, by the newest network that was told; asks for more before there is none."""
        if self._control.finish.is_set():
            return None
        self._take_in()
        few = self._stream.games // 8
        if len(self._orders) <= few and not self._asked:
            self._asked = True
            places = self._stream.games - self._stats.games_running - len(self._orders)
            self.tell(Want(places + few))
        if not self._orders or not self._can_play(self._network, self._orders[0].length):
            return None
        order, network = self._orders.popleft(), self._network
        assert network is not None
        return replace(order, black=network, white=network)

    def newer(self, order: GameOrder, network: Network) -> Network | None:
        """The newest network that was told, if a game that is played by ``network`` can go on with it."""
        self._take_in()
        if self._network in (None, network) or not self._can_play(self._network, order.length):
            return None
        return self._network

    def hear(self, timeout: float) -> None:
        """Hear what the parent says within ``timeout`` seconds."""
        try:
            if self._pipe.poll(timeout):
                message: FromParent = self._pipe.recv()
                if isinstance(message, Stop):
                    self._control.finish.set()
                else:
                    self._heard.put(message)
        except (EOFError, OSError):  # the parent is gone: nobody takes what is played
            self._control.stop_now.set()
            self._ended.set()

    def _take_in(self) -> None:
        while not self._heard.empty():
            message = self._heard.get()
            self._orders.extend(message.orders)
            self._network = message.network
            self._asked &= not message.orders

    def _can_play(self, network: Network | None, length: int) -> bool:
        """Whether a network can be used; if not, the parent is told, and all orders are its own again."""
        from nets.evaluation.batch import EvaluatorError
        from nets.files.grammar import NetFileError

        if network is None:
            return False
        key = network, length
        if key in self._usable:
            return True
        try:
            self._loaded[key] = self._load(network, length)
        except (EvaluatorError, NetFileError, OSError) as error:
            seeds = tuple(order.seed for order in self._orders)
            self._orders.clear()
            self._network, self._asked = None, False
            self.tell(Unusable(network, str(error), seeds))
            return False
        self._usable.add(key)
        return True

    def _load(self, network: Network, length: int) -> Evaluator:
        kept = self._loaded.pop((network, length), None)
        if kept is not None:
            return kept
        stream = self._stream
        return evaluator_loader(stream.device, stream.threads, self._settings.precision)(network, length)

    def _talk(self) -> None:
        """Hear the parent, and tell it the progress now and then; whatever goes wrong here ends the child."""
        tell_at = 0.0
        try:
            while not self._ended.is_set():
                self.hear(HEAR_S)
                if time.monotonic() >= tell_at:
                    tell_at = time.monotonic() + PROGRESS_EVERY_S
                    self.tell(self._progress())
        except Exception as error:
            self.tell(Failed(f"{type(error).__name__}: {error}", permanent=False))
            self._control.stop_now.set()

    def _progress(self) -> Progress:
        stats = self._stats
        return Progress(stats.games_running, stats.evaluations, stats.found)
