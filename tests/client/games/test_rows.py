"""Every array and column of the rows of games of all kinds, against a slow twin (`tests.client.games.naive_rows`)."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from client.games import afterwards, selfplay_game
from client.games.afterwards import Afterwards, Recorded
from client.games.finish import finish_selfplay
from client.games.orders import FinishedGame, GameOrder
from client.games.played import PlayedGame
from client.games.playing import Script
from client.games.recorder import unrounded_weights
from client.games.side_positions import SearchedLine
from common.go.points import PASS, position_of, x_of, y_of
from common.go.rules import Scoring
from common.rows import GlobalInput, GlobalTarget, InputPlane, Rows
from common.sgf import read
from tests.client.games import test_played_beginnings
from tests.client.games.evaluators import OpinionatedEvaluator
from tests.client.games.games import LENGTH, orders, selfplay_text
from tests.client.games.naive_rows import (
    CAP,
    NaiveRecord,
    Value,
    divergence,
    hash_parts,
    main_columns,
    own,
    score_bins,
    shared_columns,
    spatial_targets,
    surprise_weights,
    td_value,
    value_of,
)
from tests.client.games.test_afterwards import AFTERWARDS
from tests.client.games.test_played_beginnings import EVERY_WAY, run, with_positions
from tests.common.katago_games import katago_uploads, reanalysed
from tests.common.naive_game import NaiveGame

G = GlobalTarget
ALPHA, BETA, SCALE = 0.5, 0.1, 1.3
"""Of the texts below."""


@dataclass
class Stored:
    """A game with what its searches found."""

    game: FinishedGame
    recorded: Recorded
    raw: npt.NDArray[np.float64]  # [T, V] what the net said where it was told of doublings
    sides: list[SearchedLine]
    leads: dict[tuple[int, tuple[int, ...]], float]  # by branch and line
    is_cheap: npt.NDArray[np.bool_]
    uses_outcome: bool

    @property
    def rows(self) -> Rows:
        rows = self.game.rows
        assert rows is not None
        return rows


def played(uses_outcome: bool, first_seed: int, count: int) -> list[Stored]:
    """Games of every kind, with all that was found in them and after."""
    changes = EVERY_WAY | AFTERWARDS | {"reanalyzeUseOutcomeTargets": uses_outcome}
    changes |= {"useSearchValueSurprise": not uses_outcome, "scaleDataWeight": SCALE}
    changes |= {"policySurpriseDataWeight": ALPHA, "valueSurpriseDataWeight": BETA, "cheapSearchTargetWeight": 0}
    kept = dict[int, list[Any]]()
    with pytest.MonkeyPatch.context() as patch:
        lead, sides = Afterwards._lead, Afterwards._side_positions
        raws = dict[tuple[int, int], npt.NDArray[np.float64]]()

        def kept_lead(self: Afterwards, branch: int, line: tuple[int, ...]) -> Script[float]:
            found = yield from lead(self, branch, line)
            kept.setdefault(self._seed, [{}, [], None])[0][branch, line] = found
            return found

        def kept_sides(self: Afterwards) -> Script[list[SearchedLine]]:
            entry = kept.setdefault(self._seed, [{}, [], None])
            entry[1] = yield from sides(self)
            entry[2] = self._is_cheap.copy()
            return list(entry[1])

        def kept_weights(played: PlayedGame, *arguments: Any) -> npt.NDArray[np.float64]:
            raws[played.hash_words] = played.turns.found["raw"].copy()
            return unrounded_weights(played, *arguments)

        recorded = dict[int, Recorded]()

        def kept_finish(order: GameOrder, result: Recorded, top_moves: int) -> FinishedGame:
            recorded[order.seed] = copy.deepcopy(result)  # the slot's memory is used again
            return finish_selfplay(order, result, top_moves)

        evaluator = partial(OpinionatedEvaluator, pass_alive_suicide=uses_outcome)
        patch.setattr(test_played_beginnings, "OpinionatedEvaluator", evaluator)
        patch.setattr(Afterwards, "_lead", kept_lead)
        patch.setattr(Afterwards, "_side_positions", kept_sides)
        patch.setattr(afterwards, "unrounded_weights", kept_weights)
        patch.setattr(selfplay_game, "finish_selfplay", kept_finish)
        games = run(with_positions(orders(count, selfplay_text(**changes), first_seed=first_seed)), 0.3, 24)
    return [
        Stored(game, result, raws[result.played.hash_words], sides_of, leads, is_cheap, uses_outcome)
        for game in games
        for result in [recorded[game.order.seed]]
        for leads, sides_of, is_cheap in [kept[game.order.seed]]
    ]


@pytest.fixture(scope="module", params=[False, True], ids=["alone", "outcome"])
def stored(request: pytest.FixtureRequest) -> list[Stored]:
    return [game for game in played(request.param, 7000, 45) if game.game.rows is not None]


def naive_of(stored: Stored) -> NaiveRecord:
    start, view = stored.recorded.played.start, stored.recorded.played.view
    facts = stored.game.facts
    assert facts.draw_white_wins == view.draw_white_wins
    return NaiveRecord(stored.game.sgf, view.draw_white_wins, view.pass_alive_suicide, start.bonus_before)


def values_of(stored: Stored, naive: NaiveRecord) -> list[Value]:
    values = [value_of(found["mean"]) for found in stored.recorded.played.turns.found]
    values.append(naive.outcome())
    if naive.info.game_type == "hintpos":
        values[0] = values[1]
    return values


def is_side(rows: Rows) -> npt.NDArray[np.bool_]:
    """Side rows come last: those without future boards, and not reanalysed."""
    columns = rows.global_targets
    return np.asarray((columns[:, G.FUTURE_WEIGHT] == 0) & (columns[:, G.REANALYSED] == 0))


def test_how_often_something_is_asked(stored: list[Stored]) -> None:
    turns = lines = may_have_lead = leads = 0
    for game in stored:
        turns += game.recorded.played.turns.count
        lines += sum(len(side.line.moves) == 1 for side in game.sides)
        columns = game.rows.global_targets
        possible = (columns[:, G.SEARCH_NO_RESULT] < 0.3) & (columns[:, G.NO_RESULT] < 1)
        assert not columns[~possible, G.LEAD_WEIGHT].any()
        told = {(row[G.TURN], row[G.ROOT_VISITS], row[G.SEARCH_WIN]): row[G.LEAD_WEIGHT] for row in columns[possible]}
        may_have_lead, leads = may_have_lead + len(told), leads + sum(told.values())
    assert lines / turns == pytest.approx(0.3, abs=0.04)
    assert leads / may_have_lead == pytest.approx(0.4, abs=0.06)


def lead_columns(lead: float | None, game: NaiveGame, naive: NaiveRecord) -> dict[int, float]:
    if lead is None or naive.end.no_result:
        return {21: 0.0, 29: 0.0}
    return {21: min(max(lead if game.to_move == "O" else -lead, -CAP), CAP), 29: 1.0}


def assert_columns(found: npt.NDArray[np.float32], expected: dict[int, float], where: str) -> None:
    wanted = np.array([expected[column] for column in range(80)])
    flags = slice(36, 41)
    assert set(found[flags].tolist()) <= {0.0, 1.0}
    assert (np.diff(found[flags]) <= 0).all()
    wanted[flags] = found[flags]
    differs = np.abs(found - wanted) > 2e-5 * (1 + np.abs(wanted))
    assert not differs.any(), (where, {int(c): (float(found[c]), wanted[c]) for c in np.flatnonzero(differs)})


def assert_arrays(rows: Rows, row: int, found: Any, policy: Any, children: Any, white: bool) -> None:
    """Policy and Q values of one search."""
    np.testing.assert_array_equal(rows.policy_targets[row, 0], policy)
    expected = np.zeros((3, LENGTH * LENGTH + 1))
    for child in children:
        position = position_of(int(child["point"]), LENGTH)
        sign = 1 if white else -1
        expected[0, position] = sign * child["win_loss"] * 32000
        expected[1, position] = sign * min(max(child["score_mean"], -CAP), CAP) * 60
        expected[2, position] = child["visits"]
    assert len(children) == found["num_children"] > 0
    q_values = rows.q_values[row].astype(float)
    assert (np.abs(q_values[:2] - expected[:2]) < 1).all()
    np.testing.assert_array_equal(q_values[2], expected[2])


def assert_inputs(rows: Rows, row: int, game: NaiveGame, moves: list[Any], doublings: float) -> None:
    """What of the inputs is seen at once; the rest is `tests.common.test_features`' business."""
    planes = rows.planes()[row]
    for plane, colour in ((InputPlane.OWN_STONE, game.to_move), (InputPlane.OPP_STONE, "XO".replace(game.to_move, ""))):
        expected = np.zeros((LENGTH, LENGTH), np.uint8)
        for (x, y), stone in game.board.items():
            expected[y, x] = stone == colour
        np.testing.assert_array_equal(planes[plane], expected)
    white = game.to_move == "O"
    told = rows.global_inputs[row, GlobalInput.PLAYOUT_DOUBLING]
    assert told == pytest.approx(0.5 * (doublings if white else -doublings), abs=1e-5)
    last = planes[InputPlane.MOVE_1_AGO]
    if moves and moves[-1] is not None and last.any():
        x, y = moves[-1]
        assert last[y, x] == 1
        assert last.sum() == 1


