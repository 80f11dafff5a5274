"""The kernels of areas, ladders and features in other processes and under the eyes of the allocator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit
from numba.core.runtime import _nrt_python
from numba.core.runtime.nrt import rtsys

from common import features
from common.features import FeatureOptions, encode, encode_packed
from common.go.game import Game
from common.go.points import NUM_POINTS
from common.go.scoring import all_pass_alive, score
from common.go.start import GameStart
from common.rows import packed_bytes
from tests.common.fuzz_features import fuzz
from tests.common.test_fuzz import run

OPTIONS = FeatureOptions()


def test_plain_python_computes_the_same() -> None:
    found = run(["-m", "tests.common.fuzz_features", "4", "4", "5"], NUMBA_DISABLE_JIT="1")
    assert found.split() == [str(value) for value in fuzz(4, 4, 5)]


@pytest.mark.slow
def test_bounds_hold(tmp_path: Path) -> None:
    # The cache's key does not tell checked code from unchecked code, so this process gets a folder of its own.
    environment = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    found = run(["-m", "tests.common.fuzz_features", "72", "12", "150"], **environment)
    assert found.split() == [str(value) for value in fuzz(72, 12, 150)]


@njit  # not kept: numba itself would not load the kernels that kept code refers to (common/kernel_code.py)
def _work(state: Any, history: Any, length: int, options: Any, outputs: Any, area: Any, scratch: Any, n: int) -> None:
    planes, packed, global_inputs = outputs
    for _ in range(n):
        for age in range(3):
            state["ladder_known"][age] = 0
        encode(state, history, length, options, planes, global_inputs, scratch)
        encode_packed(state, history, length, options, packed, global_inputs, scratch)
        score(state, area, scratch["area"])
        all_pass_alive(state, area, scratch["area"])


def test_nothing_is_allocated() -> None:
    game = Game(GameStart(9, 9))
    for vertex in ["E5", "E6", "D6", "F5", "D5", "F4", "C3", "D7", "C7", "D8", "pass", "F6"]:
        game.play(vertex)
    planes = np.zeros((features.NUM_PLANES, 9, 9), np.float32)
    packed = np.zeros((features.NUM_PLANES, packed_bytes(9)), np.uint8)
    outputs = (planes, packed, np.zeros(features.NUM_GLOBAL_INPUTS, np.float32))
    area = np.zeros(NUM_POINTS, np.int8)
    scratch = features.new_scratch()
    _work(game.state, game.history, 9, OPTIONS, outputs, area, scratch, 1)
    were_enabled = _nrt_python.memsys_stats_enabled()
    _nrt_python.memsys_enable_stats()
    try:
        allocations = []
        for n in (1, 50):
            before = rtsys.get_allocation_stats()  # type: ignore[no-untyped-call]
            _work(game.state, game.history, 9, OPTIONS, outputs, area, scratch, n)
            after = rtsys.get_allocation_stats()  # type: ignore[no-untyped-call]
            allocations.append((after.alloc - before.alloc, after.mi_alloc - before.mi_alloc))
    finally:
        if not were_enabled:
            _nrt_python.memsys_disable_stats()
    assert allocations[0] == allocations[1]  # the call itself wraps its arrays, however much it does
