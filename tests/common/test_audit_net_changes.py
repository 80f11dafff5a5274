"""The audit of games whose network changed while they were played, on games of a real KataGo."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from common.audit import audit_training_game
from common.audit_report import Reason
from common.audit_rows import is_side_row
from common.parameters import SelfplayConfig, parse_selfplay
from common.rows import GlobalTarget
from tests.common.katago_games import NET_CHANGES, net_changes

G = GlobalTarget


def config(**changes: object) -> SelfplayConfig:
    overrides = ",".join(f"{key}={value}" for key, value in changes.items())
    text = (NET_CHANGES / "text.cfg").read_text()
    return parse_selfplay(text, overrides=overrides, to_be_played=False)


def test_katagos_games_pass() -> None:
    games = net_changes()
    assert [len(game.facts.net_changes) for game in games] == [1, 1, 1, 1, 0]
    found = [str(audit_training_game(game.sgf, game.rows, game.facts, config())) for game in games]
    assert found == [""] * 5


def test_rows_say_how_many_networks_were_newer() -> None:
    """What ``selfplay`` wrote: turns before the change, and the turns and positions that were searched afterwards."""
    kinds = set()
    for game in net_changes()[:-1]:
        (turn, _), columns = game.facts.net_changes[0], game.rows.global_targets
        was_later = is_side_row(game.rows) | (columns[:, G.REANALYSED] == 1)
        expected = (columns[:, G.TURN] < turn) & ~was_later
        assert (columns[:, G.NET_CHANGED] == 1).all()
        assert (columns[:, G.NET_CHANGES_AFTER] == expected).all()
        kinds |= set(zip(was_later.tolist(), (columns[:, G.TURN] < turn).tolist(), strict=True))
    assert len(kinds) == 4


def test_a_text_that_does_not_allow_it() -> None:
    found = [
        audit_training_game(game.sgf, game.rows, game.facts, config(switchNetsMidGame="false")).reasons
        for game in net_changes()
    ]
    assert found == [[Reason.NET_CHANGES]] * 4 + [[]]


@pytest.mark.parametrize("number", range(4))
def test_a_change_is_told_alike_everywhere(number: int) -> None:
    game = net_changes()[number]
    ((turn, name),) = game.facts.net_changes
    for told in ((), ((turn + 1, name),), ((turn, "another"),), ((turn, name), (turn + 1, "another"))):
        facts = replace(game.facts, net_changes=told)
        assert audit_training_game(game.sgf, game.rows, facts, config()).reasons == [Reason.NET_CHANGES]
    # record and form agree on another turn: a row between both says otherwise
    rows = game.rows.take(np.arange(game.rows.count))
    main = np.flatnonzero(~is_side_row(rows) & (rows.global_targets[:, G.REANALYSED] == 0))
    rows.global_targets[main[0], G.NET_CHANGES_AFTER] = 2
    assert audit_training_game(game.sgf, rows, game.facts, config()).reasons == [Reason.GAME_COLUMNS]
    rows = game.rows.take(np.arange(game.rows.count))
    rows.global_targets[:, G.NET_CHANGED] = 0
    assert audit_training_game(game.sgf, rows, game.facts, config()).reasons == [Reason.GAME_COLUMNS]