def test_main_rows(stored: list[Stored]) -> None:
    kinds, checked, again = Counter[str](), 0, 0
    for game in stored:
        naive, rows = naive_of(game), game.rows
        turns = game.recorded.played.turns
        values, first = values_of(game, naive), naive.info.start_turn
        moves = [move.at for move in naive.record.moves]
        main = rows.take(np.flatnonzero(~is_side(rows)))
        assert (np.diff(main.global_targets[:, G.TURN]) >= 0).all()
        for row, columns in enumerate(main.global_targets):
            turn = int(columns[G.TURN])
            index, where = turn - first, f"{naive.info.game_type}, turn {turn}"
            position, replaced = naive.turns[turn], turns.replaced[index]
            lacks = bool(replaced["is_replaced"]) and not game.uses_outcome
            provenance = game.recorded.played.provenance
            expected = shared_columns(naive, position, turns.found[index], provenance, turn)
            expected |= main_columns(naive, values, index, lacks)
            expected |= lead_columns(game.leads.get((turn, ())), position, naive)
            expected |= {64: float(replaced["is_replaced"]), 65: replaced["policy_surprise"]}
            expected |= {66: replaced["value_surprise"], 67: replaced["visits"]}
            assert_columns(columns, expected, where)
            part = slice(turns.first_children[index], turns.first_children[index + 1])
            white = position.to_move == "O"
            assert_arrays(main, row, turns.found[index], turns.policies[index], turns.children[part], white)
            assert_inputs(main, row, position, moves[:turn], provenance.white_doublings)
            assert_spatial(main, row, naive, turn, lacks)
            has_reply = expected[28] > 0
            reply = turns.policies[index + 1] if has_reply else np.ones(LENGTH * LENGTH + 1)
            np.testing.assert_array_equal(main.policy_targets[row, 1], reply)
            checked += 1
            again += bool(replaced["is_replaced"])
        kinds[naive.info.game_type] += 1
    assert len(kinds) >= 7
    assert checked > 500
    assert again > 50


