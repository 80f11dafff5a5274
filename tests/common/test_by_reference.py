"""Tuples of arrays that kernels get as a pointer (`common.by_reference`): what a kernel reads is what Python gave."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from numba import config, typeof
from numba.core.errors import TypingError

from common.by_reference import Reference, by_reference
from common.kernels import njit

_config: Any = config  # not typed
_type_of: Any = typeof
compiled = pytest.mark.skipif(bool(_config.DISABLE_JIT), reason="there are no types without a compiler")


@by_reference
class Inner(NamedTuple):
    numbers: npt.NDArray[np.float64]  # [N]


@by_reference
class Outer(NamedTuple):
    scale: float
    is_on: bool
    amount: int
    table: npt.NDArray[np.int32]  # [N, 2]
    inner: Inner


class Plain(NamedTuple):
    numbers: npt.NDArray[np.float64]  # [N]


@njit(cache=False, nogil=True)
def _write(outer: Outer, row: int) -> None:
    for column in range(outer.table.shape[1]):
        outer.table[row, column] += outer.amount
    outer.inner.numbers[row] *= outer.scale if outer.is_on else 1.0


@njit(cache=False, nogil=True)
def write_all(outer: Outer) -> float:
    """Changes every row by a kernel of its own; the sum of what is in ``inner`` then."""
    total = 0.0
    for row in range(outer.table.shape[0]):
        _write(outer, row)
        total += outer.inner.numbers[row]
    return total


@njit(cache=False, nogil=True)
def unknown_field(inner: Any) -> int:
    """Asks for what is not there."""
    return int(inner.nothing)


def outer_of(rows: int, *, is_on: bool) -> Outer:
    """With numbers that tell where they stand."""
    table = np.arange(2 * rows, dtype=np.int32).reshape(rows, 2)
    return Outer(scale=0.5, is_on=is_on, amount=7, table=table, inner=Inner(np.arange(rows, dtype=np.float64)))


@pytest.mark.parametrize("is_on", [True, False])
@pytest.mark.parametrize("rows", [0, 1, 5])
def test_kernels_read_and_write_the_arrays_that_python_holds(rows: int, is_on: bool) -> None:
    outer = outer_of(rows, is_on=is_on)
    expected = np.arange(rows) * (0.5 if is_on else 1.0)
    assert write_all(outer) == expected.sum()
    assert np.array_equal(outer.inner.numbers, expected)
    assert np.array_equal(outer.table, np.arange(2 * rows).reshape(rows, 2) + 7)


def test_each_call_is_given_its_own_tuple() -> None:
    """One that is laid out on the stack of one call is not seen by the next."""
    totals = [write_all(outer_of(rows, is_on=True)) for rows in (2, 9, 4, 2)]
    assert totals == [0.5, 18.0, 3.0, 0.5]


@compiled
def test_kernels_have_it_as_one_pointer_and_other_tuples_as_they_are() -> None:
    kind = _type_of(outer_of(1, is_on=True))
    assert isinstance(kind, Reference)
    assert isinstance(kind.content[kind.field("inner")], Reference)
    assert not isinstance(_type_of(Plain(np.zeros(1))), Reference)
    assert _type_of(Inner(np.zeros(3))) == _type_of(Inner(np.ones(5)))
    assert _type_of(Inner(np.zeros(3))) != _type_of(Inner(np.zeros((3, 3))[:, 0]))  # laid out in another way


@compiled
def test_a_field_that_is_not_there_is_an_error_at_compilation() -> None:
    with pytest.raises(TypingError, match="nothing"):
        unknown_field(Inner(np.zeros(1)))
