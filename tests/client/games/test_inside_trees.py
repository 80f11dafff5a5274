"""Rows of positions inside the trees of turns: which, with what, how often; and the audit's eye on them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from client.games.orders import FinishedGame
from client.networks import Network
from common.audit import audit_training_game
from common.audit_report import Reason
from common.audit_rows import is_side_row
from common.audit_side import recent_moves
from common.config_text import ConfigError
from common.game_record import moves_of
from common.parameters import parse_selfplay
from common.rows import GlobalTarget, QTarget, Rows, to_npz
from common.sgf import read
from tests.client.games.games import NET, OTHER, orders, play, selfplay_text
from tests.client.games.test_net_changes import copied, play_with

G = GlobalTarget
VISITS = 60
RECORDED = {
    "maxVisits": VISITS, "cheapSearchProb": 0, "recordTreeThreshold": 6, "recordTreeTargetWeight": 1,
    "bSizes": 5, "bSizeRelProbs": 1, "allowRectangleProb": 0, "maxMovesPerGame": 30,
}  # fmt: skip


def rows_of(game: FinishedGame) -> Rows:
    assert game.rows is not None
    return game.rows


def sides_of(game: FinishedGame) -> Rows:
    return rows_of(game).take(np.flatnonzero(is_side_row(rows_of(game))))


def audited(game: FinishedGame, text: str) -> str:
    return str(audit_training_game(game.sgf, rows_of(game), game.facts, parse_selfplay(text)))


def test_main_rows_and_record_do_not_depend_on_it() -> None:
    plain = play(orders(3, selfplay_text(**RECORDED | {"recordTreeTargetWeight": 0, "estimateLeadProb": 0.3})))
    games = play(orders(3, selfplay_text(**RECORDED | {"estimateLeadProb": 0.3})))
    for before, game in zip(plain, games, strict=True):
        assert game.sgf == before.sgf
        assert sides_of(before).count == 0 < sides_of(game).count
        main = rows_of(game).take(np.flatnonzero(~is_side_row(rows_of(game))))
        assert to_npz(main) == to_npz(rows_of(before))


def test_rows_lead_off_the_game_by_moves_that_were_not_played() -> None:
    text = selfplay_text(**RECORDED)
    depths = set()
    for game in play(orders(4, text)):
        assert audited(game, text) == ""
        record, sides = read(game.sgf), sides_of(game)
        assert record.info is not None
        points = [point for _, point in moves_of(record)]
        columns = sides.global_targets
        assert (columns[:, G.ROOT_VISITS] == VISITS).all()
        assert (columns[:, G.WIN] == columns[:, G.SEARCH_WIN]).all()
        for number in range(sides.count):
            turn, shown = int(columns[number, G.TURN]), recent_moves(sides.take(np.array([number])))[::-1]
            leaves = [
                depth
                for depth in range(1, min(5, len(shown)) + 1)
                if record.info.start_turn <= turn - depth < len(points)
                and shown[-depth] != points[turn - depth]
                and shown[: len(shown) - depth] == points[turn - len(shown) : turn - depth]
            ]
            assert leaves
            depths.add(leaves[0])
        # a position has visits enough: those of its children and one of its own
        visits = sides.q_values[:, QTarget.VISITS].sum(axis=1)
        assert (visits >= RECORDED["recordTreeThreshold"] - 1).all()
        assert len({row.tobytes() for row in sides.packed_planes}) > sides.count / 2
    assert depths >= {1, 2, 3}


def test_a_weight_is_how_often_a_position_becomes_a_row() -> None:
    whole = sum(sides_of(game).count for game in play(orders(3, selfplay_text(**RECORDED))))
    text = selfplay_text(**RECORDED | {"recordTreeTargetWeight": 0.25, "scaleDataWeight": 2})
    games = play(orders(3, text))
    some = sum(sides_of(game).count for game in games)
    assert abs(some - whole / 2) < 5 * np.sqrt(whole / 4)
    assert [audited(game, text) for game in games] == [""] * 3


def test_positions_beside_the_game_go_first_and_are_not_told_twice() -> None:
    text = selfplay_text(**RECORDED | {"sidePositionProb": 0.5})
    plain = play(orders(3, selfplay_text(**RECORDED | {"sidePositionProb": 0.5, "recordTreeTargetWeight": 0})))
    for before, game in zip(plain, play(orders(3, text)), strict=True):
        first, more = sides_of(before), sides_of(game)
        assert np.array_equal(more.packed_planes[: first.count], first.packed_planes)
        assert more.count > first.count
        assert audited(game, text) == ""


def test_asymmetric_games_have_none() -> None:
    changes = {"normalAsymmetricPlayoutProb": 1, "maxVisits": 30, "reduceVisits": False}
    games = play(orders(2, selfplay_text(**RECORDED | changes)))
    assert [sides_of(game).count for game in games if game.rows is not None] == [0, 0]


def test_they_are_of_the_network_that_searched() -> None:
    text = selfplay_text(**RECORDED | {"switchNetsMidGame": True})

    def newer(order: object, network: Network) -> Network | None:
        return OTHER if network == NET else None

    found = set()
    for game in play_with(orders(4, text), newer):
        assert audited(game, text) == ""
        for change in game.net_changes:
            columns = sides_of(game).global_targets
            later = columns[:, G.NET_CHANGES_AFTER]
            # the last of five moves from a turn before the change
            assert (later[columns[:, G.TURN] <= change.turn] == 1).all()
            assert (later[columns[:, G.TURN] >= change.turn + 5] == 0).all()
            found |= set(later.tolist())
    assert found == {0.0, 1.0}


def test_the_audit_refuses_more_than_the_text_leads_to() -> None:
    text = selfplay_text(**RECORDED)
    (game,) = play(orders(1, text))

    def reasons(text: str, rows: Rows) -> list[Reason]:
        facts = replace(game.facts, num_training_rows=rows.count)
        return audit_training_game(game.sgf, rows, facts, parse_selfplay(text)).reasons

    without = reasons(selfplay_text(**RECORDED | {"recordTreeTargetWeight": 0}), rows_of(game))
    assert Reason.SIDE_POSITION in without or Reason.SIDE_ROWS in without
    assert Reason.SIDE_ROWS in reasons(selfplay_text(**RECORDED | {"recordTreeThreshold": 10**6}), rows_of(game))
    moved = copied(rows_of(game))
    side = int(np.flatnonzero(is_side_row(moved))[-1])
    moved.packed_planes[side, 1, 0] ^= 1 << 7
    assert reasons(text, moved) == [Reason.SIDE_POSITION]
    further = copied(rows_of(game))
    further.global_targets[side, G.NET_CHANGES_AFTER] = 1
    assert reasons(text, further) == [Reason.GAME_COLUMNS]


def test_a_weight_needs_its_visits() -> None:
    with pytest.raises(ConfigError, match="recordTreeThreshold is missing"):
        parse_selfplay(selfplay_text(recordTreeTargetWeight=0.5))
    assert parse_selfplay(selfplay_text(recordTreeThreshold=5)).selfplay.record_tree_target_weight == 0