def assert_spatial(rows: Rows, row: int, naive: NaiveRecord, turn: int, lacks_outcome: bool) -> None:
    for plane, expected in enumerate(spatial_targets(naive, turn, lacks_outcome)):
        wanted = np.zeros((rows.length, rows.length))
        for (x, y), value in expected.items():
            wanted[y, x] = value
        assert (np.abs(rows.value_targets[row, plane] - wanted) < (1 if plane == 4 else 1e-9)).all()
    has_outcome = not (naive.end.no_result or lacks_outcome)
    final = naive.outcome()[3]
    score = (final if naive.turns[turn].to_move == "O" else -final) if has_outcome else None
    assert bins_of(rows, row) == score_bins(score, rows.length)


def bins_of(rows: Rows, row: int) -> dict[int, int]:
    """Percents of a score distribution that are above 0."""
    bins = rows.score_distribution[row]
    return {int(index): int(bins[index]) for index in np.flatnonzero(bins)}


def test_side_rows(stored: list[Stored]) -> None:
    checked = deep = 0
    for game in stored:
        rows = game.rows
        side = np.flatnonzero(is_side(rows))
        assert list(side) == list(range(rows.count - len(side), rows.count))
        naive, row = naive_of(game), 0
        rows = rows.take(side)
        for searched in game.sides:
            position, moves = at_end_of(naive, searched)
            assert not position.finished
            depth = len(searched.line.moves)
            assert depth % 2 == 1
            deep += depth > 1
            if searched.line.branch < len(naive.record.moves):
                first = searched.line.moves[0]
                assert naive.record.moves[searched.line.branch].at != point_at(first)
            copies = 0
            while row < rows.count and np.array_equal(rows.policy_targets[row, 0], searched.search.policy):
                if rows.global_targets[row, G.TURN] != searched.line.turn:
                    break
                assert_side_row(game, naive, rows, row, searched, position, moves)
                row, copies = row + 1, copies + 1
            checked += copies
            assert copies in (1, 2), "a weight of 1.3"
        assert row == rows.count
    assert checked > 80
    assert deep > 10


