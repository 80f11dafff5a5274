"""How good a net is on recorded rows: mean losses, and the paired comparison of two nets.

Knows nets and rows, not where they come from. No gradients, no augmentation but full history; norms in evaluation mode.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from common.rows import Rows
from nets.architecture.model import Net
from nets.data.targets import Targets, make_batch, require_inputs_of_rows
from nets.training.losses import Losses, Recipe

BATCH: Final = 256
"""Rows that are measured at once."""
_MOST_TERM: Final = 1e9
"""Of any term on any row, without the recipe's coefficient; what is beyond says nothing of a net."""


@dataclass(frozen=True)
class RowLosses:
    """Loss terms of every row: ``values`` and ``weights`` [T, N], terms in the order of ``names``."""

    names: tuple[str, ...]
    values: Tensor
    weights: Tensor

    def means(self) -> dict[str, float]:
        """Weighted mean of each term; absent where nothing has weight."""
        sums, weights = (self.values * self.weights).sum(dim=1), self.weights.sum(dim=1)
        return {
            name: float(total / weight)
            for name, total, weight in zip(self.names, sums, weights, strict=True)
            if weight > 0
        }

    def is_sound(self) -> Tensor:
        """Whether all terms of a row are finite, and none is absurd; bool [N]."""
        return ((self.values * self.weights).abs() <= _MOST_TERM).all(dim=0)

    def of(self, kept: Tensor) -> RowLosses:
        """Those of the rows where ``kept``, bool [N], says so."""
        return RowLosses(self.names, self.values[:, kept], self.weights[:, kept])

    def sound(self) -> tuple[RowLosses, int]:
        """Without the rows that are not sound; and how many those are."""
        kept = self.is_sound()
        return self.of(kept), int((~kept).sum())


def row_losses(
    net: Net,
    rows: Rows,
    recipe: Recipe,
    *,
    trained: Collection[str] | None = None,
    batch: int = BATCH,
    device: torch.device | str = "cpu",
) -> RowLosses:
    """The loss terms of ``recipe`` that ``net`` has, for each of ``rows``, of which there must be one.

    Terms that read other outputs than the ``trained`` ones are left out (None: all outputs are trained).
    """
    return joined(list(row_losses_in_parts(net, rows, recipe, trained=trained, batch=batch, device=device)))


def row_losses_in_parts(
    net: Net,
    rows: Rows,
    recipe: Recipe,
    *,
    trained: Collection[str] | None = None,
    batch: int = BATCH,
    device: torch.device | str = "cpu",
) -> Iterator[RowLosses]:
    """`row_losses`, ``batch`` rows after the other. ValueError for a net that has other inputs than rows."""
    require_inputs_of_rows(net.config)
    losses = Losses(net.config, recipe, device=device, trained=trained)
    net = net.to(device).eval()
    edge = rows.largest_side()
    for first in range(0, rows.count, batch):
        part = make_batch(rows.take(slice(first, first + batch)), edge=edge).to(torch.device(device))
        targets = Targets(part)
        with torch.no_grad():
            outputs = net(part.planes.float(), part.global_inputs, full=part.full)[0]
            values = torch.stack(losses.formulas(outputs, targets)).double().cpu()
            weights = losses.term_weights(targets).double().cpu()
        yield RowLosses(losses.names, values, weights)


def joined(parts: Sequence[RowLosses]) -> RowLosses:
    """All rows of ``parts``, at least one, which have the same terms."""
    values, weights = (torch.cat([getattr(part, name) for part in parts], dim=1) for name in ("values", "weights"))
    return RowLosses(parts[0].names, values, weights)


@dataclass(frozen=True)
class Comparison:
    """One term of two nets on the same rows."""

    name: str
    first: float
    second: float
    difference: float
    """Second minus first; negative where the second is better."""
    standard_error: float
    """Of the difference, rows taken as independent (rows of one game are not quite)."""


def sound_in_both(first: RowLosses, second: RowLosses) -> tuple[RowLosses, RowLosses, int]:
    """Of two nets on the same rows, without the rows that are not sound in both; and how many those are."""
    kept = first.is_sound() & second.is_sound()
    return first.of(kept), second.of(kept), int((~kept).sum())


def compare(first: RowLosses, second: RowLosses) -> list[Comparison]:
    """Terms that both have, in the order of ``first``."""
    shared = [name for name in first.names if name in second.names]
    one, other = first.means(), second.means()
    found = []
    for name in shared:
        if name not in one:
            continue
        here, there = first.names.index(name), second.names.index(name)
        weights = first.weights[here]
        difference = second.values[there] - first.values[here]
        mean = float((difference * weights).sum() / weights.sum())
        spread = float((weights**2 * (difference - mean) ** 2).sum())
        found.append(Comparison(name, one[name], other[name], mean, math.sqrt(spread) / float(weights.sum())))
    return found


def has_caught_up(
    follower: Sequence[dict[str, float]], leader: Sequence[dict[str, float]], *, margin: float = 0.0
) -> bool:
    """Whether a larger net's recent mean losses have reached the current net's: time to switch (training.md 9).

    Both lists hold means of the same recent reports, by term. Policy and value must both be at most ``margin`` above;
    of trainings without one of them the other counts, without both the total.
    """
    if not follower or not leader:
        return False
    trained = [term for term in ("policy", "value") if all(term in report for report in (*follower, *leader))]
    return all(_mean(follower, term) <= _mean(leader, term) + margin for term in trained or ["total"])


def _mean(reports: Sequence[dict[str, float]], term: str) -> float:
    return sum(report[term] for report in reports) / len(reports)
