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
from numba.np.arrayobj import make_array

T = TypeVar("T")


def borrowed(value: T) -> T:
    """``value``, an array or a (named) tuple of arrays and numbers, whose arrays own nothing. As Python: itself."""
    return value


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The LLVM value of a member of type ``kind``, without its reference to the memory's owner."""
    if not isinstance(kind, types.Array):
        return value
    array = make_array(kind)(context, builder, value)
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    return array._getvalue()


@intrinsic
def _borrow(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        if not isinstance(kind, types.BaseTuple):
            return _without_owner(context, builder, kind, arguments[0])
        members = [
            _without_owner(context, builder, member, builder.extract_value(arguments[0], index))
            for index, member in enumerate(kind)
        ]
        return context.make_tuple(builder, kind, members)

    return value(value), generate


@overload(borrowed)
def _compiled_borrowed(value: Any) -> Any:
    def implementation(value: Any) -> Any:
        return _borrow(value)

    return implementation