def at_end_of(naive: NaiveRecord, searched: SearchedLine) -> tuple[NaiveGame, list[Any]]:
    """The position at the end of a line, and all moves before it."""
    game = copy.deepcopy(naive.turns[searched.line.branch])
    moves = [move.at for move in naive.record.moves[: searched.line.branch]]
    for point in searched.line.moves:
        at = point_at(point)
        assert game.is_legal(at)
        game.play(at)
        moves.append(at)
    return game, moves


def point_at(point: int) -> tuple[int, int] | None:
    return None if point == PASS else (x_of(point), y_of(point))


def assert_side_row(
    stored: Stored,
    naive: NaiveRecord,
    rows: Rows,
    row: int,
    searched: SearchedLine,
    position: NaiveGame,
    moves: list[Any],
) -> None:
    line, found, white = searched.line, searched.search.found, position.to_move == "O"
    expected = shared_columns(naive, position, found, stored.recorded.played.provenance, line.turn)
    expected |= dict(enumerate(own(value_of(found["mean"]), white) * 5))
    expected |= lead_columns(stored.leads.get((line.branch, line.moves)), position, naive)
    assert_columns(rows.global_targets[row], expected, f"side row at turn {line.turn}")
    assert_arrays(rows, row, found, searched.search.policy, searched.search.children, white)
    assert_inputs(rows, row, position, moves, 0.0)
    assert (rows.value_targets[row] == 0).all()
    assert (rows.policy_targets[row, 1] == 1).all()
    assert bins_of(rows, row) == score_bins(None, LENGTH)


def test_weights_and_copies(stored: list[Stored]) -> None:
    for game in stored:
        naive, turns = naive_of(game), game.recorded.played.turns
        values = values_of(game, naive)
        count = turns.count
        short = 1 / (1 + 0.016 * naive.area)
        happened = [td_value(values, turn, short) if game.uses_outcome else values[turn] for turn in range(count)]
        surprises = [divergence(happened[turn], value_of(game.raw[turn])) for turn in range(count)]
        may_exceed = [
            not cheap or bool(later) for cheap, later in zip(game.is_cheap, turns.replaced["is_replaced"], strict=True)
        ]
        base = [float(weight) for weight in turns.weights]
        policy = [float(surprise) for surprise in turns.found["policy_surprise"]]
        weights = surprise_weights(base, policy, surprises, may_exceed, ALPHA, BETA)
        told = [move.values for move in naive.record.moves[naive.info.start_turn :]]
        np.testing.assert_allclose(game.recorded.weights, SCALE * np.array(weights), rtol=1e-9, atol=1e-9)
        main = game.rows.global_targets[~is_side(game.rows)]
        for turn, comment in enumerate(told):
            assert comment is not None
            assert comment.weight == pytest.approx(SCALE * weights[turn], abs=0.0051)
            copies = int((main[:, G.TURN] == turn + naive.info.start_turn).sum())
            assert np.floor(SCALE * weights[turn] - 1e-9) <= copies <= np.ceil(SCALE * weights[turn] + 1e-9)


