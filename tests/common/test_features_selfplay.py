"""Inputs of KataGo's own self-play rows, encoded again from its SGFs (vectors.md 7)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from common.features import FeatureOptions, encode_packed, new_scratch
from common.go.game import Game
from common.go.points import BLACK, PASS, WHITE, point_at, point_of
from common.go.scoring import own_komi
from common.go.start import GameStart
from common.rows import HISTORY_MOVES, GlobalInput, GlobalTarget, InputPlane, Rows, game_hash, packed_bytes, read_npz
from common.sgf import read
from common.sgf_record import GameRecord
from tests.oracles import oracle_path

LENGTH = 9
SCRATCH = new_scratch()


def rows_by_game(name: str) -> dict[str, Rows]:
    """The rows of all files of a set, by the hash of their game."""
    files = sorted(oracle_path(f"vectors/selfplay/{name}").glob("*.npz"))
    rows = Rows.concatenate([read_npz(path) for path in files])
    hashes = np.array([game_hash(row) for row in rows.global_targets])
    return {str(value): rows.take(np.flatnonzero(hashes == value)) for value in np.unique(hashes)}


class Replayed:
    """One recorded game with the state before every turn."""

    def __init__(self, record: GameRecord, rows: Rows) -> None:
        assert record.info is not None
        stones = tuple((colour, point_at(x, y)) for colour, x, y in record.stones)
        self.game = Game(
            GameStart(
                record.x_size,
                record.y_size,
                record.rules,
                stones=stones,
                to_move=record.first_player,
                phase=record.info.began_in_phase,
            )
        )
        self.white_doublings = record.info.white_doublings or 0.0
        self.points = [PASS if move.at is None else point_at(*move.at) for move in record.moves]
        self.moves = [(move.colour, point) for move, point in zip(record.moves, self.points, strict=True)]
        self._take_komi_from(rows, is_cleanup_training=record.info.game_type == "cleanuptraining")

    def _take_komi_from(self, rows: Rows, *, is_cleanup_training: bool) -> None:
        """What the SGF does not tell: a draw's worth, and bonus points of a game that began in its middle."""
        row = rows.global_targets[int(np.argmax(rows.global_targets[:, GlobalTarget.FUTURE_WEIGHT]))]
        game = self.at(int(row[GlobalTarget.TURN]))
        sign = 1 if game.to_move == WHITE else -1
        excess = sign * (float(row[GlobalTarget.OWN_KOMI]) - own_komi(game.state))
        if is_cleanup_training:
            self.game.state["white_bonus"] += round(excess)
            excess -= round(excess)
        if self.game.rules.result_is_integer:
            self.game.state["draw_white_wins"] = 0.5 + excess

    def at(self, turn: int) -> Game:
        """The game before its move number ``turn``."""
        game = self.game.copy()
        for colour, point in self.moves[:turn]:
            game.play(point, colour)
        return game

    def inputs(self, game: Game, *, is_side: bool) -> tuple[Any, Any]:
        """Packed planes and globals of the game's position."""
        doublings = 0.0 if is_side else self.white_doublings * (1 if game.to_move == WHITE else -1)
        packed = np.full((len(InputPlane), packed_bytes(LENGTH)), 255, np.uint8)
        global_inputs = np.full(len(GlobalInput), 9, np.float32)
        options = FeatureOptions(playout_doubling_advantage=doublings)
        encode_packed(game.state, game.history, LENGTH, options, packed, global_inputs, SCRATCH)
        return packed, global_inputs


def shown_moves(planes: Any, global_inputs: Any) -> list[int]:
    """The last moves that a row's history planes show, latest first."""
    moves = []
    for turn in range(HISTORY_MOVES):
        plane = planes[InputPlane.MOVE_1_AGO + turn]
        if global_inputs[GlobalInput.PASS_1_AGO + turn]:
            moves.append(PASS)
        elif plane.any():
            moves.append(point_of(int(plane.argmax()), LENGTH))
        else:
            break
    return moves


def side_game(replayed: Replayed, turn: int, moves: list[int], planes: Any) -> Game | None:
    """The position of a side row: the game some turns before, and then the moves that the row shows."""
    for depth in range(1, len(moves) + 1, 2):
        if depth > turn:
            break
        game = replayed.at(turn - depth)
        try:
            for point in reversed(moves[:depth]):
                game.play(point)
        except ValueError:
            continue
        if stones_agree(game, planes):
            return game
    return None


def stones_agree(game: Game, planes: Any) -> bool:
    """Whether a row's stones are those of the game."""
    for plane, colour in ((InputPlane.OWN_STONE, game.to_move), (InputPlane.OPP_STONE, BLACK + WHITE - game.to_move)):
        for y in range(game.y_size):
            for x in range(game.x_size):
                if bool(planes[plane].reshape(LENGTH, LENGTH)[y, x]) != (game.colour_at(point_at(x, y)) == colour):
                    return False
    return True


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("clean", {"games": 12, "main rows": 673}),
        ("full", {"games": 13, "main rows": 174, "side rows": 49, "side rows out of reach": 3}),
    ],
)
def test_every_row_of_the_oracle(name: str, expected: dict[str, int]) -> None:
    by_game = rows_by_game(name)
    counts: Counter[str] = Counter()
    sgfs = next(oracle_path(f"vectors/selfplay/{name}").glob("*.sgfs")).read_text().splitlines()
    for record in map(read, sgfs):
        assert record.info is not None
        rows = by_game.pop(record.info.game_hash, None)
        if rows is None:
            continue
        counts["games"] += 1
        replayed = Replayed(record, rows)
        unpacked = np.unpackbits(rows.packed_planes, axis=2)[:, :, : LENGTH * LENGTH]
        for row in range(rows.count):
            targets = rows.global_targets[row]
            is_side = targets[GlobalTarget.FUTURE_WEIGHT] == 0
            turn = int(targets[GlobalTarget.TURN])
            if is_side:
                moves = shown_moves(unpacked[row], rows.global_inputs[row])
                game = side_game(replayed, turn, moves, unpacked[row])
            else:
                game = replayed.at(turn)
            if game is None:
                counts["side rows out of reach"] += 1
                continue
            packed, global_inputs = replayed.inputs(game, is_side=bool(is_side))
            where = (record.info.game_hash, turn, is_side)
            assert np.flatnonzero((packed != rows.packed_planes[row]).any(axis=1)).tolist() == [], where
            recorded = rows.global_inputs[row]
            # the SGF prints the playout doubling advantage rounded
            doubling = GlobalInput.PLAYOUT_DOUBLING
            assert abs(global_inputs[doubling] - recorded[doubling]) < 1e-4, where
            global_inputs[doubling] = recorded[doubling]
            assert global_inputs.tolist() == recorded.tolist(), where
            counts["side rows" if is_side else "main rows"] += 1
    assert not by_game, "rows without a game"
    print(name, dict(counts))
    assert counts == expected
