"""Texts that the GTP engine prints: the board, rules as JSON, scores, raw outputs. Specification: engine.md 2, 6, 7."""

from __future__ import annotations

import json
import math

from client.engine.raw_outputs import RawOutputs
from client.search.values import outcome_chances
from common.go.basics import COLUMN_LETTERS
from common.go.game import COLOUR_NAMES, Game
from common.go.points import BLACK, PASS, WHITE, point_at
from common.go.result import result_text
from common.go.rules import Rules

_STONES = {BLACK: "X", WHITE: "O"}
_MARKED_MOVES = 3


def rules_json(rules: Rules, *, komi: bool) -> str:
    """The rules as JSON with sorted keys, with or without komi."""
    return json.dumps(rules.to_json(komi=komi), sort_keys=True, separators=(",", ":"))


def score_text(score: float) -> str:
    """``B+2.0``, ``W+1.5`` or ``0`` for a score that is White minus Black."""
    return result_text(score, "{:.1f}".format)


def board_text(game: Game) -> str:
    """The answer to ``showboard``; the last three moves are marked 1 to 3, the newest with the highest."""
    recent = [point for _, point in game.moves[-_MARKED_MOVES:]]
    marks = {point: str(number) for number, point in enumerate(recent, start=1) if point != PASS}
    lines = [
        f"MoveNum: {len(game.moves)} HASH: {int(game.state['grid_key']):016X}",
        "   " + " ".join(COLUMN_LETTERS[: game.x_size]),
    ]
    for y in range(game.y_size):
        points = [point_at(x, y) for x in range(game.x_size)]
        cells = [_STONES.get(game.colour_at(point), ".") + marks.get(point, " ") for point in points]
        lines.append(f"{game.y_size - y:2d} " + "".join(cells).rstrip())
    lines.append(f"Next player: {COLOUR_NAMES[game.to_move]}")
    lines.append(f"Rules: {rules_json(game.rules, komi=True)}")
    bonus = float(game.state["handicap_bonus"])
    if bonus:
        lines.append(f"Handicap bonus score: {bonus:g}")
    lines.append(f"B stones captured: {game.captured(BLACK)}")
    lines.append(f"W stones captured: {game.captured(WHITE)}")
    return "\n".join(lines)


def raw_outputs_text(raw: RawOutputs, symmetry: int, x_size: int, y_size: int) -> str:
    """One block of the answer to ``kata-raw-nn``, White's view; a line per row of the board in the maps."""
    length = math.isqrt(len(raw.ownership))
    rows = [range(y * length, y * length + x_size) for y in range(y_size)]
    policy = ["".join(_probability(raw.policy[position]) for position in row) for row in rows]
    ownership = ["".join(f"{raw.ownership[position]:9.7f} " for position in row) for row in rows]
    win, loss, no_result = outcome_chances(raw.values.win_loss, raw.values.no_result)
    return "\n".join(
        [
            f"symmetry {symmetry}",
            f"whiteWin {win:.6f}",
            f"whiteLoss {loss:.6f}",
            f"noResult {no_result:.6f}",
            f"whiteLead {raw.values.lead:.3f}",
            f"whiteScoreSelfplay {raw.values.score_mean:.3f}",
            f"whiteScoreSelfplaySq {raw.values.score_mean_sq:.3f}",
            f"varTimeLeft {raw.variance_time:.3f}",
            f"shorttermWinlossError {raw.win_loss_error:.3f}",
            f"shorttermScoreError {raw.score_error:.3f}",
            "policy",
            *policy,
            f"policyPass {_probability(raw.policy[length * length])}",
            "whiteOwnership",
            *ownership,
        ]
    )


def _probability(value: float) -> str:
    return "    NAN " if math.isnan(value) else f"{value:8.6f} "