def test_reanalysed_turns(stored: list[Stored]) -> None:
    cheap = again = 0
    for game in stored:
        turns, naive = game.recorded.played.turns, naive_of(game)
        later = turns.replaced["is_replaced"]
        assert not (later & ~game.is_cheap).any()
        cheap, again = cheap + int(game.is_cheap.sum()), again + int(later.sum())
        uneven = naive.info.white_doublings is not None
        for turn, comment in enumerate(move.values for move in naive.record.moves[naive.info.start_turn :]):
            assert comment is not None
            if later[turn]:
                assert comment.reanalysis_visits == turns.found["visits"][turn]
                assert comment.visits == turns.replaced["visits"][turn]
                assert uneven or turns.found["visits"][turn] in range(8, 13)
                assert 0 < turns.weights[turn] <= 1
            else:
                assert comment.reanalysis_visits is None
                assert turns.weights[turn] == 0 or not game.is_cheap[turn]
    assert again / cheap == pytest.approx(0.4, abs=0.06)


# -- the twin beside KataGo --


@pytest.mark.parametrize(("name", "games", "whole_games"), [("clean", 11, 11), ("full", 10, 0), ("reanalysed", 4, 0)])
def test_katagos_rows_are_those_of_the_twin(name: str, games: int, whole_games: int) -> None:
    """All targets of its main rows that follow from the record; the TD values where every turn became a row."""
    seen = whole = 0
    for upload in reanalysed() if name == "reanalysed" else katago_uploads(name):
        record = read(upload.sgf)
        assert record.info is not None
        if record.info.began_in_phase:
            continue  # what was captured before is not told
        assert upload.facts.draw_white_wins is not None
        suicide = bool(upload.rows.global_targets[0, G.PASS_ALIVE_WITH_SUICIDE])
        naive = NaiveRecord(upload.sgf, upload.facts.draw_white_wins, suicide)
        main = upload.rows.take(np.flatnonzero(~is_side(upload.rows)))
        first, count = naive.info.start_turn, len(record.moves) - naive.info.start_turn
        by_turn = {int(row[G.TURN]) - first: row for row in main.global_targets}
        is_whole = len(by_turn) == count
        values = [
            in_whites_view(by_turn[turn][16:20], naive.turns[first + turn]) if turn in by_turn else (0.0, 0.0, 0.0, 0.0)
            for turn in range(count)
        ]
        values.append(naive.outcome())
        for row, columns in enumerate(main.global_targets):
            turn = int(columns[G.TURN])
            lacks_outcome = bool(columns[G.REANALYSED])  # so says the text
            expected = main_columns(naive, values, turn - first, lacks_outcome)
            expected |= {47: naive.own_komi(naive.turns[turn]), 53: first, 56: naive.info.first_turn}
            expected[48] = float(naive.rules.scoring == Scoring.AREA or naive.turns[turn].phase == 2)
            expected |= dict(zip(range(41, 47), hash_parts(naive.info.game_hash), strict=True))
            for column, value in expected.items():
                if is_whole or not (4 <= column < 16 or column == 22):
                    assert columns[column] == pytest.approx(value, abs=2e-5, rel=2e-5), (turn, column)
            assert_spatial(main, row, naive, turn, lacks_outcome)
        seen, whole = seen + 1, whole + is_whole
    assert seen >= games
    assert whole >= whole_games


def in_whites_view(own: Any, game: NaiveGame) -> Value:
    win, loss, no_result, score = (float(value) for value in own)
    return (win, loss, no_result, score) if game.to_move == "O" else (loss, win, no_result, -score)
