"""Every recorded game of a real KataGo, turn by turn: legality, captures, phases, boards, ends and scores."""

from __future__ import annotations

from typing import Any

import pytest

from common.go.game import Game
from common.go.points import EMPTY, PASS, to_vertex
from common.go.result import result_text
from common.go.rules import Rules
from tests.common.recorded import COLOURS, start_of
from tests.oracles import records


def check_turn(record: dict[str, Any], game: Game, turn: int) -> None:
    """Compare everything that the record says of the position before move ``turn``."""
    where = f"{record['id']} turn {turn}"
    assert game.phase == int(record["phaseByTurn"][turn]), where
    assert [game.captured(COLOURS["B"]), game.captured(COLOURS["W"])] == record["capturesByTurn"][turn], where
    if str(turn) in record["boards"]:
        assert "/".join(game.rows()) == record["boards"][str(turn)], where
    if turn < len(record["illegalByTurn"]):
        legal = set(game.legal_moves())
        assert PASS in legal, where
        on_board = [(y + 1) * 20 + x + 1 for y in range(game.y_size) for x in range(game.x_size)]
        illegal = [to_vertex(p, game.y_size) for p in on_board if game.colour_at(p) == EMPTY and p not in legal]
        occupied = [to_vertex(p, game.y_size) for p in on_board if game.colour_at(p) != EMPTY and p in legal]
        assert illegal == record["illegalByTurn"][turn].split(), where
        assert occupied == record["legalOccupiedByTurn"].get(str(turn), "").split(), where


def check_scores(record: dict[str, Any], game: Game, turn: int) -> int:
    """Compare with the scorings of the position before move ``turn``; returns how many there are."""
    entries = [entry for entry in record["scoreNow"] if entry["turn"] == turn]
    for entry in entries:
        where = f"{record['id']} scored at turn {turn}"
        assert "/".join("".join(".XO"[owner] for owner in row) for row in game.area()) == entry["area"], where
        assert result_text(game.score()) == entry["result"], where
    return len(entries)


@pytest.mark.parametrize(("name", "expected"), [("rules_games", 150), ("rules_rare", 58)])
def test_recorded_games_agree(name: str, expected: int) -> None:
    games = scores = 0
    for record in records(name):
        game = start_of(record)
        for turn, (colour, vertex) in enumerate(record["moves"]):
            assert not game.finished, f"{record['id']} turn {turn}"
            check_turn(record, game, turn)
            scores += check_scores(record, game, turn)
            game.play(vertex, COLOURS[colour])
        check_turn(record, game, len(record["moves"]))
        scores += check_scores(record, game, len(record["moves"]))
        assert game.finished == record["finished"], record["id"]
        assert game.result == record["result"], record["id"]
        games += 1
    print(f"{name}: {games} games, {scores} scorings agree")
    assert games == expected
    assert scores >= games


def test_recorded_rules_read_and_write() -> None:
    compared = named = 0
    for name in ("rules_games", "rules_rare"):
        for record in records(name):
            rules = Rules.from_json(record["rules"])
            assert rules.to_short(komi=False) == record["rulesStr"]
            assert Rules.parse(record["rulesStr"]) == rules
            assert rules.to_json(komi=False) == record["rules"]
            if record["rulesName"]:
                assert Rules.parse(record["rulesName"]).with_komi(rules.komi) == rules
                named += 1
            compared += 1
    assert (compared, named) == (208, 17)
