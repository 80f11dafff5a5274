"""The evaluation cache: what is found is what the net would have said, and nothing else changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from client.search.cache import (
    NO_CACHE,
    NO_ENTRY,
    CacheForm,
    CacheSettings,
    find_entry,
    keep_answer,
    new_cache,
    read_entry,
)
from client.search.pool import SearchPool
from client.search.tree import EVALUATED, ROOT, Outputs, arrays_of, new_playouts
from common.go.play import play
from common.go.points import PASS
from tests.client.search.helpers import GTP, SELFPLAY, record
from tests.client.search.scripted import Answer, Floats, ScriptedEvaluator, empty, hashed_answer, position, sided_answer

INPUTS = CacheSettings(CacheForm.INPUTS, 1 << 22)
SITUATION = CacheSettings(CacheForm.SITUATION, 1 << 22)
ROOMY = CacheSettings(CacheForm.INPUTS, 1 << 27)  # nothing takes another's place
NO_ROOM = CacheSettings(CacheForm.INPUTS, 0)
TINY = CacheSettings(CacheForm.INPUTS, 1 << 22, max_entries=64)

NOISY: dict[str, Any] = {**SELFPLAY, "root_noise_enabled": True, "nn_randomize": True}
CROWDED = [".XO.O", "XXO.O", ".XOOO", "X.XO."]


def stones_answer(planes: Floats, global_inputs: Floats, symmetry: int) -> Answer:
    """An opinion that sees the board and whose turn it is, but no history and no symmetry."""
    return hashed_answer(planes[:9], global_inputs[5:], 0)


def run(pool: SearchPool, slot: int, start: tuple[Any, Any], parameters: Any, visits: int, **options: Any) -> None:
    pool.start(slot, *start, parameters=parameters, visits=visits, **{"seed": 1, **options})
    while slot not in pool.step():
        pass


def tree(pool: SearchPool, slot: int = 0) -> tuple[bytes, ...]:
    """All that a search left: nodes, edges, policies and what the generator has drawn."""
    forest, search = pool.forest, pool.forest.searches[slot]
    nodes, edges = forest.nodes[slot, : search["num_nodes"]], forest.edges[slot, : search["num_edges"]]
    evaluated = nodes["status"] == EVALUATED
    fields = ("visits", "weight", "utility", "utility_sq", "mean", "status", "own_utility", "to_move")
    return (
        *(nodes[name].tobytes() for name in fields),
        *(edges[name].tobytes() for name in ("child", "visits", "prior", "position")),
        forest.priors[slot, : len(nodes)][evaluated].tobytes(),
        forest.ladders[slot, : len(nodes)][evaluated].tobytes(),
        forest.raw_policies[slot].tobytes(),
        forest.generators[slot].tobytes(),
    )


def turn_by_turn(pool: SearchPool, parameters: Any, turns: int = 4, start: Any = None) -> list[tuple[bytes, ...]]:
    """The trees of a game's searches, each from scratch, as in self-play; every move is a fixed choice of the tree."""
    state, history = (np.array([record])[0] for record in start or position(CROWDED))
    found = []
    for turn in range(turns):
        run(pool, 0, (state, history), parameters, 80, seed=turn)
        found.append(tree(pool))
        children = pool.result(0).children
        play(state, history, int(children.points[int(np.argmax(children.visits))]))
    return found


@pytest.mark.parametrize(
    ("parameters", "answer", "cache"),
    [
        (record(NOISY), hashed_answer, INPUTS),
        (record(NOISY, root_num_symmetries_to_sample=4), hashed_answer, INPUTS),
        (record(GTP), sided_answer, INPUTS),
        (record(NOISY), stones_answer, SITUATION),
        (record(NOISY, root_num_symmetries_to_sample=4), stones_answer, SITUATION),
    ],
    ids=["inputs", "inputs, averaged root", "inputs, one symmetry", "situation", "situation, averaged root"],
)
def test_trees_are_equal_with_and_without(parameters: Any, answer: Any, cache: CacheSettings) -> None:
    evaluators = [ScriptedEvaluator(5, answer) for _ in range(2)]
    without, with_cache = (
        SearchPool(evaluator, slots=1, max_visits=80, cache=settings)
        for evaluator, settings in zip(evaluators, (NO_CACHE, cache), strict=True)
    )
    assert turn_by_turn(without, parameters) == turn_by_turn(with_cache, parameters)
    made, needed = (sum(evaluator.batch_sizes) for evaluator in evaluators[::-1])
    assert made + with_cache.hits == needed
    assert with_cache.hits > 0.1 * needed
    assert without.hits == 0


