"""A slow twin of a game's rows: from its SGF and what its searches found, by the sentences of training-data.md.

Numbers are Python's, boards are dictionaries (`tests.common.naive`), the rules are played by
`tests.common.naive_game`. Nothing of `common.derive`, `common.replay` or the recorder is used.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from common.go.rules import Rules, Scoring, Tax
from common.rows import GlobalTarget
from common.sgf import read
from common.sgf_record import GameRecord
from tests.common.naive import Board, Point, calculate_area, components, independent_life
from tests.common.naive_game import NaiveGame

G = GlobalTarget
COLOURS = ".XO"
KINDS = ["normal", "cleanuptraining", "fork", "handicap", "sgfpos", "hintpos", "hintfork", "asym"]
CAP = 421.0

Value = tuple[float, float, float, float]
"""Win, loss, noResult, score; White's view."""


@dataclass
class End:
    """How a game came out."""

    area: Board
    plain: Board
    points: dict[Point, float]  # White's
    white_score: float
    bonus: float  # of White at the very end, komi included
    no_result: bool


class NaiveRecord:
    """A game played again from its SGF."""

    def __init__(self, sgf: str, draw_white_wins: float, suicide: bool, bonus_before: float = 0.0) -> None:
        self.record: GameRecord = read(sgf)
        assert self.record.info is not None
        self.info = self.record.info
        self.rules: Rules = self.record.rules
        self.draw, self.always_suicide, self.suicide = draw_white_wins, suicide, suicide or self.rules.suicide
        board = {(x, y): "." for x in range(self.record.x_size) for y in range(self.record.y_size)}
        for colour, x, y in self.record.stones:
            board[x, y] = COLOURS[colour]
        game = NaiveGame(board, self.rules, COLOURS[self.record.first_player], phase=self.info.began_in_phase)
        game.white_bonus += bonus_before
        if game.phase > 0:
            game.button = False
        self.encore_start = dict(board)
        self.turns: list[NaiveGame] = []
        for move in self.record.moves:
            self.turns.append(copy.deepcopy(game))
            assert COLOURS[move.colour] == game.to_move
            assert game.is_legal(move.at)
            self.step(game, move.at)
        self.turns.append(game)
        self.area = len(board)
        self.end = self.ended()

    def step(self, game: NaiveGame, at: Point | None) -> None:
        """A move, and the stones at the start of the second clean-up phase."""
        before = game.phase
        game.play(at)
        if game.phase == 2 and before < 2:
            self.encore_start = dict(game.board)

    def ended(self) -> End:
        """rules.md 4.3, 7, 8, 9.5."""
        game, rules = self.turns[-1], self.rules
        board = game.board
        bonus = game.white_bonus + rules.komi
        if game.button:
            bonus += 0.5 if game.to_move == "O" else -0.5
        strict = calculate_area(board, False, False, False, self.suicide)
        regions = 0
        if not game.finished and "." not in strict.values() and rules.tax != Tax.ALL:
            area = strict
        elif rules.scoring == Scoring.AREA and rules.tax == Tax.NONE:
            area = calculate_area(board, True, True, True, self.suicide)
        elif rules.scoring == Scoring.AREA:
            area, regions = independent_life(board, False, True, self.suicide)
        else:
            area, regions = independent_life(board, rules.tax == Tax.NONE, False, self.suicide)
            for point, owner in area.items():
                stands = board[point] != "." and (game.phase < 2 or self.encore_start[point] == board[point])
                if owner == "." and stands:
                    area[point] = board[point]
        score = list(area.values()).count("O") - list(area.values()).count("X") + bonus
        if rules.tax == Tax.ALL:
            score -= 2 * regions
        plain = calculate_area(board, True, True, True, self.suicide)
        return End(area, plain, self.points_of(area, board), score, bonus, game.no_result)

    def points_of(self, area: Board, board: Board) -> dict[Point, float]:
        """What each point scores for White."""
        points = {point: float({"O": 1, "X": -1, ".": 0}[owner]) for point, owner in area.items()}
        if self.rules.tax == Tax.ALL:
            for owner in "XO":
                for component in components(board, [point for point, other in area.items() if other == owner]):
                    taxed = [point for point in component if board[point] != owner]
                    for point in taxed:
                        points[point] *= max(0, len(taxed) - 2) / len(taxed)
        return points

    @property
    def draw_adjustment(self) -> float:
        """Points that the worth of a draw adds for White."""
        is_integer = float(self.rules.komi).is_integer() != self.rules.has_button
        return self.draw - 0.5 if is_integer else 0.0

    def outcome(self) -> Value:
        """v_T"""
        if self.end.no_result:
            return 0.0, 0.0, 1.0, 0.0
        score = self.end.white_score
        wins = self.draw if score == 0 else float(score > 0)
        return wins, 1.0 - wins, 0.0, score + self.draw_adjustment

    def own_komi(self, game: NaiveGame) -> float:
        """Column 47 at a position."""
        white = self.rules.komi + game.white_bonus + self.draw_adjustment
        return white if game.to_move == "O" else -white


