"""A session of GTP that tests talk to, line by line, without a thread and without a clock."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from client.engine.gtp.protocol import Command, Input, serve
from client.engine.gtp.session import SLOTS, Session
from client.engine.gtp.settings import Parameters
from client.engine.gtp.table import commands_of
from client.engine.queries import Queries
from client.networks import Loader, evaluator_loader, network_of
from common.config_text import parse_overrides


class Script(Input):
    """Lines, and numbers: of bits of work that are done before the next line arrives."""

    def __init__(self, entries: Sequence[str | int]) -> None:
        self._entries = list(entries)
        self.is_open = True

    def take(self, *, wait: bool) -> str | None:
        """The next line."""
        while self._entries:
            entry = self._entries[0]
            if isinstance(entry, str):
                self._entries.pop(0)
                return entry
            if wait or entry == 0:
                self._entries.pop(0)
                continue
            self._entries[0] = entry - 1
            return None
        self.is_open = False
        return None


class Idle:
    """Nothing goes on between commands."""

    is_busy = False

    def go_on(self) -> None:
        raise AssertionError

    def stop(self) -> None:
        pass


class Clock:
    """Seconds that pass with every look, by a step, and while somebody sleeps."""

    def __init__(self, step: float = 0.0) -> None:
        self.now, self.step = 1000.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let them pass."""
        self.now += seconds


def make_session(
    model: str = "random",
    overrides: str = "maxVisits=8",
    *,
    length: int = 9,
    load: Loader | None = None,
    capacity: int = 500,
    clock: Clock | None = None,
    **options: Any,
) -> Session:
    """A session on a small board."""
    parameters = Parameters(parse_overrides(overrides))
    leaves = parameters.config.search.num_search_threads
    clock = clock or Clock()
    queries = Queries(
        network_of(model),
        load or evaluator_loader("cpu", 1),
        slots=SLOTS,
        leaves=leaves,
        capacity=capacity,
        clock=clock,
    )
    options = {"seed": 1, "version": "1.0+random", "models": [{"name": "random"}], **options}
    return Session(parameters, queries, length=length, clock=clock, sleep=clock.sleep, **options)


def spoken(session: Session, *entries: str | int) -> str:
    """All that is answered."""
    output = io.StringIO()
    serve(commands_of(session), Script(entries), output, session)
    return output.getvalue()


def talk(session: Session, *entries: str | int) -> list[str]:
    """The answers to lines, without the empty line that ends each."""
    text = spoken(session, *entries)
    assert text == "" or text.endswith("\n\n")
    answers = text[:-2].split("\n\n") if text else []
    assert all(answer[0] in "=?" for answer in answers)
    return answers


def last(session: Session, *entries: str | int) -> str:
    """The answer to the last line; the others are accepted."""
    *others, answer = talk(session, *entries)
    assert [other for other in others if other[0] != "="] == []
    return answer


def serve_plain(commands: Mapping[str, Command], lines: Sequence[str | int]) -> str:
    """What commands without a session answer."""
    output = io.StringIO()
    serve(commands, Script(lines), output, Idle())
    return output.getvalue()
