"""The analysis engine: requests in, answers out; which positions are searched, when they are reported, what ends them.

One thread does all: `take` reads a line, `work` is a round of every search. At most ``numAnalysisThreads`` positions
are with the `Queries` at once; the others wait here as what was asked, not as boards. Specification: engine.md 9 to 11.
"""

from __future__ import annotations

import heapq
import itertools
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from client.engine.analysis_answer import answer, nothing_found, summary
from client.engine.analysis_lines import Action, Identifier, LineError, error_object, read_action, read_object, to_json
from client.engine.analysis_query import AnalysisQuery, QueryError, parse_query
from client.engine.analysis_settings import SettingsReader
from client.engine.position import symmetries_of
from client.engine.queries import Queries, Query, Ticket
from client.search.guidance import Guidance
from client.search.limits import limits_of
from client.search.parameters import to_record
from client.search.report import Report, ReportOptions
from client.search.reporter import DEFAULT
from common.go.rules import Scoring
from common.wire import CLIENT_REVISION, CLIENT_VERSION

NEVER: Final = float("inf")


@dataclass(slots=True, kw_only=True, eq=False)
class Position:
    """One turn of a query: waiting, or with the `Queries` under its ticket."""

    query: AnalysisQuery
    number: int  # of the query, in the order in which they came
    turn: int
    ticket: Ticket | None = None
    next_report: float = NEVER  # by the clock


