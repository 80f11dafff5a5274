"""Friendly passes, and how long a turn takes after its search (engine.md 3, step 6, and delayMoveScale)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from client.engine.gtp.passing import friendly_or_cleaning
from client.engine.gtp.session import Session
from client.engine.queries import Query, Ticket
from common.go.points import BLACK, PASS, from_vertex
from tests.client.engine.gtp.talking import Clock, last, make_session, talk
from tests.client.search.scripted import Answer, Floats, ScriptedEvaluator

WALLS = "b C1 b C2 b C3 b C4 b C5 w D1 w D2 w D3 w D4 w D5"
"""Black has A to C, White D and E: 15 to 10 points."""
SETTLED = np.repeat(np.array([[-1.0, -1.0, -1.0, 1.0, 1.0]]), 5, axis=0)
"""Who owns what, White 1; row by row from the top."""

Net = Callable[[Floats, Floats, int], Answer]


def net(
    owners: Floats | Any = SETTLED, *, stone: tuple[int, int] | None = None, lead: float = 0.0, win_loss: float = 0.0
) -> Net:
    """Sure of owners and a lead of 2.5 for White; a stone at (x, y) is worth so much more for White."""

    def answer(planes: Floats, global_inputs: Floats, symmetry: int) -> Answer:
        sign = 1.0 if global_inputs[5] > 0 else -1.0  # komi of the player to move
        there = stone is not None and planes[1:3, stone[1], stone[0]].any()
        white = 2.5 + (lead if there else 0.0)
        return Answer(
            policy=np.zeros(26, np.float32),
            win_loss=sign * (0.5 + (win_loss if there else 0.0)),
            score_mean=sign * white,
            score_stdev=1.0,
            lead=sign * white,
            ownership=(sign * owners).astype(np.float32).ravel(),
        )

    return answer


def passed(
    answer: Net | None = None,
    stones: str = WALLS,
    clock: Clock | None = None,
    *,
    rules: str = "chinese",
    visits: int = 60,
    more: str = "",
) -> Session:
    """White has just passed, with these stones on the board; symmetries are off, as the net has none."""
    session = make_session(
        overrides=f"rules={rules},maxVisits={visits},numSearchThreads=1,nnRandomize=false{more and ','}{more}",
        length=5,
        load=lambda network, length: ScriptedEvaluator(length, answer or net()),
        clock=clock,
    )
    talk(session, f"set_position {stones}", "play w pass")
    return session


def chosen(session: Session, vertex: str = "A1", **options: Any) -> bool:
    """Whether Black passes instead of playing at ``vertex``."""
    point = from_vertex(vertex, 5, 5)
    found = friendly_or_cleaning(session, BLACK, point, **options)
    session.queries.close()
    assert found in (point, PASS)
    return found == PASS


def test_a_settled_game_ends_with_the_second_pass() -> None:
    assert chosen(passed())


@pytest.mark.parametrize(
    ("rules", "more", "passes"),
    [
        ("chinese", "friendlyPass=false", False),
        ("chinese", "cleanupBeforePass=true", False),
        ("chinese", "cleanupBeforePass=true,friendlyPass=true", False),
        ("tromp-taylor", "", False),
        ("tromp-taylor", "friendlyPass=true", True),
        ("japanese", "", False),
    ],
)
def test_who_passes_friendly(rules: str, more: str, passes: bool) -> None:
    assert chosen(passed(rules=rules, more=more)) == passes


def test_only_after_a_pass() -> None:
    session = passed()
    talk(session, "undo", "play w E1")
    assert not chosen(session)


def test_a_move_against_a_living_stone_is_played() -> None:
    session = passed()
    assert not chosen(session, "E1")  # touches D1


@pytest.mark.parametrize(("extra", "passes"), [("b A1", True), ("b A1 w B1", False)])
def test_a_stone_in_atari_is_saved(extra: str, passes: bool) -> None:
    """A2 would be the last liberty of A1; White's B1 is dead."""
    assert chosen(passed(stones=f"{WALLS} {extra}"), "A2") == passes


@pytest.mark.parametrize(("owned", "passes"), [(0.74, True), (0.76, False)])
def test_what_is_owned_for_certain_lies_in_its_owners_area(owned: float, passes: bool) -> None:
    owners = SETTLED.copy()
    owners[0, 0] = owned  # A5 would be White's
    assert chosen(passed(net(owners))) == passes


