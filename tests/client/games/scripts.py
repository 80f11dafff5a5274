"""A net that is a formula, and games that are begun and forked with it: no search runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np

from client.games.beginning import BegunGame, Plan, begin
from client.games.playing import Script, SearchOrder
from client.games.starts import GivenStart
from common.go import play
from common.go.points import NUM_POINTS, position_of
from common.parameters import parse_match, parse_selfplay
from tests.client.games.games import match_text, selfplay_text

_Result = TypeVar("_Result")
Answer = Callable[[SearchOrder], Any]

LENGTH = 19
EVEN = 6.2
"""Komi under which the net thinks that an empty board is even; each stone of Black's more is worth a point to him."""


def lead_of(order: SearchOrder) -> float:
    """White's, in points."""
    colours: list[int] = order.state["colour"].tolist()
    return float(order.state["komi"]) - EVEN - (colours.count(1) - colours.count(2))


def answer(order: SearchOrder) -> Any:
    """What the formula says: an even policy over the legal moves, the lead, and winning chances that follow."""
    legal = np.zeros(NUM_POINTS, np.int8)
    play.legal_points(order.state, order.history, legal)
    policy = np.full(LENGTH * LENGTH + 1, -1.0, np.float32)
    policy[[position_of(int(point), LENGTH) for point in np.flatnonzero(legal)]] = 1.0 / legal.sum()
    lead = lead_of(order)
    mean = SimpleNamespace(lead=lead, win_loss=math.tanh(lead / 5.0))
    return SimpleNamespace(raw_policy=policy, mean=mean, raw=SimpleNamespace(score_mean=lead))


def run(script: Script[_Result], answer: Answer = answer, asked: list[SearchOrder] | None = None) -> _Result:
    """Run a script; the orders come as they were when they were asked."""
    try:
        order = next(script)
        while True:
            if asked is not None:
                asked.append(replace(order, state=order.state.copy()))
            order = script.send(answer(order))
    except StopIteration as end:
        result: _Result = end.value
        return result


def selfplay_plan(**changes: object) -> Plan:
    """How games of a text of self-play begin."""
    config = parse_selfplay(selfplay_text(**changes), to_be_played=False)
    return Plan(init=config.init, searches=(config.search,), runner=config.selfplay, length=LENGTH)


def match_plan(**changes: object) -> Plan:
    """How games of a text of matches begin."""
    config = parse_match(match_text(**changes), to_be_played=False)
    return Plan(init=config.init, searches=config.bots, runner=config.match, length=LENGTH)


def begun(plan: Plan, seed: int, given: GivenStart | None = None, asked: list[SearchOrder] | None = None) -> BegunGame:
    """One game."""
    return run(begin(plan, seed, given), asked=asked)
