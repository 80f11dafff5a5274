"""The answer of the analysis engine about one position: a report as a JSON object.

Knows names, roundings and whose view, and nothing of searches. Specification: engine.md 11.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from client.engine.analysis_query import Include
from client.engine.analysis_settings import Perspective
from client.search.report import MoveReport, Outlook, Ownership, Report, RootReport, seen_by
from common.go.game import COLOUR_LETTERS
from common.go.points import BLACK, WHITE, to_vertex

DIGITS: Final = 9
"""Significant digits of a number."""
OWNERSHIP_DECIMALS: Final = 6


def answer(
    report: Report, identifier: str, turn: int, perspective: Perspective, include: Include, *, during_search: bool
) -> dict[str, Any]:
    """The answer to one analysed turn; ``report`` is White's view."""
    seen = seen_by(report, viewer(perspective, report.root.to_move))
    fields: dict[str, Any] = {
        "id": identifier,
        "isDuringSearch": during_search,
        "turnNumber": turn,
        "moveInfos": [_move(move, order, seen, include) for order, move in enumerate(seen.moves)],
        "rootInfo": _root(seen.root),
    }
    _add_ownership(fields, seen.ownership, include.ownership, include.ownership_stdev)
    if include.policy:
        fields["policy"] = [rounded(value) for value in seen.policy.tolist()]
    return fields


def nothing_found(identifier: str, turn: int) -> dict[str, Any]:
    """The answer to a turn whose search was ended before it found anything."""
    return {"id": identifier, "isDuringSearch": False, "noResults": True, "turnNumber": turn}


def viewer(perspective: Perspective, to_move: int) -> int:
    """Whose view the answer takes, BLACK or WHITE."""
    return {Perspective.BLACK: BLACK, Perspective.WHITE: WHITE, Perspective.SIDE_TO_MOVE: to_move}[perspective]


def rounded(value: float) -> float:
    """``value`` with `DIGITS` significant digits; never -0."""
    return float(f"{value:.{DIGITS}g}") + 0.0


def _move(move: MoveReport, order: int, report: Report, include: Include) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "move": to_vertex(move.point, report.y_size),
        "order": order,
        "visits": move.visits,
        "edgeVisits": move.edge_visits,
        "weight": rounded(move.weight),
        "edgeWeight": rounded(move.edge_weight),
        "lcb": rounded(move.lcb),
        "utilityLcb": rounded(move.utility_lcb),
        "prior": rounded(move.prior),
        "playSelectionValue": rounded(move.play_selection_value),
        "pv": [to_vertex(point, report.y_size) for point in move.pv.points],
        **_values(move.values),
        "scoreMean": rounded(move.values.score_lead),
    }
    if move.symmetry_of is not None:
        fields["isSymmetryOf"] = to_vertex(move.symmetry_of, report.y_size)
    if include.pv_visits:
        fields["pvVisits"] = list(move.pv.visits)
        fields["pvEdgeVisits"] = list(move.pv.edge_visits)
    if include.no_result_value:
        fields["noResultValue"] = rounded(move.values.no_result)
    _add_ownership(fields, move.ownership, include.moves_ownership, include.moves_ownership_stdev)
    return fields


def _root(root: RootReport) -> dict[str, Any]:
    return {
        "visits": root.visits,
        "weight": root.weight,
        "currentPlayer": COLOUR_LETTERS[root.to_move],
        "thisHash": root.this_hash,
        "symHash": root.symmetric_hash,
        **_values(root.values),
        "rawWinrate": rounded(root.raw.winrate),
        "rawLead": rounded(root.raw.score_lead),
        "rawScoreSelfplay": rounded(root.raw.score_selfplay),
        "rawScoreSelfplayStdev": rounded(root.raw.score_stdev),
        "rawNoResultProb": rounded(root.raw.no_result),
        "rawStWrError": rounded(0.5 * root.raw_win_loss_error),  # as an error of the winrate
        "rawStScoreError": rounded(root.raw_score_error),
        "rawVarTimeLeft": rounded(root.raw_variance_time),
    }


def _values(outlook: Outlook) -> dict[str, float]:
    return {
        "winrate": rounded(outlook.winrate),
        "utility": rounded(outlook.utility),
        "scoreLead": rounded(outlook.score_lead),
        "scoreSelfplay": rounded(outlook.score_selfplay),
        "scoreStdev": rounded(outlook.score_stdev),
    }


def _add_ownership(fields: dict[str, Any], ownership: Ownership | None, mean: bool, stdev: bool) -> None:
    if ownership is not None and mean:
        fields["ownership"] = _by_row(ownership.mean)
    if ownership is not None and stdev:
        fields["ownershipStdev"] = _by_row(ownership.stdev)


def _by_row(values: npt.NDArray[np.float64]) -> list[float]:
    """Numbers row by row from the top."""
    found: list[float] = (np.round(values, OWNERSHIP_DECIMALS) + 0.0).ravel().tolist()
    return found
