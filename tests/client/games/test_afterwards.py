"""What is asked when a game is over: its rows pass the audit, and are the same however many games run beside it."""

from __future__ import annotations

import pytest

from client.games.orders import FinishedGame
from common.audit import audit_training_game
from common.parameters import parse_selfplay
from common.rows import to_npz
from tests.client.games.games import orders, selfplay_text
from tests.client.games.test_played_beginnings import EVERY_WAY, position, run, with_positions

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
    return run(with_positions(orders(80, selfplay_text(**EVERY_WAY | AFTERWARDS))), 0.3, 32)


def audit(game: FinishedGame) -> str:
    assert game.rows is not None
    positions = (position(), position(hintLoc="null"))
    config = parse_selfplay(game.order.config)
    return str(audit_training_game(game.sgf, game.rows, game.facts, config, positions=positions))


def test_all_that_is_asked_after_a_game_passes_its_audit(games: list[FinishedGame]) -> None:
    audited = 0
    for game in games:
        if game.rows is not None:
            assert audit(game) == "", (game.facts.game_type, game.sgf[:200])
            audited += 1
    assert audited > 60


def test_rows_do_not_depend_on_the_games_beside() -> None:
    wanted = with_positions(orders(12, selfplay_text(**EVERY_WAY | AFTERWARDS), first_seed=500))
    alone, together = (
        {(game.sgf, None if game.rows is None else to_npz(game.rows)) for game in run(wanted, 0.3, at_once)}
        for at_once in (1, 9)
    )
    assert len(alone) > 12
    assert alone == together
