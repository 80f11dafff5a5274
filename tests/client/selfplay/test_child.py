"""A child plays by the newest net that it was told, gives back what it cannot play, and ends with its parent."""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection

import pytest

from client.devices import Stream
from client.games.table import GAMES_CACHE
from client.networks import Network
from client.selfplay.child import ChildSettings, Player
from client.selfplay.messages import Play, Unusable
from client.streams import Stop, Want
from common.precision import Precision
from tests.client.selfplay.made_games import NET, order
from tests.client.selfplay.threads import threads

__all__ = ["threads"]

OTHER = Network("net-b", None)
BAD = Network("bad", None)


@pytest.fixture
def ends() -> tuple[Connection, Player]:
    """The parent's end, and a child with room for 16 games."""
    ours, theirs = multiprocessing.Pipe()
    return ours, Player(theirs, Stream("cpu0", "cpu", 1, None, 16), ChildSettings(Precision.FASTEST, GAMES_CACHE))


def say(pipe: Connection, player: Player, message: object) -> None:
    """Something that the child hears."""
    pipe.send(message)
    player.hear(1.0)


def told(pipe: Connection) -> list[object]:
    """All that the child has said."""
    messages = []
    while pipe.poll():
        messages.append(pipe.recv())
    return messages


@pytest.mark.usefixtures("threads")
def test_games_begin_by_the_newest_net(ends: tuple[Connection, Player]) -> None:
    pipe, player = ends
    assert player.next_order() is None
    assert told(pipe) == [Want(18)]
    assert player.next_order() is None
    assert told(pipe) == [], "it has asked"
    say(pipe, player, Play(tuple(order(seed) for seed in range(4)), NET))
    for seed in range(2):
        given = player.next_order()
        assert given is not None
        assert (given.seed, given.black, given.white) == (seed, NET, NET)
    say(pipe, player, Play((), OTHER))
    given = player.next_order()
    assert given is not None
    assert (given.seed, given.black, given.white) == (2, OTHER, OTHER)
    assert told(pipe) == [Want(16)], "before it has none"


@pytest.mark.usefixtures("threads")
def test_a_net_that_cannot_be_used_costs_no_game(ends: tuple[Connection, Player]) -> None:
    pipe, player = ends
    say(pipe, player, Play((order(1), order(2)), BAD))
    assert player.next_order() is None
    assert player.next_order() is None
    assert told(pipe) == [Want(16), Unusable(BAD, "no net", (1, 2)), Want(18)]
    say(pipe, player, Play((order(1),), NET))
    given = player.next_order()
    assert given is not None
    assert (given.seed, given.black) == (1, NET)


@pytest.mark.usefixtures("threads")
def test_running_games_go_on_with_a_newer_net_if_it_can_be_used(ends: tuple[Connection, Player]) -> None:
    pipe, player = ends
    say(pipe, player, Play((order(1), order(2)), NET))
    given = player.next_order()
    assert given is not None
    assert player.newer(given, NET) is None
    say(pipe, player, Play((), OTHER))
    assert player.newer(given, NET) == OTHER
    assert player.newer(given, OTHER) is None
    say(pipe, player, Play((), BAD))
    assert player.newer(given, OTHER) is None
    assert told(pipe) == [Want(16), Unusable(BAD, "no net", (2,))]
    assert player.newer(given, OTHER) is None, "until another one is told"


@pytest.mark.usefixtures("threads")
def test_it_ends_when_it_is_told_and_with_its_parent(ends: tuple[Connection, Player]) -> None:
    pipe, player = ends
    say(pipe, player, Play((order(1),), NET))
    say(pipe, player, Stop())
    assert player.next_order() is None
    assert player._control.finish.is_set()
    assert not player._control.stop_now.is_set()
    pipe.close()
    player.hear(1.0)
    assert player._control.stop_now.is_set()


def test_what_cannot_be_told_ends_it(ends: tuple[Connection, Player]) -> None:
    pipe, player = ends
    pipe.close()
    player.tell(Want(1))
    assert player._control.stop_now.is_set()
