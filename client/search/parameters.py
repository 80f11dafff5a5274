"""The search's parameters as one record that kernels read (search.md 15, names in snake case).

`common.parameter_classes.SearchParameters` is what a configuration says; `to_record` copies what the tree needs.
Limits of visits are not here: they are an argument of each search.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from common.go.basics import EMPTY
from common.kernels import njit
from common.parameters import SearchParameters

SEARCH_PARAMETERS: Final = np.dtype(
    [
        # -- limits --
        ("search_factor_after_one_pass", np.float64),
        ("search_factor_after_two_pass", np.float64),
        ("futile_visits_threshold", np.float64),
        ("min_playouts_per_thread", np.float64),  # per leaf under evaluation
        ("num_virtual_losses_per_thread", np.float64),  # weight of one playout under way
        # -- utility --
        ("win_loss_utility_factor", np.float64),
        ("static_score_utility_factor", np.float64),
        ("dynamic_score_utility_factor", np.float64),
        ("dynamic_score_center_zero_weight", np.float64),
        ("dynamic_score_center_scale", np.float64),  # times the board's edge
        ("no_result_utility_for_white", np.float64),
        # -- exploration --
        ("cpuct_exploration", np.float64),
        ("cpuct_exploration_log", np.float64),
        ("cpuct_exploration_base", np.float64),
        ("cpuct_utility_stdev_prior", np.float64),
        ("cpuct_utility_stdev_prior_weight", np.float64),
        ("cpuct_utility_stdev_scale", np.float64),
        ("fpu_reduction_max", np.float64),
        ("fpu_loss_prop", np.float64),
        ("fpu_parent_weight_by_visited_policy", np.bool_),
        ("fpu_parent_weight_by_visited_policy_pow", np.float64),
        ("fpu_parent_weight", np.float64),
        ("root_fpu_reduction_max", np.float64),
        ("root_fpu_loss_prop", np.float64),
        ("root_desired_per_child_visits_coeff", np.float64),
        ("root_ending_bonus_points", np.float64),
        ("root_prune_useless_moves", np.bool_),
        ("root_symmetry_pruning", np.bool_),
        ("wide_root_noise", np.float64),
        ("anti_mirror", np.bool_),
        # -- passing --
        ("conservative_pass", np.bool_),
        ("fill_dame_before_pass", np.bool_),
        ("enable_more_passing_hacks", np.bool_),
        # -- backing up --
        ("value_weight_exponent", np.float64),
        ("use_noise_pruning", np.bool_),
        ("noise_prune_utility_scale", np.float64),
        ("noise_pruning_cap", np.float64),
        ("use_uncertainty", np.bool_),
        ("uncertainty_coeff", np.float64),
        ("uncertainty_exponent", np.float64),
        ("uncertainty_max_weight", np.float64),
        ("subtree_value_bias_factor", np.float64),
        ("subtree_value_bias_weight_exponent", np.float64),
        ("subtree_value_bias_free_prop", np.float64),
        # -- positions that are met by several ways --
        ("use_graph_search", np.bool_),
        ("graph_search_rep_bound", np.int64),
        ("graph_search_catch_up_leak_prob", np.float64),
        # -- what the net is told --
        ("playout_doubling_advantage", np.float64),  # the other player is told its negative
        ("playout_doubling_advantage_pla", np.int8),  # whose it is; EMPTY: of the player to move at the root
        ("enable_passing_hacks", np.bool_),  # a pass that ends a lost game is hidden; none is almost certain
        ("ignore_pre_root_history", np.bool_),
        ("ignore_all_history", np.bool_),
        # -- policy --
        ("nn_randomize", np.bool_),  # else every evaluation is made in symmetry 0
        ("nn_policy_temperature", np.float64),
        ("policy_optimism", np.float64),
        ("root_policy_optimism", np.float64),
        ("root_noise_enabled", np.bool_),
        ("root_dirichlet_noise_total_concentration", np.float64),
        ("root_dirichlet_noise_weight", np.float64),
        ("root_dirichlet_noise_shaped", np.bool_),  # else spread evenly over the legal moves
        ("root_policy_temperature_early", np.float64),
        ("root_policy_temperature", np.float64),
        ("root_num_symmetries_to_sample", np.int64),
        # -- choice of the move --
        ("chosen_move_temperature_early", np.float64),
        ("chosen_move_temperature", np.float64),
        ("chosen_move_temperature_halflife", np.float64),  # turns on 19x19
        ("chosen_move_temperature_only_below_prob", np.float64),
        ("chosen_move_subtract", np.float64),
        ("chosen_move_prune", np.float64),
        ("use_lcb_for_selection", np.bool_),
        ("lcb_stdevs", np.float64),
        ("min_visit_prop_for_lcb", np.float64),
        ("use_non_buggy_lcb", np.bool_),
    ],
    align=True,
)


def to_record(parameters: SearchParameters) -> Any:
    """One SEARCH_PARAMETERS record with the values of ``parameters``."""
    names = SEARCH_PARAMETERS.names
    assert names is not None
    record = np.zeros((), SEARCH_PARAMETERS)
    for name in names:
        value = getattr(parameters, name)
        record[name] = EMPTY if value is None else value  # no player
    return record[()]


@njit(cache=True, nogil=True)
def copy_parameters(targets: npt.NDArray[np.void], slot: int, parameters: np.void) -> None:
    """Make ``targets[slot]`` of a table of SEARCH_PARAMETERS the same as ``parameters``.

    Where fields are read beside such a copy, LLVM would make it byte by byte, and take seconds to compile that.
    """
    targets[slot] = parameters


def without_exploration(parameters: SearchParameters) -> SearchParameters:
    """What a cheap search of target weight 0 uses: no noise, no temperature, no forced playouts (selfplay.md 7)."""
    return dataclasses.replace(
        parameters,
        root_noise_enabled=False,
        root_policy_temperature=1.0,
        root_policy_temperature_early=1.0,
        root_fpu_reduction_max=parameters.fpu_reduction_max,
        root_fpu_loss_prop=parameters.fpu_loss_prop,
        root_desired_per_child_visits_coeff=0.0,
        root_num_symmetries_to_sample=1,
    )
