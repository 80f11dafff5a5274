"""Sparse and dense factors against each other and against a plain inverse, on graphs of every kind."""

from __future__ import annotations

import numpy as np
import pytest

from common import factors
from common.factors import Floats, Ints, factored

Edges = tuple[Ints, Ints, Floats]


def tree(nodes: int, rng: np.random.Generator) -> Edges:
    """Each node with an earlier one, so that all are connected."""
    second = np.array([rng.integers(0, node) for node in range(1, nodes)])
    return np.arange(1, nodes), second, rng.uniform(0.1, 5.0, nodes - 1)


def chain(nodes: int, rng: np.random.Generator) -> Edges:
    return np.arange(1, nodes), np.arange(nodes - 1), rng.uniform(0.1, 5.0, nodes - 1)


def with_more(edges: Edges, extra: int, rng: np.random.Generator) -> Edges:
    """Further edges anywhere, each pair once."""
    nodes = int(edges[0].max()) + 1
    known = set(zip(edges[0].tolist(), edges[1].tolist(), strict=True))
    while len(known) < len(edges[0]) + extra:
        a, b = rng.integers(0, nodes, 2).tolist()
        if a != b:
            known.add((max(a, b), min(a, b)))
    pairs = np.array(sorted(known))
    return pairs[:, 0], pairs[:, 1], rng.uniform(0.1, 5.0, len(pairs))


def laplacian(nodes: int, edges: Edges) -> Floats:
    matrix = np.zeros((nodes, nodes))
    for a, b, weight in zip(*edges, strict=True):
        matrix[[a, b], [a, b]] += weight
        matrix[[a, b], [b, a]] -= weight
    return matrix[1:, 1:]


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(("nodes", "extra"), [(2, 0), (3, 1), (9, 0), (40, 15), (150, 0), (150, 300), (60, 1600)])
@pytest.mark.parametrize("kind", [tree, chain])
def test_both_factors_are_the_plain_inverse(
    monkeypatch: pytest.MonkeyPatch, is_sparse: bool, nodes: int, extra: int, kind: object
) -> None:
    monkeypatch.setattr(factors, "DENSE_UP_TO", 0 if is_sparse else 10_000)
    monkeypatch.setattr(factors, "CROWDED", 10.0)
    rng = np.random.default_rng(nodes + extra)
    edges = with_more((chain if kind is chain else tree)(nodes, rng), extra, rng)
    inverse = np.linalg.inv(laplacian(nodes, edges))
    factor = factored(nodes, *edges)
    assert type(factor).__name__ == ("_Sparse" if is_sparse else "_Dense")
    np.testing.assert_allclose(factor.inverse_diagonal(), np.diag(inverse), rtol=1e-9)
    right = rng.normal(size=nodes - 1)
    np.testing.assert_allclose(factor.solve(right), inverse @ right, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("extra", "name"), [(0, "_Sparse"), (1500, "_Dense"), (8000, "_Dense")])
def test_graphs_whose_factor_is_full_are_dense(extra: int, name: str) -> None:
    rng = np.random.default_rng(1)
    edges = with_more(chain(300, rng), extra, rng)
    assert type(factored(300, *edges)).__name__ == name


def test_a_graph_in_two_pieces_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = np.array([1, 3]), np.array([0, 2]), np.array([1.0, 1.0])
    with pytest.raises((np.linalg.LinAlgError, ArithmeticError)):
        factored(4, *edges).inverse_diagonal()
