"""The search as its users see it: a pool of slots, each of which searches one position at a time.

A pool owns the trees of its slots and one evaluation batch. Many games share one evaluator by one slot each; one game
that wants large batches takes a pool of one slot with several leaves. `SearchPool.step` is one round: every running
slot goes down its tree to a leaf, the leaves are evaluated together, the results are backed up. Two pools that
alternate (`descend` and `expand` of one while the evaluator works for the other) keep both processor and device busy.

Knows nothing of games as a whole: who plays, records or resigns is the caller's business. Specification: search.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from client.search.evaluation import Evaluator

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RootChildren:
    """The root's children in order of creation; C entries each, White's view."""

    points: npt.NDArray[np.int16]  # [C] the move, a point of common.go.points
    visits: npt.NDArray[np.int32]  # [C] visits through the root's edge
    weights: FloatArray  # [C]
    priors: FloatArray  # [C] noised policy
    utilities: FloatArray  # [C]
    win_losses: FloatArray  # [C] P(White wins) - P(White loses)
    no_results: FloatArray  # [C]
    score_means: FloatArray  # [C] points
    leads: FloatArray  # [C] points


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a finished search says of its root. White's view; node averages, not the pruned ones (search.md 12)."""

    visits: int
    weight: float
    utility: float
    win_loss: float
    no_result: float
    score_mean: float
    score_stdev: float
    lead: float
    raw_win_loss: float  # the raw evaluation of the root
    raw_no_result: float
    raw_score_mean: float
    raw_score_stdev: float
    raw_lead: float
    raw_policy: npt.NDArray[np.float32]  # [length ** 2 + 1] by position, -1 where illegal; no temperature, no noise
    noised_policy: npt.NDArray[np.float32]  # [length ** 2 + 1] as searched: with root temperature and noise
    raw_policy_entropy: float  # nats
    policy_entropy: float  # of noised_policy, nats
    search_entropy: float  # of the search policy (play-selection values), nats
    policy_surprise: float  # KL(search policy || noised_policy), nats
    children: RootChildren


class SearchPool:
    """Searches in ``slots`` slots through one evaluator.

    Usage::

        pool = SearchPool(evaluator, slots=64, max_visits=600)
        pool.start(slot, state, history, parameters=record, visits=600, seed=seed)
        while True:
            for slot in pool.step():
                result = pool.result(slot)
                point = pool.choose_move(slot, lcb=False)
                target = pool.policy_target(slot)
                ...                                     # play, record, pool.start(slot, ...) again

    Args:
        evaluator: whatever satisfies `client.search.evaluation.Evaluator`.
        slots: number of searches that can run at once.
        max_visits: the largest ``visits`` a search may ask for; fixes the memory.
        leaves: how many leaves one slot may have under evaluation at once (virtual losses keep them apart).
    """

    def __init__(self, evaluator: Evaluator, *, slots: int, max_visits: int, leaves: int = 1) -> None: ...

    def start(
        self,
        slot: int,
        state: np.void,
        history: np.void,
        *,
        parameters: np.void,
        visits: int,
        seed: int,
        keep_tree: bool = False,
    ) -> None:
        """Begin a search of ``state`` (a STATE record, copied with its HISTORY) in a slot that is not running.

        ``parameters`` is a record made by `client.search.parameters.to_record`; a cheap search of self-play passes a
        record made with `client.search.parameters.without_exploration`. ``seed`` (64 bits) fixes every random draw of
        this search, so the result does not depend on the slot or on what else runs. With ``keep_tree`` the slot's
        tree, moved on by `advance`, is searched further and its visits count.
        """

    def descend(self) -> int:
        """Walk every running slot to its leaves and encode them into `batch`; returns the rows to evaluate."""

    def evaluate(self) -> None:
        """Run the evaluator over the rows that the last `descend` filled."""

    def expand(self) -> list[int]:
        """Back up what `evaluate` found; returns the slots whose search is now finished."""

    def step(self) -> list[int]:
        """`descend`, `evaluate`, `expand`."""

    def running(self) -> int:
        """Number of slots whose search is under way."""

    def stop(self, slot: int) -> None:
        """End a slot's search as it stands; the result so far may be read."""

    def result(self, slot: int) -> SearchResult:
        """Values, policies and children of a finished search (copies)."""

    def choose_move(self, slot: int, *, lcb: bool | None = None) -> int:
        """Draw the move to play (a point) from the play-selection values at the temperature of the turn.

        ``lcb`` overrides the parameter ``use_lcb_for_selection``: self-play chooses without, though targets use it.
        """

    def policy_target(self, slot: int) -> FloatArray:
        """Play-selection values by position, [length ** 2 + 1], largest at least 10 (search.md 11)."""

    def play_selection_values(self, slot: int, *, lcb: bool | None = None, scale_max_to_at_least: float = 0.0) -> FloatArray:
        """Play-selection values of the root's children in order of creation (search.md 10)."""

    def advance(self, slot: int, point: int) -> bool:
        """Make the child of ``point`` the root, so that the next `start` may keep its tree; False if there is none."""
