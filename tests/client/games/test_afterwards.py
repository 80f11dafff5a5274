"""What is asked when a game is over: its rows pass the audit, and are the same however many games run beside it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from client.games.orders import FinishedGame
from client.games.reanalysis import Reanalysis, draw_turns
from client.games.side_positions import forking_position
from common.audit import audit_training_game
from common.audit_report import Reason
from common.go.points import WHITE
from common.parameters import parse_selfplay
from common.rows import GlobalInput, GlobalTarget, InputPlane, PolicyTarget, QTarget, Rows, ValueTarget, to_npz
from common.sgf import read
from tests.client.games.games import LENGTH, orders, selfplay_text
from tests.client.games.test_played_beginnings import EVERY_WAY, position, run, with_positions

G = GlobalTarget

AFTERWARDS: dict[str, object] = {
    "estimateLeadProb": 0.4,
    "estimateLeadVisits": 3,
    "sidePositionProb": 0.3,
    "scaleDataWeight": 1.3,
    "useSearchValueSurprise": True,
    "useReanalyze": True,
    "reanalyzeProp": 0.4,
    "reanalyzePolicySurpriseWeight": 1,
    "reanalyzeValueSurpriseWeight": 2,
    "reanalyzeSurpriseExponent": 0.5,
    "reanalyzeUseOutcomeTargets": False,
}


@pytest.fixture(scope="module")
def games() -> list[FinishedGame]:
    return run(with_positions(orders(50, selfplay_text(**EVERY_WAY | AFTERWARDS))), 0.3, 32)


def reasons(game: FinishedGame, text: str | None = None) -> list[Reason]:
    assert game.rows is not None
    positions = (position(), position(hintLoc="null"))
    config = parse_selfplay(text or game.order.config)
    return audit_training_game(game.sgf, game.rows, game.facts, config, positions=positions).reasons


def test_all_that_is_asked_after_a_game_passes_its_audit(games: list[FinishedGame]) -> None:
    audited = 0
    for game in games:
        if game.rows is not None:
            assert reasons(game) == [], (game.facts.game_type, game.sgf[:200])
            audited += 1
    assert audited > 40


def test_rows_do_not_depend_on_the_games_beside() -> None:
    wanted = with_positions(orders(12, selfplay_text(**EVERY_WAY | AFTERWARDS), first_seed=500))
    alone, together = (
        {(game.sgf, None if game.rows is None else to_npz(game.rows)) for game in run(wanted, 0.3, at_once)}
        for at_once in (1, 9)
    )
    assert len(alone) > 12
    assert alone == together


def test_the_game_and_its_main_rows_do_not_depend_on_what_is_asked_beside_it() -> None:
    """Side positions and leads add rows and columns; nothing else changes."""
    beside = {"estimateLeadProb": 1, "estimateLeadVisits": 2, "sidePositionProb": 0.5}
    plain, asked = (
        run(orders(6, selfplay_text(**more)), 0.0, 6) for more in (dict[str, object](), dict[str, object](beside))
    )
    for before, after in zip(*(sorted(each, key=lambda game: game.order.seed) for each in (plain, asked)), strict=True):
        assert before.sgf == after.sgf
        assert before.rows is not None
        assert after.rows is not None
        assert after.rows.count > before.rows.count
        main = after.rows.take(slice(before.rows.count))
        assert set(main.global_targets[:, G.LEAD_WEIGHT]) == {1.0}
        main.global_targets[:, [G.LEAD, G.LEAD_WEIGHT]] = 0
        assert to_npz(main) == to_npz(before.rows)


@pytest.mark.parametrize("changes", [{}, {"useSearchValueSurprise": False}, {"useReanalyze": False}])
def test_games_without_a_searched_turn(changes: dict[str, object]) -> None:
    text = selfplay_text(**AFTERWARDS | {"maxMovesPerGame": 0, "sgfTopMoves": 2} | changes)
    for game in run(orders(3, text), 0.0, 3):
        assert game.rows is None
        assert read(game.sgf).result is None


def test_records_tell_the_most_visited_moves_where_the_text_asks() -> None:
    plain, told = (run(orders(3, selfplay_text(sgfTopMoves=most)), 0.0, 3) for most in (0, 3))
    assert [re.sub(r" top=[^\] ]*", "", game.sgf) for game in told] == [game.sgf for game in plain]
    for game in told:
        record = read(game.sgf)
        assert record.info is not None
        assert reasons(game) == []
        assert game.rows is not None
        main = {int(columns[G.TURN]): row for row, columns in enumerate(game.rows.global_targets)}
        for turn, move in enumerate(record.moves):
            if turn < record.info.start_turn:
                continue
            assert move.values is not None
            top = move.values.top
            assert 1 <= len(top) <= 3
            assert [each.visits for each in top] == sorted((each.visits for each in top), reverse=True)
            if turn in main:
                visits = game.rows.q_values[main[turn], QTarget.VISITS]
                assert sorted(visits)[::-1][: len(top)] == [each.visits for each in top]
                positions = [LENGTH * LENGTH if each.at is None else each.at[1] * LENGTH + each.at[0] for each in top]
                win_losses = game.rows.q_values[main[turn], QTarget.WIN_LOSS, positions] / 32000
                sign = 1 if move.colour == WHITE else -1
                assert sign * win_losses == pytest.approx([each.win_loss for each in top], abs=0.0051)


# -- what is refused --


def is_side(rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    columns = rows.global_targets
    return np.asarray((columns[:, G.FUTURE_WEIGHT] == 0) & (columns[:, G.REANALYSED] == 0))


Change = Callable[[Rows, int], object]


def column(which: GlobalTarget, value: float) -> Change:
    return lambda rows, row: rows.global_targets[row].__setitem__(which, value)


def added(by: float, *which: GlobalTarget) -> Change:
    return lambda rows, row: rows.global_targets[row].__setitem__(
        list(which), rows.global_targets[row, list(which)] + by
    )


def flipped(plane: InputPlane) -> Change:
    return lambda rows, row: rows.packed_planes[row, plane].__ixor__(64)


SIDE_MUTATIONS: dict[str, tuple[Change, Reason]] = {
    "stones": (flipped(InputPlane.OWN_STONE), Reason.SIDE_POSITION),
    "history": (flipped(InputPlane.MOVE_2_AGO), Reason.SIDE_POSITION),
    "turn": (added(2, G.TURN), Reason.SIDE_POSITION),
    "doublings": (
        lambda rows, row: rows.global_inputs[row].__setitem__(GlobalInput.PLAYOUT_DOUBLING, 0.5),
        Reason.GLOBAL_INPUTS,
    ),
    "komi": (added(1, G.OWN_KOMI), Reason.OWN_KOMI),
    "phase": (lambda rows, row: column(G.AREA_LIKE_PHASE, 1 - rows.global_targets[row, 48])(rows, row), Reason.PHASE),
    "outcome": (added(0.1, G.WIN), Reason.TD_TARGETS),
    "final score": (column(G.FINAL_SCORE, 1), Reason.FINAL_SCORE),
    "variance time": (column(G.VARIANCE_TIME, 1), Reason.VARIANCE_TIME),
    "bonus": (column(G.BONUS_TO_COME, 1), Reason.BONUS),
    "finished": (column(G.FINISHED_NORMALLY, 1), Reason.END_FLAGS),
    "scoring weight": (column(G.SCORING_WEIGHT, 1), Reason.WEIGHTS),
    "policy weight": (column(G.POLICY_WEIGHT, 0), Reason.WEIGHTS),
    "row weight": (column(G.ROW_WEIGHT, 0.25), Reason.WEIGHTS),
    "lead": (lambda rows, row: (column(G.LEAD_WEIGHT, 0)(rows, row), column(G.LEAD, 3)(rows, row)), Reason.LEAD),
    "lead out of range": (
        lambda rows, row: (column(G.LEAD_WEIGHT, 1)(rows, row), column(G.LEAD, 500)(rows, row)),
        Reason.LEAD,
    ),
    "ownership": (lambda rows, row: rows.value_targets[row, ValueTarget.OWNERSHIP].fill(1), Reason.OWNERSHIP),
    "reply": (lambda rows, row: rows.policy_targets[row, PolicyTarget.REPLY].fill(2), Reason.REPLY_POLICY),
    "policy": (lambda rows, row: rows.policy_targets[row, PolicyTarget.OWN, 48:49].fill(9), Reason.POLICY),
    "Q": (lambda rows, row: rows.q_values[row, QTarget.VISITS, 48:49].fill(9), Reason.Q_VALUES),
    "distribution": (
        lambda rows, row: rows.score_distribution[row].__setitem__(
            slice(None), np.roll(rows.score_distribution[row], 1)
        ),
        Reason.SCORE_DISTRIBUTION,
    ),
    "hash": (added(1, G.GAME_HASH_0_LOW), Reason.ROW_HASH),
}

AGAIN_MUTATIONS: dict[str, tuple[Change, Reason]] = {
    "not told": (column(G.REANALYSED, 0), Reason.VARIANCE_TIME),  # it is taken for a side position
    "half a flag": (column(G.REANALYSED, 0.5), Reason.GAME_COLUMNS),
    "cheap visits": (added(1, G.CHEAP_VISITS), Reason.REANALYSIS),
    "cheap surprise": (column(G.CHEAP_VALUE_SURPRISE, 1.5), Reason.REANALYSIS),
    "visits": (added(1, G.ROOT_VISITS), Reason.VISITS),
    "outcome weight alone": (column(G.OUTCOME_WEIGHT, 1), Reason.WEIGHTS),
    "future boards": (lambda rows, row: rows.value_targets[row, ValueTarget.FUTURE_FAR].fill(1), Reason.FUTURE_BOARDS),
    "search value": (added(0.02, G.SEARCH_WIN, G.SEARCH_LOSS), Reason.SEARCH_VALUE),
}


@pytest.mark.parametrize("name", [*SIDE_MUTATIONS, *AGAIN_MUTATIONS])
def test_changed_rows_are_refused(games: list[FinishedGame], name: str) -> None:
    change, reason = (SIDE_MUTATIONS | AGAIN_MUTATIONS)[name]
    refused = 0
    for game in games:
        if game.rows is None or game.facts.x_size == 7 == game.facts.y_size:
            continue
        columns = game.rows.global_targets
        wanted = is_side(game.rows) if name in SIDE_MUTATIONS else columns[:, G.REANALYSED] == 1
        if wanted.sum() < 2:
            continue
        changed = game.rows.take(np.arange(game.rows.count))
        change(changed, int(np.flatnonzero(wanted)[1]))
        assert reason in reasons(replace(game, rows=changed)), game.facts.game_type
        refused += 1
        if refused == 6:
            return
    pytest.fail("too few games")


def test_a_later_search_is_told_and_asked_for(games: list[FinishedGame]) -> None:
    game = next(game for game in games if game.rows is not None and (game.rows.global_targets[:, 64] == 1).sum() > 2)
    hidden = replace(game, sgf=re.sub(r" v=\d+ rv=", " v=", game.sgf))
    assert Reason.REANALYSIS in reasons(hidden)
    plain = selfplay_text(**EVERY_WAY | AFTERWARDS | {"useReanalyze": False})
    assert reasons(game, plain) == [Reason.JOB_VISITS]
    assert reasons(game, selfplay_text(**EVERY_WAY | AFTERWARDS | {"estimateLeadProb": 0})) == [Reason.LEAD]
    assert Reason.SIDE_ROWS in reasons(game, selfplay_text(**EVERY_WAY | AFTERWARDS | {"sidePositionProb": 0}))


# -- draws --


def test_surprising_turns_are_searched_again_more_often() -> None:
    is_cheap = np.array([True, False, True, True, True])
    policy, value = np.array([0.0, 9.0, 1.0, 0.0, 4.0]), np.array([0.0, 9.0, 0.0, 1.0, 0.0])
    options = Reanalysis(share=0.25, policy_weight=1.0, value_weight=4.0, exponent=0.5, uses_outcome=True)
    counts, sizes, random = Counter[int](), list[int](), np.random.default_rng(1)
    for _ in range(4000):
        turns = draw_turns(is_cheap, policy, value, options, random)
        assert turns == sorted(set(turns))
        sizes.append(len(turns))
        if len(turns) == 1:
            counts.update(turns)
    assert np.mean(sizes) == pytest.approx(1.0, abs=0.05)
    assert set(counts) == {2, 3, 4}, "a turn that is no surprise comes only when no other is left"
    shares = np.array([counts[turn] for turn in (2, 3, 4)]) / counts.total()
    assert shares == pytest.approx([0.2, 0.4, 0.4], abs=0.04)


def test_all_turns_are_drawn_where_none_is_a_surprise() -> None:
    nothing, options = np.zeros(6), Reanalysis(1.0, 1.0, 1.0, 2.0, True)
    assert draw_turns(np.ones(6, bool), nothing, nothing, options, np.random.default_rng(0)) == list(range(6))
    assert draw_turns(np.zeros(6, bool), nothing, nothing, options, np.random.default_rng(0)) == []


def test_forking_moves() -> None:
    policy = np.array([0.9, 0.0, 0.1, -1.0], np.float32)
    random = np.random.default_rng(2)
    moves = Counter(forking_position(policy, random) for _ in range(20000))
    flat = np.sqrt(0.9) / (np.sqrt(0.9) + np.sqrt(0.1))
    assert moves[0] / 20000 == pytest.approx(0.7 * 0.9 + 0.25 * flat + 0.05 / 3, abs=0.012)
    assert moves[1] / 20000 == pytest.approx(0.05 / 3, abs=0.004)
    assert moves[3] == 0
    assert forking_position(np.full(4, -1.0, np.float32), random) is None
