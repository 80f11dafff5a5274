"""The audit of games that a real KataGo plays now, with every kind of start; asked for by ``TENGEN_KATAGO``.

It plays without a net, some hundred games at a few visits; `tests.common.katago_games` has games it played before.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from common.audit import audit_training_game
from common.config_text import overlay
from common.parameters import parse_selfplay
from common.sgf_record import GAME_TYPES
from tests.common.katago_games import BEGINNINGS, CLEANUP, Upload, games_of
from tests.common.test_audit_beginning import POSITIONS
from tests.katago import katago_program
from tests.katago_selfplay import KataGoRun, command

FROM_POSITIONS = (
    f"startPosesFromSgfDir = {BEGINNINGS}/records\nstartPosesProb = 0.2\nstartPosesLoadProb = 1\n"
    f"startPosesTurnWeightLambda = 0\nhintPosesDir = {BEGINNINGS}\nhintPosesProb = 0.2\n"
)


def played(folder: Path, text: str, length: int, games: int) -> tuple[Upload, ...]:
    run = KataGoRun(katago_program(), folder, games_at_once=4)
    result = subprocess.run(command(run, text, length, games), capture_output=True, text=True, timeout=1500)
    assert result.returncode == 0, result.stderr[-2000:]
    return games_of(folder / "games")


@pytest.mark.slow
def test_games_with_every_kind_of_start_pass(tmp_path: Path) -> None:
    kinds = set[str]()
    for folder, positions, length, games in ((CLEANUP, "", 7, 250), (BEGINNINGS, FROM_POSITIONS, 13, 60)):
        text = (folder / "text.cfg").read_text()
        config = parse_selfplay(text, to_be_played=False)
        for game in played(tmp_path / folder.name, overlay(text, positions), length, games):
            findings = audit_training_game(game.sgf, game.rows, game.facts, config, positions=POSITIONS)
            assert findings.ok, f"{game.sgf}: {findings}"
            kinds.add(game.facts.game_type)
    assert kinds == set(GAME_TYPES)
