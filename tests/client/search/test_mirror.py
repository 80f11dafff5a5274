"""Mirror go: who plays it, what is expected of it, and a search that faces it (search.md 14)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from client.search.guidance import Guidance
from client.search.mirror import (
    answers_mirror,
    centre_of,
    expected_prior,
    expected_reply,
    is_mirrored_board,
    is_owed_by_mirror,
    lean_to_centre,
    mirrored,
    mirroring_player,
)
from client.search.pool import SearchPool
from client.search.tree import ROOT
from common.go.play import play
from common.go.points import BLACK, EMPTY, NO_POINT, PASS, WHITE, point_at
from tests.client.search.helpers import GTP, node, record, vector
from tests.client.search.scripted import Answer, Floats, ScriptedEvaluator, empty, hashed_answer, position
from tests.client.search.test_pool import search, summary

SIZE = 7
POINTS = [
    (1, 1),
    (2, 0),
    (0, 3),
    (5, 1),
    (3, 0),
    (1, 2),
    (2, 2),
    (6, 3),
    (4, 1),
    (0, 0),
    (1, 4),
    (2, 5),
    (0, 6),
    (6, 0),
]


def mirror_game(pairs: int) -> list[tuple[int, int]]:
    turns = []
    for x, y in POINTS[:pairs]:
        turns += [(BLACK, point_at(x, y)), (WHITE, point_at(SIZE - 1 - x, SIZE - 1 - y))]
    return turns


def test_images_across_the_centre() -> None:
    assert mirrored(point_at(1, 2), 7, 7) == point_at(5, 4)
    assert mirrored(point_at(0, 0), 4, 9) == point_at(3, 8)
    assert mirrored(point_at(3, 3), 7, 7) == point_at(3, 3)
    assert mirrored(PASS, 7, 7) == PASS
    assert centre_of(empty(7)[0]) == point_at(3, 3)
    assert centre_of(empty(7, 6)[0]) == NO_POINT


def who_mirrors(turns: list[tuple[int, int]], colour: int, x_size: int, y_size: int) -> int:
    colours = np.array([colour for colour, _ in turns], np.int8)
    points = np.array([point for _, point in turns], np.int16)
    return int(mirroring_player(colours, points, len(turns), colour, x_size, y_size))


def test_who_mirrors() -> None:
    assert who_mirrors(mirror_game(14), WHITE, SIZE, SIZE) == WHITE  # 14 of 14, where 7 + 7 are asked for
    assert who_mirrors(mirror_game(13), WHITE, SIZE, SIZE) == EMPTY
    assert who_mirrors(mirror_game(14), BLACK, SIZE, SIZE) == EMPTY
    assert who_mirrors(mirror_game(14)[:-1], WHITE, SIZE, SIZE) == EMPTY  # it is his turn
    assert who_mirrors(mirror_game(14), WHITE, SIZE, SIZE + 1) == EMPTY
    assert who_mirrors([], WHITE, SIZE, SIZE) == EMPTY
    other_move = [(BLACK, point_at(3, 3)), (WHITE, point_at(3, 4))]
    assert who_mirrors(mirror_game(14) + other_move, WHITE, SIZE, SIZE) == EMPTY
    # after 4 others and a mirror, .25 + .75^5 = .487 of the recent turns mirror; after 6 others .383
    for others, expected in ((4, WHITE), (6, EMPTY)):
        late = [(BLACK, point_at(1, 1)), (WHITE, point_at(1, 2))] * others + mirror_game(1)
        assert who_mirrors(mirror_game(14) * 2 + late, WHITE, SIZE, SIZE) == expected


def test_boards_that_mirror_themselves() -> None:
    assert is_mirrored_board(position(["X..", ".X.", "..O"])[0])
    assert not is_mirrored_board(position(["X..", "...", "..X"])[0])
    assert not is_mirrored_board(position(["X..", "...", "..."])[0])


def test_replies_and_breaks_are_expected() -> None:
    state, history = empty(5)
    priors = np.full(26, 0.04, np.float32)
    play(state, history, point_at(1, 0))
    reply = expected_reply(state, priors, 5)
    assert reply == 4 * 5 + 3
    assert expected_prior(0.04, reply, state, WHITE, reply, 1, 5) == pytest.approx(0.04 + 0.96 / math.sqrt(2))
    assert expected_prior(0.04, 3, state, WHITE, reply, 1, 5) == pytest.approx(0.04)
    assert expected_prior(0.04, 12, state, WHITE, reply, 1, 5) == pytest.approx(0.04)
    assert is_owed_by_mirror(1.9, 10.0, reply, state, WHITE, reply, 1, 5)
    assert not is_owed_by_mirror(2.0, 10.0, reply, state, WHITE, reply, 1, 5)
    priors[reply] = -1
    assert expected_reply(state, priors, 5) == 25
    assert not answers_mirror(state, WHITE)
    play(state, history, point_at(3, 4))
    assert answers_mirror(state, WHITE)
    assert expected_prior(0.1, 12, state, WHITE, -1, 0, 5) == pytest.approx(0.1 + 0.9 * 0.3)
    assert expected_prior(0.1, 6, state, WHITE, -1, 2, 5) == pytest.approx(0.1 + 0.9 * 0.05 / math.sqrt(3))
    assert expected_prior(0.1, 2, state, WHITE, -1, 0, 5) == pytest.approx(0.1)
    assert expected_prior(0.1, 25, state, WHITE, -1, 0, 5) == pytest.approx(0.1)
    assert is_owed_by_mirror(0.9, 10.0, 12, state, WHITE, -1, 0, 5)
    assert not is_owed_by_mirror(0.9, 10.0, 12, state, WHITE, -1, 2, 5)
    play(state, history, PASS)
    assert expected_reply(state, priors, 5) == 25


@pytest.mark.parametrize(("to_move", "owner"), [(WHITE, 0.8), (BLACK, -0.8)])
def test_evaluations_lean_to_the_owner_of_the_centre(to_move: int, owner: float) -> None:
    ownership = np.zeros(36, np.float32)
    ownership[2 * 6 + 2] = owner  # White's either way
    others = {"no_result": 0.25, "score_mean": 1.0, "score_mean_sq": 9.0, "lead": 1.0}
    leaf = node(own=vector(win_loss=0.3, **others), to_move=to_move)
    lean_to_centre(leaf, empty(5)[0], ownership, 0.7, 6)
    expected = 0.75 * math.tanh(math.atanh(0.4) + 0.7 * 0.8)
    np.testing.assert_allclose(leaf["own"], vector(win_loss=expected, **others), rtol=1e-6)
    lean_to_centre(leaf, empty(6)[0], ownership, 0.7, 6)  # no centre
    assert leaf["own"][0] == pytest.approx(expected)


def test_a_search_faces_mirror_go_only_where_it_is_told_and_asked() -> None:
    def answer(planes: Floats, global_inputs: Floats, symmetry: int) -> Answer:
        found = hashed_answer(planes, global_inputs, symmetry)
        found.policy[3 * SIZE + 3] = -2.0
        return found

    state, history = empty(SIZE)
    turns = mirror_game(14)
    for _, point in turns:
        play(state, history, point)
    pool = SearchPool(ScriptedEvaluator(SIZE, answer), slots=1, max_visits=60)
    told = Guidance(turns=turns)
    search(pool, 0, (state, history), record(GTP), 50)
    plain = summary(pool, 0)
    for parameters, guidance in ((record(GTP, anti_mirror=True), Guidance()), (record(GTP), told)):
        search(pool, 0, (state, history), parameters, 50, guidance=guidance)
        assert summary(pool, 0) == plain
    given = record(GTP, anti_mirror=True)
    search(pool, 0, (state, history), given, 50, guidance=told)
    assert given["use_noise_pruning"]  # switched off in the slot alone
    assert not pool.forest.parameters[0]["use_noise_pruning"]
    assert pool.forest.parameters[0]["value_weight_exponent"] == 0.0
    assert pool.forest.searches[0]["mirror_pull"] == 0.7
    children = pool.result(0).children
    weights = dict(zip(children.points.tolist(), children.weights.tolist(), strict=True))
    assert weights[point_at(3, 3)] >= 0.1 * (sum(weights.values()) - 2)
    # below the largest child White mirrors in a fifth of the playouts at least
    nodes, edges = pool.forest.nodes[0], pool.forest.edges[0]
    e = nodes[ROOT]["first_edge"]
    checked = 0
    while e >= 0:
        child, position_taken = nodes[edges[e]["child"]], int(edges[e]["position"])
        first = child["first_edge"]
        if child["visits"] > 3 and position_taken not in (SIZE * SIZE, 3 * SIZE + 3):
            assert edges[first]["position"] == SIZE * SIZE - 1 - position_taken
            checked += 1
        e = edges[e]["next_edge"]
    assert checked > 0
