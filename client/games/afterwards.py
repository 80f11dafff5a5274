"""What is asked of the nets when a game of self-play is over, and what it becomes: the order of events.

Cheap turns are searched again, positions beside the game are searched, leads are estimated; rows are made of it all.
How a game goes on, and its record, do not depend on any of this. Specification: selfplay.md 8, training-data.md 4, 5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from client.games.chance import Draw, chosen_turns, generator
from client.games.game import Game
from client.games.inquiries import Inquirer
from client.games.inside_trees import recorded
from client.games.played import PlayedGame
from client.games.playing import Script
from client.games.reanalysis import FoundTurn, draw_turns, reanalysis_of, search_again, with_replaced
from client.games.recorder import (
    RowPlan,
    make_rows,
    root_values,
    unrounded_weights,
    value_sequence,
    value_surprises,
    written_turns,
)
from client.games.selfplay_turns import TurnOptions, mark_cheap_turns
from client.games.side_positions import SearchedLine, SideSearch, search_side_positions
from client.games.side_rows import make_side_rows
from client.search.parameters import to_record
from client.search.turns import Turns
from common import derive
from common.branches import Branches
from common.derive import NO_RESULT
from common.parameters import SearchParameters, SelfplayParameters
from common.replay import Ending, Replay, ending, replay
from common.rows import Rows

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

MOST_NO_RESULT: Final = 0.3
"""Leads are estimated where a game without result is less likely than this."""


@dataclass(frozen=True)
class Recorded:
    """A game of self-play with all that is kept of it; T searched turns."""

    played: PlayedGame  # with what was found later
    replayed: Replay
    end: Ending
    values: Floats  # [T + 1, 4] of `value_sequence`
    weights: Floats  # [T] of rows, before they are resolved to copies
    rows: Rows | None  # None: no turn became one


@dataclass(frozen=True, kw_only=True)
class Afterwards:
    """The end of one game of self-play.

    Args:
        game: its SELFPLAY_GAME, which is over.
        played: the game as it was played.
        search: how a turn is searched in full if nobody is told of doublings, with the game's own utilities.
        options: of the configuration.
        turn_options: the same, of turns.
        inquirer: asks the game's net what is beside its turns, leads with as many visits as they have.
        turns: where a search of ``slot`` tells what it has found.
        slot: of the game.
        length: edge of the tensors.
    """

    game: Game
    played: PlayedGame
    search: SearchParameters
    options: SelfplayParameters
    turn_options: TurnOptions
    inquirer: Inquirer
    turns: Turns
    slot: int
    length: int

    def script(self) -> Script[Recorded]:
        """All that is searched, and what follows."""
        end = ending(self.game["state"], self.length)
        played, without_outcome = yield from self._reanalysed(end)
        values = value_sequence(played, end)
        surprises = value_surprises(played, values, self.options)
        may_exceed = ~self._is_cheap | played.turns.replaced["is_replaced"] if self.options.use_reanalyze else None
        weights = unrounded_weights(played, surprises, self.options, may_exceed)
        random = generator(self._seed, 0, Draw.ROWS)
        copies = derive.copies(weights, random)
        sides = yield from self._side_positions()
        inside = self._inside_trees(sides)
        side_weights = np.repeat([1.0, self.options.record_tree_target_weight], [len(sides), len(inside)])
        sides += inside
        side_random = generator(self._seed, 0, Draw.SIDE_ROWS)
        side_copies = derive.copies(side_weights * self.options.scale_data_weight, side_random)
        may_have_lead = not end.is_no_result
        leads = yield from self._leads(values, (copies > 0) & may_have_lead)
        side_leads = yield from self._side_leads(sides, (side_copies > 0) & may_have_lead)
        written = written_turns(played, copies)
        if played.provenance.white_doublings:
            played = yield from self._without_doublings(played, written)
        replayed = self._replayed(written)
        parts = []
        if len(written):
            plan = RowPlan(values, copies, leads, without_outcome)
            parts.append(make_rows(played, replayed, end, plan, random))
        if side_copies.any():
            parts.append(make_side_rows(played, sides, side_copies, side_leads, self.length, side_random))
        return Recorded(played, replayed, end, values, weights, Rows.concatenate(parts) if parts else None)

    @property
    def _seed(self) -> int:
        return int(self.game["seed"])

    @property
    def _first(self) -> int:
        """The first searched turn."""
        return self.played.first_turn

    @property
    def _count(self) -> int:
        """T"""
        return self.played.turns.count

    def _drawn(self, draw: Draw, probability: float) -> Flags:
        return chosen_turns(self._seed, self._first, self._first + self._count, draw, probability)

    @cached_property
    def _is_cheap(self) -> Flags:
        """[T] turns that had a cheap search."""
        is_cheap = np.zeros(self._count, np.bool_)
        mark_cheap_turns(self.game, self.turn_options, is_cheap)
        return is_cheap

    @cached_property
    def _branches(self) -> Branches:
        """The game, which can be followed to every searched turn."""
        points, end = self.played.points.tolist(), self._first + self._count
        return Branches(self.played.start, self.played.view, points, range(self._first, end), self.length)

    def _reanalysed(self, end: Ending) -> Script[tuple[PlayedGame, Flags]]:
        """The game with the turns that were searched again, and which turns lack targets of its further course."""
        options = reanalysis_of(self.options)
        lacks_outcome = np.zeros(self._count, np.bool_)
        if options is None:
            return self.played, lacks_outcome
        surprises = value_surprises(self.played, value_sequence(self.played, end), self.options)
        policy_surprises = self.played.turns.found["policy_surprise"]
        random = generator(self._seed, 0, Draw.AGAIN)
        again = dict[int, tuple[FoundTurn, float]]()
        for number in draw_turns(self._is_cheap, policy_surprises, surprises, options, random):
            again[number] = yield from search_again(
                self.game, self._first + number, self._branches, self.turn_options, self.turns, self.slot
            )
        if not again:
            return self.played, lacks_outcome
        lacks_outcome[list(again)] = not options.uses_outcome
        return replace(self.played, turns=with_replaced(self.played.turns, again, surprises)), lacks_outcome

    def _side_positions(self) -> Script[list[SearchedLine]]:
        turns = self._first + np.flatnonzero(self._drawn(Draw.HAS_SIDE_POSITION, self.options.side_position_prob))
        if not len(turns):
            return []
        search = SideSearch(
            seed=self._seed,
            branches=self._branches,
            inquirer=self.inquirer,
            turns=self.turns,
            slot=self.slot,
            parameters=to_record(self.search),
            visits=self.turn_options.full_visits,
            first_turn=self.played.start.first_turn,
            length=self.length,
        )
        points = dict(zip(turns.tolist(), self.played.points[turns].tolist(), strict=True))
        return (yield from search_side_positions(search, points))

    def _inside_trees(self, sides: list[SearchedLine]) -> list[SearchedLine]:
        """Positions that the searches of turns have met; none on lines that leave the game as one of ``sides`` does."""
        if not self.played.inside:
            return []
        taken = {(side.line.branch, side.line.moves[0]) for side in sides}
        return list(recorded(self.played.inside, self._branches, taken, self.played.net_changes))

    def _leads(self, values: Floats, is_possible: Flags) -> Script[Floats]:
        """[T] leads of White where they are estimated, else NaN."""
        wanted = is_possible & (values[:-1, NO_RESULT] < MOST_NO_RESULT)
        wanted &= self._drawn(Draw.HAS_LEAD, self.options.estimate_lead_prob)
        leads = np.full(self._count, np.nan)
        for number in np.flatnonzero(wanted).tolist():
            leads[number] = yield from self._lead(self._first + number, ())
        return leads

    def _side_leads(self, sides: list[SearchedLine], is_possible: Flags) -> Script[Floats]:
        """The same of positions beside the game."""
        leads = np.full(len(sides), np.nan)
        if not sides:
            return leads
        values = root_values(np.array([side.search.found for side in sides]))
        wanted = is_possible & (values[:, NO_RESULT] < MOST_NO_RESULT)
        wanted &= chosen_turns(self._seed, 0, len(sides), Draw.HAS_SIDE_LEAD, self.options.estimate_lead_prob)
        for number in np.flatnonzero(wanted).tolist():
            leads[number] = yield from self._lead(sides[number].line.branch, sides[number].line.moves)
        return leads

    def _lead(self, branch: int, line: tuple[int, ...]) -> Script[float]:
        self._branches.follow(branch, line)
        start = self.played.start
        return (yield from self.inquirer.lead(self._branches.state, self._branches.history, start.rules, start.area))

    def _without_doublings(self, played: PlayedGame, turns: npt.NDArray[np.intp]) -> Script[PlayedGame]:
        """An asymmetric game with what the net says at ``turns`` of their positions if nobody tells it of doublings."""
        found = played.turns.found.copy()
        for turn in turns.tolist():
            self._branches.follow(turn, ())
            result = yield from self.inquirer.raw(self._branches.state, self._branches.history)
            found[turn - self._first]["raw"] = tuple(result.raw)
            found[turn - self._first]["raw_policy_entropy"] = result.raw_policy_entropy
        return replace(played, turns=replace(played.turns, found=found))

    def _replayed(self, written: npt.NDArray[np.intp]) -> Replay:
        """The game again, with the network inputs of ``written`` turns."""
        played = self.played
        return replay(
            played.start,
            played.colours,
            played.points,
            length=self.length,
            view=played.view,
            encoded_turns=written,
            white_doublings=played.provenance.white_doublings,
        )