def value_of(mean: Sequence[float]) -> Value:
    """Root averages of a search as win, loss, noResult, score."""
    win_loss, no_result, score = mean[0], mean[1], mean[2]
    no_result = min(max(no_result, 0.0), 1.0 - abs(win_loss))
    return (win_loss + 1 - no_result) / 2, (-win_loss + 1 - no_result) / 2, no_result, score


def own(value: Value, white: bool) -> list[float]:
    """As the player sees it, the score clamped."""
    win, loss, no_result, score = value
    flipped = [win, loss, no_result, score] if white else [loss, win, no_result, -score]
    return [*flipped[:3], min(max(flipped[3], -CAP), CAP)]


def td_value(values: Sequence[Value], turn: int, factor: float) -> Value:
    """Section 4, by its sum."""
    last = len(values) - 1
    weights = [factor * (1 - factor) ** (index - turn) for index in range(turn, last)]
    weights.append((1 - factor) ** (last - turn))
    sums = [
        sum(weight * value[part] for weight, value in zip(weights, values[turn:], strict=True)) for part in range(4)
    ]
    return sums[0], sums[1], sums[2], sums[3]


def divergence(happened: Value, expected: Value) -> float:
    """Value surprise."""
    terms = [
        p * (math.log(p) - math.log(max(q, 1e-10))) for p, q in zip(happened[:3], expected[:3], strict=True) if p > 0
    ]
    return min(1.0, max(0.0, sum(terms)))


def surprise_weights(
    weights: list[float], policy: list[float], value: list[float], may_exceed: list[bool], alpha: float, beta: float
) -> list[float]:
    """Section 5.2."""
    total = sum(weights)
    if total < 1:
        return weights
    mean_policy = sum(w * p for w, p in zip(weights, policy, strict=True)) / total
    beta *= min(1.0, sum(w * v for w, v in zip(weights, value, strict=True)) / total / 0.010)
    by_policy = [
        w * p + ((1 - w) * max(0.0, p - 1.5 * mean_policy) if may else 0.0)
        for w, p, may in zip(weights, policy, may_exceed, strict=True)
    ]
    by_value = [w * v for w, v in zip(weights, value, strict=True)]
    return [
        (1 - alpha - beta) * w
        + alpha * total * a / max(sum(by_policy), 1e-10)
        + beta * total * b / max(sum(by_value), 1e-10)
        for w, a, b in zip(weights, by_policy, by_value, strict=True)
    ]


def score_bins(score: float | None, length: int) -> dict[int, int]:
    """Section 2: percent by bin, only those above 0."""
    middle = length * length + 60
    if score is None:
        return {middle - 1: 50, middle: 50}
    centre = math.copysign(math.floor(abs(score) + 0.5), score)
    share = round_half_away(100 * (score - (centre - 0.5)))
    lower, upper = int(centre) + middle - 1, int(centre) + middle
    if upper <= 0:
        return {0: 100}
    if lower >= 2 * middle - 1:
        return {2 * middle - 1: 100}
    return {index: part for index, part in ((lower, 100 - share), (upper, share)) if part}


