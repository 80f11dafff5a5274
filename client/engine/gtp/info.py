"""Reports as lines of analysis: ``info move Q16 visits …``, in three forms (engine.md 4). Knows no search."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Final

import numpy as np
import numpy.typing as npt

from client.engine.gtp.analyze_words import Wanted
from client.search.report import MoveReport, Ownership, Report, RootReport
from common.go.points import to_vertex

_LZ_UNIT: Final = 10_000


class Form(Enum):
    """How moves are told."""

    LZ = "lz"
    KATA = "kata"
    SABAKI = "sabaki"  # as KATA, but every number has a decimal point


def info_line(report: Report, wanted: Wanted, form: Form) -> str:
    """One report; its view is that of ``report``."""
    moves = report.moves[: wanted.max_moves]
    if form == Form.LZ:
        return " ".join(_lz_move(move, order, report, wanted) for order, move in enumerate(moves))
    text = _six_digits if form == Form.KATA else _with_point
    parts = [_kata_move(move, order, report, wanted, text) for order, move in enumerate(moves)]
    if wanted.root_info:
        parts.append(_root(report.root, text))
    if report.ownership is not None:
        parts += _ownership("ownership", report.ownership, wanted.ownership, wanted.ownership_stdev, text)
    return " ".join(parts)


def _six_digits(value: float) -> str:
    return f"{value + 0.0:.6g}"


def _with_point(value: float) -> str:
    return f"{value + 0.0:#.6g}"


def _lz_move(move: MoveReport, order: int, report: Report, wanted: Wanted) -> str:
    parts = [
        f"info move {to_vertex(move.point, report.y_size)} visits {move.visits}",
        f"winrate {round(_LZ_UNIT * move.values.winrate)} prior {round(_LZ_UNIT * move.prior)}",
        f"lcb {round(_LZ_UNIT * move.lcb)} order {order}",
        *_variation(move, report, wanted),
    ]
    return " ".join(parts)


def _kata_move(move: MoveReport, order: int, report: Report, wanted: Wanted, text: Callable[[float], str]) -> str:
    values = move.values
    parts = [
        f"info move {to_vertex(move.point, report.y_size)} visits {move.visits} edgeVisits {move.edge_visits}",
        f"utility {text(values.utility)} winrate {text(values.winrate)}",
        f"scoreMean {text(values.score_lead)} scoreStdev {text(values.score_stdev)}",
        f"scoreLead {text(values.score_lead)} scoreSelfplay {text(values.score_selfplay)}",
    ]
    if wanted.no_result_value:
        parts.append(f"noResultValue {text(values.no_result)}")
    parts.append(f"prior {text(move.prior)} lcb {text(move.lcb)} utilityLcb {text(move.utility_lcb)}")
    parts.append(f"weight {text(move.weight)}")
    if move.symmetry_of is not None:
        parts.append(f"isSymmetryOf {to_vertex(move.symmetry_of, report.y_size)}")
    parts += [f"order {order}", *_variation(move, report, wanted)]
    if move.ownership is not None:
        parts += _ownership(
            "movesOwnership", move.ownership, wanted.moves_ownership, wanted.moves_ownership_stdev, text
        )
    return " ".join(parts)


def _variation(move: MoveReport, report: Report, wanted: Wanted) -> list[str]:
    parts = ["pv " + " ".join(to_vertex(point, report.y_size) for point in move.pv.points)]
    if wanted.pv_visits:
        parts.append("pvVisits " + " ".join(map(str, move.pv.visits)))
    if wanted.pv_edge_visits:
        parts.append("pvEdgeVisits " + " ".join(map(str, move.pv.edge_visits)))
    return parts


def _root(root: RootReport, text: Callable[[float], str]) -> str:
    values = root.values
    return " ".join(
        [
            f"rootInfo visits {root.visits} utility {text(values.utility)} winrate {text(values.winrate)}",
            f"scoreMean {text(values.score_lead)} scoreStdev {text(values.score_stdev)}",
            f"scoreLead {text(values.score_lead)} scoreSelfplay {text(values.score_selfplay)}",
            f"weight {text(root.weight)} rawStWrError {text(root.raw_win_loss_error)}",
            f"rawStScoreError {text(root.raw_score_error)} rawVarTimeLeft {text(root.raw_variance_time)}",
        ]
    )


def _ownership(name: str, ownership: Ownership, mean: bool, stdev: bool, text: Callable[[float], str]) -> Iterable[str]:
    if mean:
        yield f"{name} {_by_row(ownership.mean, text)}"
    if stdev:
        yield f"{name}Stdev {_by_row(ownership.stdev, text)}"


def _by_row(values: npt.NDArray[np.float64], text: Callable[[float], str]) -> str:
    return " ".join(text(float(value)) for value in values.ravel())