class AnalysisEngine:
    """Answers lines.

    Args:
        reader: the settings.
        queries: searches; made for at least ``numAnalysisThreads`` at once.
        models: what ``query_models`` tells.
        write: takes each line of the answer, without its end.
        seed: of all random draws.
        log: takes lines for people.
        clock: seconds; tests give their own.
    """

    def __init__(
        self,
        reader: SettingsReader,
        queries: Queries,
        *,
        models: list[dict[str, Any]],
        write: Callable[[str], None],
        seed: int,
        log: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader, self._queries, self._models = reader, queries, models
        self._write, self._log, self._clock = write, log, clock
        self._settings = reader.config.settings
        self._seed = seed
        self._numbers = itertools.count()
        self._waiting: list[tuple[tuple[int, int, int], Position]] = []  # a heap
        self._asked: list[Position] = []

    @property
    def is_busy(self) -> bool:
        """Whether there is something to search."""
        return bool(self._waiting or self._asked)

    # -- requests --

    def take(self, line: bytes) -> None:
        """Read one line; what it asks for at once is answered, positions are queued."""
        if self._settings.log_requests:
            self._log(f"Request: {line.decode('utf-8', 'replace').rstrip()}")
        try:
            fields = read_object(line)
            action = read_action(fields)
            if action is not None:
                self._act(action)
            else:
                self._queue(parse_query(fields, self._reader))
        except LineError as error:
            self._refuse(str(error), error.id, error.field)
        except QueryError as error:
            self._refuse(str(error), fields["id"], error.field)
        except OSError:  # nobody reads the answers any more
            raise
        except Exception as error:  # whatever else is wrong with it, others are answered
            self._log("".join(traceback.format_exception(error)).rstrip())
            self._refuse(f"the request failed: {_in_one_line(error)}", None, None)

    def _queue(self, query: AnalysisQuery) -> None:
        for warning in query.warnings:
            self._say({"field": warning.field, "id": query.id, "warning": warning.text}, is_warning=True)
        number = next(self._numbers)
        for turn, priority in query.turns:
            position = Position(query=query, number=number, turn=turn)
            heapq.heappush(self._waiting, ((-priority, number, turn), position))

    def _act(self, action: Action) -> None:
        additions: Mapping[str, Any] = {}
        if action.name == "query_version":
            additions = {"version": CLIENT_VERSION, "git_hash": CLIENT_REVISION}
        elif action.name == "query_models":
            additions = {"models": self._models}
        elif action.name == "clear_cache":
            self._queries.forget_all()
        else:
            self._terminate(action)
        self._say({**action.fields, **additions})

    def _terminate(self, action: Action) -> None:
        """End the searches that the action names; those that have not begun are answered now."""

        def is_meant(position: Position) -> bool:
            is_query = action.terminate_id is None or position.query.id == action.terminate_id
            return is_query and (action.turns is None or position.turn in action.turns)

        ended = [entry for entry in self._waiting if is_meant(entry[1])]
        if ended:
            self._waiting = [entry for entry in self._waiting if not is_meant(entry[1])]
            heapq.heapify(self._waiting)
        for _, position in sorted(ended, key=lambda entry: entry[0]):
            self._say(nothing_found(position.query.id, position.turn))
        for position in self._asked:
            if is_meant(position) and position.ticket is not None:
                self._queries.cancel(position.ticket)

    # -- searches --

    def work(self) -> None:
        """One round: begin what there is room for, search, report, answer what is finished."""
        while self._waiting and len(self._asked) < self._settings.num_analysis_threads:
            self._begin(heapq.heappop(self._waiting)[1])
        finished = set(self._queries.poll())
        for position in list(self._asked):
            try:
                if position.ticket in finished:
                    self._asked.remove(position)
                    self._finish(position)
                elif self._clock() >= position.next_report:
                    self._report(position)
            except OSError:  # nobody reads the answers any more
                raise
            except Exception as error:
                position.next_report = NEVER
                self._fail(position, error)

    def _begin(self, position: Position) -> None:
        query = position.query
        try:
            game = query.game(position.turn)
            position.ticket = self._queries.ask(
                Query(
                    game=game,
                    parameters=to_record(query.search),
                    seed=self._search_seed(position),
                    draw_white_wins=query.search.draw_equivalent_wins_for_white,
                    limits=limits_of(query.search),
                    line=position,
                    guidance=Guidance(avoid=query.avoid, turns=query.moves[: position.turn]),
                    ownership=query.include.any_ownership,
                )
            )
        except Exception as error:
            self._fail(position, error)
            return
        if query.first_report is not None:
            position.next_report = self._clock() + query.first_report
        self._asked.append(position)

    def _search_seed(self, position: Position) -> int:
        """64 bits that follow from the engine's seed, the query's number and the turn."""
        sequence = np.random.SeedSequence([self._seed, position.number, position.turn])
        return int(sequence.generate_state(1, np.uint64)[0])

    def _report(self, position: Position) -> None:
        """Tell what a running search has found so far, and when to do so next."""
        report = self._found(position)
        if report is not None:
            every = position.query.report_every
            position.next_report = self._clock() + every if every is not None else NEVER
            self._answer(position, report, during_search=True)

    def _finish(self, position: Position) -> None:
        assert position.ticket is not None
        if position.ticket.error is not None:
            self._fail(position, position.ticket.error)
            return
        report = self._found(position)
        self._queries.forget(position)
        if report is None:
            self._say(nothing_found(position.query.id, position.turn))
            return
        if self._settings.log_search:
            self._log(f"{position.query.id}, turn {position.turn}: {summary(report)}")
        self._answer(position, report, during_search=False)

    def _answer(self, position: Position, report: Report, *, during_search: bool) -> None:
        query = position.query
        self._say(
            answer(
                report,
                query.id,
                position.turn,
                query.settings.perspective,
                query.include,
                during_search=during_search,
            )
        )

    def _found(self, position: Position) -> Report | None:
        """What the search of a position says; None before its first visit."""
        assert position.ticket is not None
        query, game = position.query, position.ticket.query.game
        include, settings = query.include, query.settings
        options = ReportOptions(
            pv_length=1 + settings.pv_length,
            cut_at_phase_end=settings.prevent_cleanup_phase and game.rules.scoring == Scoring.TERRITORY,
            ownership=include.ownership or include.ownership_stdev,
            moves_ownership=include.moves_ownership or include.moves_ownership_stdev,
            symmetries=symmetries_of(game) if query.search.root_symmetry_pruning else DEFAULT.symmetries,
            unlisted=frozenset(each.point for each in query.avoid if each.colour == game.to_move),
        )
        return self._queries.report(position.ticket, options)

    # -- saying --

    def _fail(self, position: Position, error: Exception) -> None:
        """Answer a position whose search failed for a reason of our own."""
        self._log("".join(traceback.format_exception(error)).rstrip())
        self._refuse(f"the search of turn {position.turn} failed: {_in_one_line(error)}", position.query.id, None)

    def _refuse(self, error: str, identifier: Identifier | None, field: str | None) -> None:
        self._say(error_object(error, identifier, field), is_warning=True)

    def _say(self, fields: Mapping[str, Any], *, is_warning: bool = False) -> None:
        line = to_json(fields)
        if is_warning and self._settings.log_errors:
            self._log(f"Error or warning: {line}")
        elif self._settings.log_responses:
            self._log(f"Response: {line}")
        self._write(line)


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