def round_half_away(value: float) -> int:
    """Halves away from zero."""
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def hash_parts(text: str) -> list[int]:
    """Columns 41 to 46 of the hash that an SGF prints."""
    words = int(text[16:], 16), int(text[:16], 16)
    return [part for word in words for part in (word & 0x3FFFFF, word >> 22 & 0x3FFFFF, word >> 44)]


def shared_columns(naive: NaiveRecord, game: NaiveGame, found: Any, provenance: Any, turn: int) -> dict[int, float]:
    """What main and side rows have alike."""
    white = game.to_move == "O"
    sign = 1.0 if white else -1.0
    columns = dict.fromkeys(range(80), 0.0)
    columns |= {25: provenance.training_weight, 26: 1.0, 30: found["policy_surprise"], 31: found["policy_entropy"]}
    columns |= {32: found["search_entropy"], 47: naive.own_komi(game), 51: turn, 53: naive.info.start_turn}
    columns |= dict(zip(range(41, 47), hash_parts(naive.info.game_hash), strict=True))
    columns[48] = float(naive.rules.scoring == Scoring.AREA or game.phase == 2)
    columns |= {52: float(naive.record.result is None), 54: provenance.extra_black}
    columns |= {55: KINDS.index(naive.info.game_type), 56: naive.info.first_turn}
    columns |= {57: sign * found["raw"][0], 58: sign * found["raw"][2], 59: found["raw_policy_entropy"]}
    columns |= {60: found["visits"], 63: 3.0, 68: float(naive.always_suicide)}
    return columns


def main_columns(naive: NaiveRecord, values: Sequence[Value], index: int, lacks_outcome: bool) -> dict[int, float]:
    """Columns 0 to 22, 27, 28, 33, 34, 61 and 62 of the searched turn ``index``."""
    turn = naive.info.start_turn + index
    game, end = naive.turns[turn], naive.end
    white = game.to_move == "O"
    columns: dict[int, float] = {}
    factors = [0.0, *(1 / (1 + a * naive.area) for a in (0.176, 0.056, 0.016)), 1.0]
    for block, factor in enumerate(factors):
        columns |= dict(zip(range(4 * block, 4 * block + 4), own(td_value(values, index, factor), white), strict=True))
    has_outcome = not (end.no_result or lacks_outcome)
    final = values[-1][3]
    columns[20] = (final if white else -final) if has_outcome else 0.0
    swing = [value[0] - value[1] for value in values]
    columns[22] = sum((k - index) * (swing[k] - swing[k - 1]) ** 2 for k in range(index + 1, len(values)))
    columns |= {27: float(has_outcome), 34: float(has_outcome), 33: float(not lacks_outcome)}
    columns[28] = float(turn + 1 < len(naive.record.moves) and not lacks_outcome)
    gained = end.bonus - (game.white_bonus + naive.rules.komi)
    columns |= {61: gained if white else -gained, 62: float(naive.record.result is not None)}
    return columns


def spatial_targets(naive: NaiveRecord, turn: int, lacks_outcome: bool) -> list[dict[Point, float]]:
    """The five planes of a main row by point, the last before it is rounded."""
    mover, end = naive.turns[turn].to_move, naive.end
    points = list(end.area)

    def signed(colour: str) -> float:
        return 0.0 if colour == "." else 1.0 if colour == mover else -1.0

    if lacks_outcome:
        return [dict.fromkeys(points, 0.0)] * 5
    last = len(naive.turns) - 1
    future = [naive.turns[min(turn + later, last)].board for later in (8, 32)]
    planes = [{point: signed(board[point]) for point in points} for board in future]
    if end.no_result:
        nothing = dict.fromkeys(points, 0.0)
        return [nothing, nothing, *planes, nothing]
    sign = 120.0 if mover == "O" else -120.0
    ownership = {point: signed(end.area[point]) for point in points}
    seki = {point: signed(end.plain[point]) if end.area[point] == "." else 0.0 for point in points}
    return [ownership, seki, *planes, {point: sign * end.points[point] for point in points}]
