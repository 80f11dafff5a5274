"""The network's inputs: against a real KataGo, and against what features.md says of histories and komi."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common import features
from common.features import FeatureOptions, encode, encode_packed, komi_wave
from common.go.game import Game
from common.go.points import PASS, from_vertex, point_of, position_of
from common.go.rules import Rules
from common.go.start import GameStart
from common.go.symmetry import NUM_SYMMETRIES, symmetry_table
from common.rows import GlobalInput, InputPlane, packed_bytes
from tests.common.fixtures import fixture_records
from tests.common.recorded import COLOURS, start_of
from tests.oracles import records

SCRATCH = features.new_scratch()
DEFAULTS = FeatureOptions()
LARGE = 19
RULES = ["tromp-taylor", "japanese", "stone-scoring", "aga-button"]


def inputs_of(game: Game, length: int, options: FeatureOptions = DEFAULTS) -> tuple[Any, Any]:
    """Planes [22, length, length] and globals [19], the same from both encoders."""
    planes = np.full((features.NUM_PLANES, length, length), 9, np.float32)
    global_inputs = np.full(features.NUM_GLOBAL_INPUTS, 9, np.float32)
    encode(game.state, game.history, length, options, planes, global_inputs, SCRATCH)
    packed = np.full((features.NUM_PLANES, packed_bytes(length)), 255, np.uint8)
    packed_globals = global_inputs + 1
    encode_packed(game.state, game.history, length, options, packed, packed_globals, SCRATCH)
    bits = np.unpackbits(packed, axis=1)
    assert not bits[:, length * length :].any()
    assert np.array_equal(bits[:, : length * length].reshape(planes.shape), planes)
    assert np.array_equal(packed_globals, global_inputs)
    return planes, global_inputs


def game_of(record: dict[str, Any], *, encode_every_turn: bool) -> Game:
    """The record's game, its ladder maps carried from turn to turn or left to be found at the end."""
    game = start_of(record)
    for colour, vertex in record["moves"]:
        if encode_every_turn:
            inputs_of(game, max(game.x_size, game.y_size))
        # a few records go on after the rules have ended the game, as the oracle was told to
        game.play(from_vertex(vertex, game.x_size, game.y_size), COLOURS[colour], tolerant=True)
    return game


