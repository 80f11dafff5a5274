"""Many searches at once: batches shared, trees kept along a line of moves, ends by limits, cancelling and errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from client.engine.queries import Queries, Query, Ticket, capacity_within
from client.networks import Network
from client.search.limits import Limits
from common.go.game import Game
from common.go.points import BLACK, PASS, WHITE, point_at
from common.go.rules import Rules, Scoring, Tax
from common.go.start import GameStart
from tests.client.search.helpers import GTP, record
from tests.client.search.scripted import Answer, Floats, ScriptedEvaluator, hashed_answer

NETWORK = Network("scripted", None)
LINE = "game 1"


class Clock:
    """Seconds that only a test lets pass."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def drain(queries: Queries) -> Iterator[Ticket]:
    """Poll until nothing is left to do; the queries as they finish."""
    while queries.is_busy:
        yield from queries.poll()


class Scripted:
    """Queries over scripted evaluators, which are kept by edge."""

    def __init__(self, *, slots: int = 2, leaves: int = 1, capacity: int = 200) -> None:
        self.evaluators: dict[int, ScriptedEvaluator] = {}
        self.clock = Clock()
        self.queries = Queries(NETWORK, self._load, slots=slots, leaves=leaves, capacity=capacity, clock=self.clock)

    def _load(self, network: Network, edge: int) -> ScriptedEvaluator:
        assert network is NETWORK
        assert edge not in self.evaluators
        self.evaluators[edge] = ScriptedEvaluator(edge, hashed_answer)
        return self.evaluators[edge]

    def evaluations(self, edge: int = 5) -> int:
        return sum(self.evaluators[edge].batch_sizes)


def game(x_size: int = 5, y_size: int = 5, rules: Rules | None = None, **options: Any) -> Game:
    return Game(GameStart(x_size, y_size, rules or Rules()), **options)


def query(of: Game, visits: int = 20, parameters: np.void | None = None, **options: Any) -> Query:
    options = {"seed": 7, "limits": Limits(visits=visits), **options}
    return Query(game=of, parameters=parameters if parameters is not None else record(GTP), **options)


def same(one: Ticket, other: Ticket) -> bool:
    assert one.result is not None
    assert other.result is not None
    return (
        one.point == other.point
        and one.result.utility == other.result.utility
        and one.result.children.visits.tolist() == other.result.children.visits.tolist()
    )


def test_queries_of_one_edge_share_batches_and_change_nothing_for_each_other() -> None:
    alone = Scripted()
    wanted = [alone.queries.run(query(game(5, y_size), seed=y_size)) for y_size in (5, 4, 3)]
    assert set(alone.evaluators[5].batch_sizes) == {1}
    together = Scripted(slots=3)
    tickets = [together.queries.ask(query(game(5, y_size), seed=y_size)) for y_size in (5, 4, 3)]
    others = together.queries.ask(query(game(3, 3)))
    assert list(drain(together.queries)) != []
    assert together.evaluators[5].batch_sizes[0] == 3
    assert together.evaluators[3].batch_sizes[0] == 1
    assert others.result is not None
    assert [same(one, other) for one, other in zip(tickets, wanted, strict=True)] == [True] * 3
    assert not together.queries.is_busy
    assert together.queries.poll() == []


def test_who_waits_begins_by_priority_and_then_in_order() -> None:
    scripted = Scripted(slots=1)
    asked = [scripted.queries.ask(query(game(), visits=2, priority=priority)) for priority in (0, 5, 0, 5, -1)]
    finished = list(drain(scripted.queries))
    assert [asked.index(ticket) for ticket in finished] == [1, 3, 0, 2, 4]


@pytest.mark.parametrize(
    ("limits", "visits"),
    [(Limits(visits=1), 1), (Limits(playouts=3), 3), (Limits(visits=9, playouts=30), 9), (Limits(), 200)],
)
def test_a_search_ends_at_its_limits_or_where_its_tree_is_full(limits: Limits, visits: int) -> None:
    found = Scripted(capacity=200).queries.run(query(game(), limits=limits))
    assert found.result is not None
    assert found.result.visits == visits