@pytest.mark.parametrize(
    ("worth", "passes"),
    [({"lead": -0.2}, True), ({"lead": -0.3}, False), ({"win_loss": -0.05}, True), ({"win_loss": -0.12}, False)],
)
def test_a_move_that_is_worth_something_is_played(worth: dict[str, float], passes: bool) -> None:
    session = passed(net(stone=(0, 4), **worth))  # A1
    assert chosen(session) == passes


@pytest.mark.parametrize(("most", "visits"), [(60, 8 + 6), (5000, 8 + 500), (100_000, 8 + 1000)])
def test_the_searches_are_short(most: int, visits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    session = passed(visits=most)
    seen: list[int] = []
    ask = session.ask

    def asked(query: Query) -> Ticket:
        seen.append(query.limits.visits)
        return ask(replace(query, limits=replace(query.limits, visits=2)))

    monkeypatch.setattr(session, "ask", asked)
    chosen(session)
    assert seen == [visits] * 3


# -- the clock --


@pytest.mark.parametrize(("seconds", "passes"), [(math.inf, True), (1000.0, True), (20.0, False), (0.0, False)])
def test_without_time_to_be_sure_the_move_is_played(seconds: float, passes: bool) -> None:
    session = passed(clock=Clock(step=1.0))  # each search takes more than its 14 rounds
    assert chosen(session, seconds=seconds) == passes


def test_a_friendly_pass_keeps_to_the_clock() -> None:
    """Three searches of 500 visits would take minutes of the ten seconds that are left."""
    clock = Clock(step=0.05)
    session = passed(visits=100_000, clock=clock)
    began = clock.now
    talk(session, "time_settings 10 0 0", "genmove b")
    assert clock.now - began < 10.0
    assert session.clocks[BLACK].main_left > 0.0
    session.queries.close()


def test_passes_shorten_the_time_by_the_clock() -> None:
    took = {}
    for factor in (1.0, 0.25):
        clock = Clock(step=0.01)
        session = passed(clock=clock, visits=100_000, more=f"friendlyPass=false,searchFactorAfterOnePass={factor}")
        talk(session, "time_settings 0 8 1", "genmove b")  # one period of 8 seconds for each turn
        took[factor] = session.genmove_seconds
        session.queries.close()
    # a look at the clock every tenth of a second
    assert took[1.0] == pytest.approx(8.0, abs=0.3)
    assert took[0.25] == pytest.approx(2.0, abs=0.3)


def delayed(overrides: str, *lines: str, gamma: float = 1.0) -> float:
    """Seconds that a first move takes of a net that has no preference among 26 moves; the clock runs in waits alone."""
    clock = Clock()
    session = make_session(overrides=f"maxVisits=2,numSearchThreads=1,{overrides}", length=5, clock=clock)

    class Drawn:
        def gamma(self, shape: float, scale: float) -> float:
            assert shape * scale == 1.0  # the delay is the scale on the average
            return gamma

        def __getattr__(self, name: str) -> Any:
            return getattr(np.random.default_rng(1), name)

    session._random = Drawn()  # type: ignore[assignment]
    began = clock.now
    assert last(session, *lines, "genmove b").startswith("= ")
    session.queries.close()
    return clock.now - began


def test_a_delay_as_of_a_person() -> None:
    doubt = 1 - 1 / (1 + math.log(26))
    assert delayed("delayMoveMax=100") == 0.0
    assert delayed("delayMoveScale=3,delayMoveMax=100") == pytest.approx(3 * doubt)
    assert delayed("delayMoveScale=3,delayMoveMax=100", gamma=2.5) == pytest.approx(7.5 * doubt)
    assert delayed("delayMoveScale=1000,delayMoveMax=7") == pytest.approx(7.0)


def test_a_delay_keeps_to_the_clock() -> None:
    """One period of 5 seconds for each turn, and another limit for each turn."""
    assert delayed("delayMoveScale=1000,delayMoveMax=100", "time_settings 0 5 1") == pytest.approx(5.0)
    assert delayed("delayMoveScale=1000,delayMoveMax=100,maxTime=4") == pytest.approx(4.0)
