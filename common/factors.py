"""Symmetric positive definite systems over a graph: solved, and the diagonal of their inverse.

The matrix of a graph whose node 0 is fixed: over the other nodes, each edge of weight w adds w to the diagonal at both
its ends and -w beside it. Small graphs, and those whose factor would have few zeros, are factored as dense matrices:
where anybody plays anybody, ten opponents each are enough for that. The others, where networks play those that came
soon before them, keep their zeros: L D Lᵀ by SuperLU in an order of least fill, and of the inverse only those entries
are computed that the diagonal needs (Takahashi, Fagan & Chin 1973: the entries of the inverse where L has some follow
from those of later columns).
"""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse  # type: ignore[import-untyped]
from scipy.sparse.csgraph import reverse_cuthill_mckee  # type: ignore[import-untyped]
from scipy.sparse.linalg import splu  # type: ignore[import-untyped]

DENSE_UP_TO: Final = 256
"""Nodes up to which a dense matrix is the faster one, whatever it holds."""
CROWDED: Final = 0.15
"""Share of the entries of a factor that are not zero, from which on a dense one is the faster, by estimate."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Factor(Protocol):
    """A factored matrix of the nodes 1 to N - 1."""

    def solve(self, right: Floats) -> Floats:
        """x with A x = ``right``, both [N - 1]."""

    def inverse_diagonal(self) -> Floats:
        """The diagonal of the inverse, [N - 1]."""


def factored(nodes: int, first: Ints, second: Ints, weight: Floats) -> Factor:
    """Factor the matrix of a graph of at least two ``nodes``, connected by its edges with a positive ``weight``.

    ``first`` and ``second`` are the ends of its edges, each pair at most once.
    """
    size = nodes - 1
    diagonal = sums(first, weight, nodes) + sums(second, weight, nodes)
    inner = (first > 0) & (second > 0)
    rows, columns, beside = first[inner] - 1, second[inner] - 1, -weight[inner]
    if size <= DENSE_UP_TO or _filled(size, rows, columns) > CROWDED:
        matrix = np.zeros((size, size))
        matrix[np.maximum(rows, columns), np.minimum(rows, columns)] = beside
        np.fill_diagonal(matrix, diagonal[1:])
        return _Dense(matrix)
    everywhere = np.arange(size)
    matrix = sparse.csc_matrix(
        (
            np.concatenate([beside, beside, diagonal[1:]]),
            (np.concatenate([rows, columns, everywhere]), np.concatenate([columns, rows, everywhere])),
        ),
        shape=(size, size),
    )
    return _Sparse(matrix)


def sums(places: Ints, values: Floats, count: int) -> Floats:
    """What falls on each of ``count`` places, summed up."""
    found: Floats = np.bincount(places, values, count).astype(np.float64)
    return found


def _filled(size: int, rows: Ints, columns: Ints) -> float:
    """Share of the lower triangle that a factor fills at most: what lies within the profile in Cuthill's order."""
    ones = np.ones(2 * len(rows))
    graph = sparse.csr_matrix((ones, (np.concatenate([rows, columns]), np.concatenate([columns, rows]))), (size, size))
    place = np.empty(size, dtype=np.int64)
    place[reverse_cuthill_mckee(graph, symmetric_mode=True)] = np.arange(size)
    first = np.arange(size)
    np.minimum.at(first, np.maximum(place[rows], place[columns]), np.minimum(place[rows], place[columns]))
    return float((np.arange(size) - first).sum()) / (size * size / 2)


class _Dense:
    """By Cholesky's factor; ``matrix`` holds the lower triangle, and is given up."""

    def __init__(self, matrix: Floats) -> None:
        self._lower = linalg.cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, right: Floats) -> Floats:
        found: Floats = linalg.cho_solve((self._lower, True), right, check_finite=False)
        return found

    def inverse_diagonal(self) -> Floats:
        return np.diag(_inverse(self._lower)).copy()


class _Sparse:
    """By L D Lᵀ of the matrix in SuperLU's order."""

    def __init__(self, matrix: sparse.csc_matrix) -> None:
        options = {"SymmetricMode": True}
        self._factor = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
        if not np.array_equal(self._factor.perm_r, self._factor.perm_c):
            raise ArithmeticError("the matrix is not positive definite")

    def solve(self, right: Floats) -> Floats:
        found: Floats = self._factor.solve(right)
        return found

    def inverse_diagonal(self) -> Floats:
        lower = self._factor.L.tocsc()
        lower.sort_indices()
        in_order = _selected_inverse(lower, self._factor.U.diagonal())
        found: Floats = in_order[self._factor.perm_c]
        return found


def _selected_inverse(lower: sparse.csc_matrix, pivots: Floats) -> Floats:
    """The diagonal of (L D Lᵀ)⁻¹ with L of unit diagonal, [size].

    From the last column to the first. The rows of a column below its diagonal are, but for the first, rows of the
    column of that first one, its parent in the elimination tree: so each column takes its part of its parent's *front*,
    the inverse at the parent and the parent's rows, and adds itself. The last columns are full mostly; their front is
    inverted at once.
    """
    size, starts, rows_of, values = len(pivots), lower.indptr, lower.indices, lower.data
    counts = np.diff(starts) - 1
    full = counts == size - 1 - np.arange(size)
    root = size - int(np.argmin(full[::-1])) if not full.all() else 0
    found = np.empty(size)
    trunk = lower[root:, root:].toarray() * np.sqrt(pivots[root:])
    root_front = _inverse(trunk)
    found[root:] = np.diag(root_front)
    parents = np.where(counts > 0, rows_of[np.minimum(starts[:-1] + 1, len(rows_of) - 1)], size)
    children = np.bincount(parents[:root], minlength=size + 1)
    fronts: dict[int, tuple[Ints, Floats]] = {}
    for column in range(root - 1, -1, -1):
        rows, below = rows_of[starts[column] + 1 : starts[column + 1]], values[starts[column] + 1 : starts[column + 1]]
        parent = int(parents[column])
        if parent >= root:
            places, front = rows - root, root_front
        else:
            there, front = fronts[parent]
            places = np.searchsorted(there, rows)
            children[parent] -= 1
            if not children[parent]:
                del fronts[parent]
        part = front[places[:, None], places]
        beside = -(part @ below)
        found[column] = 1.0 / pivots[column] - below @ beside
        if children[column]:
            own = np.empty((len(rows) + 1, len(rows) + 1))
            own[0, 0], own[0, 1:], own[1:, 0], own[1:, 1:] = found[column], beside, beside, part
            fronts[column] = (np.concatenate([[column], rows]), own)
    return found


def _inverse(lower: Floats) -> Floats:
    """The inverse of L Lᵀ, as a whole."""
    inverse, fault = linalg.lapack.dpotri(lower, lower=1)
    if fault:
        raise ArithmeticError("the matrix is not positive definite")
    whole: Floats = np.tril(inverse) + np.tril(inverse, -1).T
    return whole