def test_a_table_of_any_size_gives_the_same_trees_where_inputs_are_the_key() -> None:
    trees, hits = [], []
    for settings in (INPUTS, TINY, NO_ROOM):
        pool = SearchPool(ScriptedEvaluator(5, sided_answer), slots=1, max_visits=80, cache=settings)
        trees.append(turn_by_turn(pool, record(NOISY)))
        hits.append(pool.hits)
    assert trees[0] == trees[1] == trees[2]
    assert hits[0] > hits[1] > hits[2] == 0


def test_a_search_owes_nothing_to_others() -> None:
    parameters = record(NOISY)
    alone = SearchPool(ScriptedEvaluator(5, sided_answer), slots=1, max_visits=80, cache=INPUTS)
    run(alone, 0, empty(5), parameters, 80, seed=3, symmetry_salt=5)
    busy = SearchPool(ScriptedEvaluator(5, sided_answer), slots=3, max_visits=80, cache=INPUTS)
    run(busy, 1, empty(5), parameters, 80, seed=8, symmetry_salt=5)
    busy.start(0, *empty(5), parameters=parameters, visits=70, seed=2, symmetry_salt=5)
    run(busy, 2, empty(5), parameters, 80, seed=3, symmetry_salt=5)
    assert busy.hits > 20
    assert tree(busy, 2) == tree(alone)


def test_a_salt_decides_in_which_symmetry_a_position_is_seen() -> None:
    trees, seen = set(), []
    for salt in range(8):
        evaluator = ScriptedEvaluator(5, sided_answer)
        pool = SearchPool(evaluator, slots=1, max_visits=30, cache=INPUTS)
        run(pool, 0, empty(5), record(NOISY), 30, symmetry_salt=salt)
        trees.add(tree(pool))
        seen.append(evaluator.symmetries[0])
    assert len(trees) == 8
    assert sorted(seen) == list(range(8))


def test_kept_situations_answer_for_other_histories_and_symmetries() -> None:
    evaluator = ScriptedEvaluator(5, sided_answer)
    pool = SearchPool(evaluator, slots=1, max_visits=40, cache=SITUATION)
    run(pool, 0, position(CROWDED), record(NOISY), 40, seed=1)
    first, made = tree(pool), sum(evaluator.batch_sizes)
    run(pool, 0, position(CROWDED), record(NOISY), 40, seed=1)
    assert tree(pool) == first
    assert sum(evaluator.batch_sizes) == made
    pool.clear_cache()
    run(pool, 0, position(CROWDED), record(NOISY), 40, seed=1)
    assert sum(evaluator.batch_sizes) == 2 * made


@pytest.mark.parametrize("leaves", [1, 6])
def test_counts_hold_where_everything_is_found(leaves: int) -> None:
    evaluator = ScriptedEvaluator(5, sided_answer)
    pool = SearchPool(evaluator, slots=2, max_visits=150, leaves=leaves, cache=INPUTS)
    for slot in (0, 1, 0, 1):
        run(pool, slot, empty(5), record(NOISY), 150, seed=6)
        nodes = pool.forest.nodes[slot, : pool.forest.searches[slot]["num_nodes"]]
        assert nodes[ROOT]["visits"] == 150
        assert not nodes["virtual_losses"].any()
        assert pool.forest.searches[slot]["pending"] == 0
    if leaves == 1:
        assert tree(pool, 0) == tree(pool, 1)
    assert pool.hits > 250