def check(recorded: Iterable[dict[str, Any]], *, encode_every_turn: bool) -> int:
    """Compares planes and globals, in a tensor of the board's size and in a larger one; returns how many records."""
    compared = 0
    for record in recorded:
        game = game_of(record, encode_every_turn=encode_every_turn)
        x_size, y_size = record["xSize"], record["ySize"]
        for length in {max(x_size, y_size), LARGE}:
            expected = np.zeros((features.NUM_PLANES, length, length), np.float32)
            expected[InputPlane.ON_BOARD, :y_size, :x_size] = 1
            for plane, positions in record["planes"].items():
                for position in positions:
                    expected[int(plane), position // x_size, position % x_size] = 1
            planes, global_inputs = inputs_of(game, length)
            differing = [InputPlane(int(plane)).name for plane in np.flatnonzero((planes != expected).any(axis=(1, 2)))]
            assert not differing, record["id"]
            assert global_inputs.tolist() == np.array(record["globals"], np.float32).tolist(), record["id"]
        compared += 1
    return compared


def test_our_own_choice_of_records() -> None:
    assert check(fixture_records("rawnet"), encode_every_turn=False) == 7


@pytest.mark.parametrize(("name", "count"), [("rawnet", 200), ("rawnet_rare", 69)])
def test_every_position_of_the_oracle(name: str, count: int) -> None:
    assert check(records(name), encode_every_turn=False) == count


def test_carried_ladder_maps_are_those_that_would_be_found() -> None:
    assert check(records("rawnet_rare"), encode_every_turn=True) == 69


# -- history (features.md 3) --


def played(moves: str, rules: Rules | None = None, size: int = 5) -> Game:
    game = Game(GameStart(size, size, rules or Rules()))
    for vertex in moves.split():
        game.play(vertex)
    return game


def shown_turns(game: Game, options: FeatureOptions = DEFAULTS) -> str:
    """One letter per turn that is shown, latest first: ``.`` a move, ``p`` a pass."""
    planes, global_inputs = inputs_of(game, game.x_size, options)
    letters = ""
    for turn in range(5):
        if global_inputs[GlobalInput.PASS_1_AGO + turn]:
            letters += "p"
        elif planes[InputPlane.MOVE_1_AGO + turn].any():
            letters += "."
    return letters


def test_five_turns_are_shown_and_options_hide_them() -> None:
    game = played("A1 B2 C3 pass D4 E5")
    assert shown_turns(game) == "..p.."
    for most in range(5):
        assert shown_turns(game, FeatureOptions(max_history=most)) == "..p.."[:most]
    assert shown_turns(game, FeatureOptions(max_history=-1)) == ""


def test_a_turn_by_the_wrong_player_ends_the_history() -> None:
    game = played("A1 B2")
    game.play("C3", COLOURS["W"], tolerant=True)
    game.play("D4")
    assert shown_turns(game) == ".."


@pytest.mark.parametrize("rules", ["tromp-taylor", "japanese"])
def test_a_pass_that_would_end_the_game_is_hidden_where_that_is_asked_for(rules: str) -> None:
    ends_game = rules == "tromp-taylor"
    game = played("A1 B2 pass", Rules.parse(rules))
    shown, hidden = (shown_turns(game, FeatureOptions(conservative_pass_at_root=hides)) for hides in (False, True))
    assert shown == "p.."
    assert hidden == ("" if ends_game else "p..")
    options = FeatureOptions(conservative_pass_at_root=True)
    told = inputs_of(game, 5, options)[1][GlobalInput.PASS_WOULD_END_PHASE]
    assert told == (0 if ends_game else 1)
    assert inputs_of(game, 5)[1][GlobalInput.PASS_WOULD_END_PHASE] == 1


def test_friendly_passes_are_hidden() -> None:
    friendly = Rules.from_json({"ko": "SIMPLE", "friendlyPassOk": True, "suicide": False})
    assert shown_turns(played("A1 B2 pass", friendly)) == ""
    unfriendly = Rules.from_json({"ko": "SIMPLE", "suicide": False})
    assert shown_turns(played("A1 B2 pass", unfriendly)) == "p.."


def test_passing_hacks_hide_a_pass_that_would_lose() -> None:
    options = FeatureOptions(passing_hacks=True)
    behind = played("C3 C4 pass", Rules(komi=-7.5))  # an even board: White to move loses by the komi
    ahead = played("C3 C4 pass", Rules(komi=7.5))
    assert shown_turns(behind, options) == ""
    assert shown_turns(ahead, options) == "p.."
    assert shown_turns(behind) == "p.."


def test_a_finished_game_shows_one_turn_and_a_phase_only_its_own() -> None:
    assert shown_turns(played("A1 B2 pass pass")) == "p"
    cleanup = played("A1 B2 pass pass", Rules.parse("japanese"))
    assert shown_turns(cleanup) == ""
    cleanup.play("C3")
    assert shown_turns(cleanup) == "."


def test_a_game_that_went_on_shows_its_end_and_what_followed() -> None:
    game = played("A1 B2 C3 pass pass")
    game.play("D4", tolerant=True)
    assert shown_turns(game) == ".p"
    game.play("E5")
    assert shown_turns(game) == "..p"


# -- globals --


def test_playout_doubling_advantage() -> None:
    _, global_inputs = inputs_of(played("A1"), 5, FeatureOptions(playout_doubling_advantage=-1.5))
    assert global_inputs[GlobalInput.HAS_PLAYOUT_DOUBLING] == 1
    assert global_inputs[GlobalInput.PLAYOUT_DOUBLING] == -0.75


def test_own_komi_is_clipped() -> None:
    for komi in (-200.0, 200.0):
        _, global_inputs = inputs_of(Game(GameStart(5, 7, Rules(komi=komi))), 7)
        assert global_inputs[GlobalInput.SELF_KOMI] == np.float32(-np.sign(komi) * (5 * 7 + 20) / 20)


@pytest.mark.parametrize(
    ("komi", "area", "wave"),
    [
        (7.0, 361, 0.0),
        (7.25, 361, 0.25),
        (7.5, 361, 0.5),
        (8.0, 361, 0.0),
        (8.5, 361, -0.5),
        (8.75, 361, -0.25),
        (6.5, 361, -0.5),
        (-7.0, 361, 0.0),
        (-7.5, 361, -0.5),
        (6.0, 36, 0.0),
        (6.5, 36, 0.5),
        (7.0, 36, 0.0),
        (0.0, 36, 0.0),
    ],
)
def test_komi_wave(komi: float, area: int, wave: float) -> None:
    assert komi_wave(komi, area) == wave


# -- laws --


def symmetric_point(point: int, length: int, symmetry: int) -> int:
    return point_of(int(symmetry_table(length)[symmetry, position_of(point, length)]), length)


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    symmetry=st.integers(1, NUM_SYMMETRIES - 1),
    rules=st.sampled_from(RULES),
)
def test_features_follow_the_symmetries_of_the_board(seed: int, symmetry: int, rules: str) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 8))
    table = symmetry_table(size)[symmetry]
    game, image = Game(GameStart(size, size, Rules.parse(rules))), Game(GameStart(size, size, Rules.parse(rules)))
    for turn in range(2 * size * size):
        if game.finished:
            break
        moves = game.legal_moves()
        point = PASS if rng.random() < 0.05 else int(rng.choice(moves))
        game.play(point)
        image.play(symmetric_point(point, size, symmetry))
        if turn % 5:
            continue
        planes, global_inputs = inputs_of(game, size)
        image_planes, image_globals = inputs_of(image, size)
        flat, image_flat = planes.reshape(features.NUM_PLANES, -1), image_planes.reshape(features.NUM_PLANES, -1)
        assert np.array_equal(image_flat[:, table[:-1]], flat)
        assert np.array_equal(image_globals, global_inputs)
        assert image.score() == game.score()