def test_seconds_count_from_the_begin_of_the_search() -> None:
    scripted = Scripted(slots=1)
    first = scripted.queries.ask(query(game(), limits=Limits(seconds=2.0)))
    second = scripted.queries.ask(query(game(), limits=Limits(seconds=0.0)))
    for _ in range(5):
        assert scripted.queries.poll() == []
    scripted.clock.now += 1.5
    assert scripted.queries.poll() == []
    scripted.clock.now += 0.5
    assert scripted.queries.poll() == [first]
    assert first.result is not None
    assert first.result.visits == 6
    scripted.clock.now += 100.0
    assert list(drain(scripted.queries)) == [second]  # no time at all: two playouts in any case
    assert second.result is not None
    assert second.result.visits == 2


def test_a_pass_of_the_opponent_shortens_the_seconds() -> None:
    scripted = Scripted()
    ended = game()
    ended.play(PASS)
    shortened = record(GTP, search_factor_after_one_pass=0.25)
    first = scripted.queries.ask(query(ended, parameters=shortened, limits=Limits(seconds=8.0)))
    scripted.queries.poll()
    scripted.queries.poll()
    scripted.clock.now += 1.9
    assert scripted.queries.poll() == []
    scripted.clock.now += 0.1
    assert scripted.queries.poll() == [first]
    assert first.seconds == 2.0


def test_what_was_found_can_be_asked_while_the_search_runs() -> None:
    scripted = Scripted()
    ticket = scripted.queries.ask(query(game(), visits=100))
    assert scripted.queries.result(ticket) is None
    for visits in (1, 2, 3):
        scripted.queries.poll()
        result = scripted.queries.result(ticket)
        assert result is not None
        assert result.visits == visits
        assert ticket.is_running
    list(drain(scripted.queries))
    undisturbed = Scripted().queries.run(query(game(), visits=100))
    assert same(ticket, undisturbed)  # asking changes nothing


def test_cancelling() -> None:
    scripted = Scripted(slots=1)
    running, waiting = (scripted.queries.ask(query(game(), visits=100)) for _ in range(2))
    for _ in range(10):
        scripted.queries.poll()
    scripted.queries.cancel(waiting)
    scripted.queries.cancel(running)
    finished = list(drain(scripted.queries))
    assert {id(ticket) for ticket in finished} == {id(running), id(waiting)}
    assert running.result is not None
    assert running.result.visits in (10, 11)
    assert waiting.is_finished
    assert waiting.result is None
    assert waiting.error is None
    scripted.queries.cancel(running)
    assert scripted.queries.poll() == []


def follow(scripted: Scripted, of: Game, move: int, *, visits: int = 60, **options: Any) -> tuple[int, int]:
    """Search, play ``move``, search again; visits kept, and evaluations made by the second search."""
    scripted.queries.run(query(of, visits=60, line=LINE))
    of.play(move)
    before = scripted.evaluations()
    ticket = scripted.queries.ask(query(of, visits=visits, line=LINE, **options))
    scripted.queries._begin_waiting()
    trees, slot = ticket._place or (None, 0)
    assert trees is not None
    kept = trees.pool.visits(slot)
    list(drain(scripted.queries))
    assert ticket.result is not None
    assert ticket.result.visits == visits
    return kept, scripted.evaluations() - before


def test_a_line_keeps_its_tree() -> None:
    scripted, played = Scripted(), game()
    found = scripted.queries.run(query(played, visits=60, line=LINE))
    assert found.point is not None
    kept, evaluations = follow(scripted, played, found.point)
    assert 5 < kept < 60
    assert evaluations <= 60 - kept
    follow(scripted, played, PASS)
    other = scripted.queries.run(query(played, visits=60))  # no line: from nothing
    assert other.result is not None
    assert other.result.visits == 60


def test_playouts_are_counted_beside_the_tree_that_was_kept() -> None:
    scripted, played = Scripted(), game()
    scripted.queries.run(query(played, visits=30, line=LINE))
    found = scripted.queries.run(query(played, line=LINE, limits=Limits(playouts=5)))
    assert found.result is not None
    assert found.result.visits == 35


@pytest.mark.parametrize(
    "change",
    [
        lambda played: {"parameters": record(GTP, cpuct_exploration=1.1)},
        lambda played: {"colour": BLACK},
        lambda played: {"draw_white_wins": 0.25},
        lambda played: played.undo() or {},
        lambda played: {"game": played.under(Rules(komi=6.5))},
    ],
)
def test_a_tree_that_says_nothing_of_the_position_is_dropped(change: Any) -> None:
    scripted, played = Scripted(), game()
    found = scripted.queries.run(query(played, visits=60, line=LINE))
    assert found.point is not None
    played.play(found.point)
    scripted.queries.run(query(played, visits=60, line=LINE))
    options = change(played)
    again = scripted.queries.ask(query(options.pop("game", played), line=LINE, limits=Limits(playouts=1), **options))
    list(drain(scripted.queries))
    assert again.result is not None
    assert again.result.visits == 1