def test_a_search_that_finds_everything_leaves_the_round_to_others() -> None:
    evaluator = ScriptedEvaluator(5, hashed_answer)
    pool = SearchPool(evaluator, slots=1, max_visits=150, cache=ROOMY)
    run(pool, 0, empty(5), record(GTP), 150)
    rounds = len(evaluator.batch_sizes)
    run(pool, 0, empty(5), record(GTP), 150)
    assert evaluator.batch_sizes[rounds:] == [0] * 5  # 32 in each of them


def test_a_node_of_a_later_tree_gets_the_ladders_that_later_inputs_show() -> None:
    ladder = [".......", "..XX...", ".XOO...", "..XX.X.", ".......", ".......", "......."]
    without = SearchPool(ScriptedEvaluator(7, hashed_answer), slots=1, max_visits=80)
    kept = SearchPool(ScriptedEvaluator(7, hashed_answer), slots=1, max_visits=80, cache=INPUTS)
    parameters = record(GTP)
    assert turn_by_turn(without, parameters, 3, position(ladder)) == turn_by_turn(kept, parameters, 3, position(ladder))
    assert kept.forest.ladders[0].any()
    assert kept.hits > 0


def test_an_entry_holds_every_output() -> None:
    batch = ScriptedEvaluator(5, hashed_answer).new_batch(3, ownership=False)
    outputs, random = arrays_of(Outputs, batch), np.random.default_rng(1)
    for array in outputs:
        array[...] = random.normal(size=array.shape)
    cache, playouts = new_cache(INPUTS, outputs, ownership=False), new_playouts(3, 10, 5)
    playouts.keys[1] = 7, 9
    playouts.legal[1] = random.integers(2, size=26)
    ladder = random.integers(1 << 5, size=5).astype(np.uint32)
    keep_answer(cache, playouts, 1, outputs, ladder)
    entry = find_entry(cache, np.uint64(7), np.uint64(9))
    assert find_entry(cache, np.uint64(7), np.uint64(8)) == NO_ENTRY
    legal, read = np.zeros(26, np.int8), np.zeros(5, np.uint32)
    read_entry(cache, entry, legal, read)
    np.testing.assert_array_equal(legal, playouts.legal[1])
    np.testing.assert_array_equal(read, ladder)
    for name, kept in cache.answers._asdict().items():
        expected = np.array(getattr(outputs, name)[1])
        if name == "policy":
            expected[legal == 0] = -np.inf
        np.testing.assert_array_equal(kept[entry], expected, err_msg=name)


def test_a_table_stays_within_its_bytes() -> None:
    outputs = arrays_of(Outputs, ScriptedEvaluator(19, hashed_answer).new_batch(4, ownership=False))
    for max_bytes in (0, 1000, 5000, 1 << 20):
        cache = new_cache(CacheSettings(CacheForm.INPUTS, max_bytes), outputs, ownership=False)
        entries = len(cache.keys)
        taken = entries * (16 + 46 + 4 * (362 + 7))
        assert taken <= max_bytes
        assert entries.bit_count() <= 1
        assert max_bytes < 2 * (16 + 46 + 4 * (362 + 7)) * max(entries, 1)
    assert (
        len(new_cache(CacheSettings(CacheForm.INPUTS, 1 << 30, max_entries=1000), outputs, ownership=False).keys) == 512
    )
    assert len(new_cache(NO_CACHE, outputs, ownership=False).keys) == 0


def test_only_between_rounds_is_it_cleared() -> None:
    pool = SearchPool(ScriptedEvaluator(5, hashed_answer), slots=1, max_visits=10, cache=INPUTS)
    pool.start(0, *empty(5), parameters=record(GTP), visits=10, seed=0)
    pool.descend()
    with pytest.raises(RuntimeError, match="under way"):
        pool.clear_cache()


def test_passes_are_kept_apart() -> None:
    state, history = empty(3)
    play(state, history, PASS)
    fresh = empty(3, to_move=int(state["to_move"]))
    evaluator = ScriptedEvaluator(3, stones_answer)
    pool = SearchPool(evaluator, slots=1, max_visits=1, cache=SITUATION)
    run(pool, 0, (state, history), record(GTP), 1)
    run(pool, 0, fresh, record(GTP), 1)  # a pass would end the game only in the former
    assert pool.hits == 0
