"""What is said of a search: its moves, its root, who owns what (search.md 12). Plain data that formatters read.

Reports are made in White's view by `client.search.reporter`; `seen_by` turns one to the view of either colour. Knows
no tree and no text format.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from common.go.points import WHITE

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """What a report is to hold besides the moves that have visits."""

    pv_length: int = 15
    """Most moves of a variation, the reported move included."""
    min_moves: int = 0
    """Moves without visits are added, by prior, until there are this many."""
    cut_at_phase_end: bool = False
    """End variations before the move that would begin a cleanup phase."""
    ownership: bool = False
    """Mean and standard deviation of ownership at the root; the pool must store ownership."""
    moves_ownership: bool = False
    """The same for every move with visits."""
    symmetries: tuple[int, ...] = (0,)
    """Codes of `common.go.symmetry`, the identity first, that leave the root's board as it is: moves which the search
    left out because they mirror another are listed after it."""
    unlisted: frozenset[int] = frozenset()
    """Points that are not listed as unvisited moves nor as mirror images: avoided ones."""


@dataclass(frozen=True, slots=True)
class Variation:
    """The line of play that the search expects, the reported move first; entries belong together."""

    points: tuple[int, ...]  # as `common.go.points` counts
    visits: tuple[int, ...]  # of the position after each move
    edge_visits: tuple[int, ...]  # that came by this line's moves; less than visits only where the tree is a graph


@dataclass(frozen=True, slots=True)
class Ownership:
    """Who owns each point of the board, as averages over a search."""

    mean: FloatArray  # [y_size, x_size] from -1 to 1, 1 for whose view the report is
    stdev: FloatArray  # [y_size, x_size] of the evaluations averaged


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What a search, or one evaluation, expects of a position."""

    utility: float
    winrate: float  # ½(1 + winLoss); draws count as the game says
    no_result: float  # probability
    score_lead: float  # points that would make the game even
    score_selfplay: float  # expected final score, points
    score_stdev: float  # of the final score, points


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveReport:
    """One move of the root."""

    point: int
    values: Outlook  # averages of the position after the move
    visits: int  # of the position after the move; 0: its values are what the search assumes before the first visit
    edge_visits: int  # that came by this move
    weight: float
    edge_weight: float
    prior: float  # of the policy in use: with temperature and noise
    lcb: float  # lower confidence bound for the player to move at the root, as a winrate; unlike it, not within [0, 1]
    utility_lcb: float
    play_selection_value: float
    symmetry_of: int | None  # the searched move whose mirror image this is
    pv: Variation
    ownership: Ownership | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RootReport:
    """The position searched."""

    to_move: int
    values: Outlook  # averages without what forced playouts and noise added
    visits: int
    weight: float
    win_loss_error: float  # expected short-term error of winLoss, averaged over the search; -1 if the net has none
    score_error: float  # the same of the score, points
    raw: Outlook  # what the net says of the root, averaged over the symmetries sampled
    raw_win_loss_error: float  # -1 if the net does not tell, as the next two
    raw_score_error: float
    raw_variance_time: float  # turns
    this_hash: str  # 32 hexadecimal digits of the position with player and ko point
    symmetric_hash: str  # the same for positions that mirror each other


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A search at one moment."""

    x_size: int
    y_size: int
    root: RootReport
    moves: tuple[MoveReport, ...]  # best first
    policy: FloatArray  # [y_size * x_size + 1] the raw policy, row by row, the pass last; -1 where illegal
    ownership: Ownership | None


def seen_by(report: Report, colour: int) -> Report:
    """A report in White's view as ``colour`` sees it.

    Whoever sees it, lcb and utility_lcb remain bounds for the player to move: upper ones in the opponent's view.
    """
    if colour == WHITE:
        return report
    root = dataclasses.replace(report.root, values=_turned(report.root.values), raw=_turned(report.root.raw))
    moves = [
        dataclasses.replace(
            move,
            values=_turned(move.values),
            lcb=1.0 - move.lcb,
            utility_lcb=-move.utility_lcb,
            ownership=_turned_ownership(move.ownership),
        )
        for move in report.moves
    ]
    return dataclasses.replace(report, root=root, moves=tuple(moves), ownership=_turned_ownership(report.ownership))


def _turned(outlook: Outlook) -> Outlook:
    """An outlook in the view of the other colour."""
    return dataclasses.replace(
        outlook,
        utility=-outlook.utility,
        winrate=1.0 - outlook.winrate,
        score_lead=-outlook.score_lead,
        score_selfplay=-outlook.score_selfplay,
    )


def _turned_ownership(ownership: Ownership | None) -> Ownership | None:
    return None if ownership is None else dataclasses.replace(ownership, mean=-ownership.mean)