def test_an_advantage_of_a_named_player_keeps_the_tree() -> None:
    scripted, played = Scripted(), game()
    whites, movers = (
        record(GTP, playout_doubling_advantage=1.5, playout_doubling_advantage_pla=player) for player in (WHITE, None)
    )
    found = scripted.queries.run(query(played, 60, whites, line=LINE))
    assert found.point is not None
    played.play(found.point)
    kept = scripted.queries.run(query(played, parameters=whites, line=LINE, limits=Limits(playouts=1)))
    assert kept.result is not None
    assert kept.result.visits > 2
    dropped = scripted.queries.run(query(played, parameters=movers, line=LINE, limits=Limits(playouts=1)))
    assert dropped.result is not None
    assert dropped.result.visits == 1


def test_passes_into_a_cleanup_phase_that_the_game_has_not_are_not_followed() -> None:
    rules = Rules(scoring=Scoring.TERRITORY, tax=Tax.SEKI)
    for prevents in (True, False):
        scripted, played = Scripted(), game(rules=rules, prevents_cleanup=prevents)
        scripted.queries.evaluator(5)
        scripted.evaluators[5].answer = lambda planes, global_inputs, symmetry: Answer(np.zeros(26, np.float32))
        scripted.queries.run(query(played, visits=200, line=LINE))
        played.play(PASS)
        found = scripted.queries.run(query(played, line=LINE, limits=Limits(playouts=1)))
        assert found.result is not None
        assert (found.result.visits == 1) == prevents


def test_the_line_that_was_not_used_for_longest_makes_room() -> None:
    scripted, played = Scripted(slots=2), game()

    def visits_on(line: str) -> int:
        found = scripted.queries.run(query(played, line=line, limits=Limits(playouts=10)))
        assert found.result is not None
        return found.result.visits

    assert [visits_on(line) for line in ("a", "b", "a")] == [10, 10, 20]
    assert [visits_on(line) for line in ("c", "a", "b")] == [10, 30, 10]
    scripted.queries.forget("a")
    assert visits_on("a") == 10
    scripted.queries.forget_all()
    assert visits_on("a") == 10


def test_a_line_is_searched_once_at_a_time() -> None:
    scripted = Scripted(slots=2)
    tickets = [scripted.queries.ask(query(game(), line=LINE, limits=Limits(playouts=10))) for _ in range(2)]
    list(drain(scripted.queries))
    assert [ticket.result.visits for ticket in tickets if ticket.result] == [10, 20]


def test_an_error_of_the_evaluator_ends_the_queries_of_its_pool_and_no_more() -> None:
    scripted = Scripted()
    bad = [scripted.queries.ask(query(game())) for _ in range(2)]
    good = scripted.queries.ask(query(game(3, 3)))

    def broken(planes: Floats, global_inputs: Floats, symmetry: int) -> Answer:
        raise RuntimeError("the device is gone")

    scripted.queries.poll()
    scripted.evaluators[5].answer = broken
    list(drain(scripted.queries))
    for ticket in bad:
        assert ticket.is_finished
        assert str(ticket.error) == "the device is gone"
        assert scripted.queries.result(ticket) is None
    assert good.error is None
    assert good.result is not None
    with pytest.raises(RuntimeError, match="the device is gone"):
        scripted.queries.run(query(game()))
    scripted.evaluators[5].answer = hashed_answer
    assert scripted.queries.run(query(game())).point is not None


def test_a_colour_out_of_turn_moves() -> None:
    scripted, played = Scripted(), game()
    found = scripted.queries.run(query(played, colour=WHITE))
    assert found.point is not None
    assert played.to_move == BLACK
    played.play(point_at(0, 0), WHITE, tolerant=True)
    assert len(played.moves) == 1


def test_room_of_a_tree() -> None:
    assert capacity_within(5.8e6, 2) == 1000
    assert capacity_within(5.8e9, 2) == 1_000_000
