"""Games of KataGo of which turns were searched again are accepted, and refused after a change of what that brought."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from common.audit import audit_training_game
from common.audit_report import Reason
from common.parameters import parse_selfplay
from common.rows import GlobalTarget, PolicyTarget, Rows, ValueTarget
from tests.common.katago_games import REANALYSED, Upload, reanalysed

G = GlobalTarget
TEXT = (REANALYSED / "text.cfg").read_text(encoding="utf-8")


def reasons(upload: Upload, text: str = TEXT) -> list[Reason]:
    config = parse_selfplay(text, to_be_played=False)
    return audit_training_game(upload.sgf, upload.rows, upload.facts, config).reasons


def test_katagos_games_pass() -> None:
    games = reanalysed()
    assert len(games) == 5
    for upload in games:
        assert reasons(upload) == []
        assert (upload.rows.global_targets[:, G.REANALYSED] == 1).sum() > 5


Change = Callable[[Rows, int], object]


def column(which: GlobalTarget, value: float) -> Change:
    return lambda rows, row: rows.global_targets[row].__setitem__(which, value)


MUTATIONS: dict[str, tuple[Change, Reason]] = {
    "flag": (column(G.REANALYSED, 0), Reason.VARIANCE_TIME),  # it is taken for a side position
    "cheap visits": (column(G.CHEAP_VISITS, 9), Reason.REANALYSIS),
    "cheap policy surprise": (column(G.CHEAP_POLICY_SURPRISE, -0.5), Reason.REANALYSIS),
    "cheap value surprise": (column(G.CHEAP_VALUE_SURPRISE, 1.5), Reason.REANALYSIS),
    "visits": (column(G.ROOT_VISITS, 8), Reason.VISITS),
    "outcome weight": (column(G.OUTCOME_WEIGHT, 1), Reason.WEIGHTS),
    "reply weight": (column(G.REPLY_WEIGHT, 1), Reason.WEIGHTS),
    "final score": (column(G.FINAL_SCORE, 3), Reason.FINAL_SCORE),
    "outcome": (column(G.WIN, 0.5), Reason.OUTCOME),
    "reply": (lambda rows, row: rows.policy_targets[row, PolicyTarget.REPLY].fill(2), Reason.REPLY_POLICY),
    "ownership": (lambda rows, row: rows.value_targets[row, ValueTarget.OWNERSHIP].fill(1), Reason.OWNERSHIP),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_changed_row_is_refused(name: str) -> None:
    change, reason = MUTATIONS[name]
    for upload in reanalysed():
        rows = upload.rows.take(np.arange(upload.rows.count))
        change(rows, int(np.flatnonzero(rows.global_targets[:, G.REANALYSED] == 1)[3]))
        assert reason in reasons(replace(upload, rows=rows))


def test_a_turn_that_was_not_searched_again_has_nothing_of_it() -> None:
    upload = reanalysed()[0]
    rows = upload.rows.take(np.arange(upload.rows.count))
    plain = (rows.global_targets[:, G.REANALYSED] == 0) & (rows.global_targets[:, G.FUTURE_WEIGHT] == 1)
    rows.global_targets[int(np.argmax(plain)), G.CHEAP_POLICY_SURPRISE] = 0.5
    assert reasons(replace(upload, rows=rows)) == [Reason.REANALYSIS]


def test_a_later_search_is_told_and_asked_for() -> None:
    upload = reanalysed()[0]
    assert Reason.REANALYSIS in reasons(replace(upload, sgf=re.sub(r" v=\d+ rv=", " v=", upload.sgf)))
    assert reasons(upload, TEXT.replace("useReanalyze = true", "useReanalyze = false")) == [Reason.JOB_VISITS]
