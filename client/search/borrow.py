"""Arrays without reference counts for the inside of a kernel.

Compiled code counts references to an array whenever it is passed on or viewed, atomically; in kernels that hand a
dozen arrays from function to function this took half the time of a playout. A kernel that is called from Python may
do without: its caller holds every array until it returns. So the kernels of a round take `borrowed` copies of their
tuples first. A borrowed array must not be returned or kept.
"""

from __future__ import annotations

from typing import Any, TypeVar

from numba.core import cgutils, types
from numba.extending import intrinsic, overload
from numba.np import arrayobj

T = TypeVar("T")

_make_array: Any = arrayobj.make_array
_null_of_type: Any = cgutils.get_null_value


def borrowed(value: T) -> T:
    """``value``, an array or a (named) tuple of arrays, numbers and such tuples, whose arrays own nothing.

    As Python: itself.
    """
    return value


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The LLVM value of type ``kind``, without the references of its arrays to their memory's owner."""
    if isinstance(kind, types.BaseTuple):
        kinds: Any = kind
        members = [
            _without_owner(context, builder, kinds[index], builder.extract_value(value, index))
            for index in range(len(kinds))
        ]
        return context.make_tuple(builder, kind, members)
    if not isinstance(kind, types.Array):
        return value
    array = _make_array(kind)(context, builder, value)
    array.meminfo = _null_of_type(array.meminfo.type)
    array.parent = _null_of_type(array.parent.type)
    return array._getvalue()


def _type_and_generator(typing_context: Any, value: Any) -> Any:
    """For numba: the signature of `_borrow` for an argument of type ``value``, and what generates its code."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _without_owner(context, builder, signature.args[0], arguments[0])

    return value(value), generate


_borrow: Any = intrinsic(_type_and_generator)


@overload(borrowed)
def _compiled_borrowed(value: Any) -> Any:
    def implementation(value: Any) -> Any:
        return _borrow(value)

    return implementation
