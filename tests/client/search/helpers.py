"""Parameters of the specification's columns, and small arrays in the shape the search's kernels take."""

from __future__ import annotations

from typing import Any

import numpy as np

from client.search.parameters import to_record
from client.search.play_selection import Children, new_children
from client.search.tree import EVALUATED, NODE
from client.search.values import Values
from common.go.points import WHITE
from common.parameters import SearchParameters

PLAIN: dict[str, Any] = {
    "root_ending_bonus_points": 0.0,
    "root_prune_useless_moves": False,
    "subtree_value_bias_factor": 0.0,
}
"""What silence would switch on and the columns below, as the oracles of search.md 17, have not."""

SELFPLAY: dict[str, Any] = {
    "static_score_utility_factor": 0.05,
    "dynamic_score_utility_factor": 0.30,
    "dynamic_score_center_zero_weight": 0.25,
    "dynamic_score_center_scale": 0.5,
    "cpuct_exploration": 1.05,
    "cpuct_exploration_log": 0.28,
    "cpuct_utility_stdev_scale": 0.0,
    "fpu_reduction_max": 0.2,
    "root_fpu_reduction_max": 0.0,
    "fpu_parent_weight_by_visited_policy": True,
    "value_weight_exponent": 0.5,
    "use_noise_pruning": False,
    "root_policy_temperature_early": 1.5,
    "root_policy_temperature": 1.1,
    "root_desired_per_child_visits_coeff": 2.0,
    "use_lcb_for_selection": True,
    "use_non_buggy_lcb": True,
    "nn_randomize": False,
}
"""The self-play column of search.md 15 (set S of section 17), without noise and in symmetry 0."""

GTP: dict[str, Any] = {
    "static_score_utility_factor": 0.1,
    "dynamic_score_utility_factor": 0.3,
    "dynamic_score_center_zero_weight": 0.2,
    "dynamic_score_center_scale": 0.75,
    "cpuct_exploration": 1.0,
    "cpuct_exploration_log": 0.45,
    "cpuct_utility_stdev_scale": 0.85,
    "fpu_reduction_max": 0.2,
    "root_fpu_reduction_max": 0.1,
    "fpu_parent_weight_by_visited_policy": True,
    "value_weight_exponent": 0.25,
    "use_noise_pruning": True,
    "use_lcb_for_selection": True,
    "use_non_buggy_lcb": True,
    "nn_randomize": False,
}
"""The GTP column (set G), in symmetry 0."""


def record(base: dict[str, Any] | None = None, **changes: Any) -> np.void:
    """A parameter record: the defaults, `PLAIN` and ``base`` over them, ``changes`` over all."""
    made: np.void = to_record(SearchParameters(max_visits=1000, **{**PLAIN, **(base or {}), **changes}))
    return made


def node(**fields: Any) -> np.void:
    """An evaluated NODE with White to move and the given fields."""
    made: np.void = np.zeros(1, NODE)[0]
    made["status"] = EVALUATED
    made["to_move"] = WHITE
    for name, value in fields.items():
        made[name] = value
    return made


def vector(**named: float) -> list[float]:
    """A node's values in the order of `client.search.values.Values`; 0 for what is not named."""
    unknown = named.keys() - set(Values._fields)
    assert not unknown
    return [named.get(name, 0.0) for name in Values._fields]


def children(
    priors: list[float], visits: list[int], utilities: list[float], utility_sqs: list[float]
) -> tuple[Children, int]:
    """A table of children whose weights are their visits."""
    count = len(priors)
    table = new_children(count)
    table.positions[:] = range(count)
    table.priors[:] = priors
    table.visits[:] = visits
    table.weights[:] = visits
    table.weight_sqs[:] = visits
    table.utilities[:] = utilities
    table.utility_sqs[:] = utility_sqs
    return table, count
