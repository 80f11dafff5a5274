"""NamedTuples of arrays that kernels hand on as one pointer.

Numba passes a tuple by value: a Forest of 19 arrays is some 180 words, copied to the stack at every call that is not
inlined, and most of the code of a small kernel is that copying. A class under `by_reference` is laid out once, when a
kernel is called from Python, and what goes from kernel to kernel is the address. Kernels read it as they would the
tuple (``forest.nodes``), but can neither make nor return one. Without a compiler it is the tuple that it is.

Knows numba's types and how it lays values out, nothing of what the tuples hold.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, lower_getattr_generic, register_model, typeof_impl, unbox

_Class = TypeVar("_Class", bound=type[Any])

# of numba's own, which are not all typed
_Type: Final[Any] = types.Type
_Primitive: Final[Any] = models.PrimitiveModel
_Attributes: Final[Any] = AttributeTemplate
_Native: Final[Any] = NativeValue
_layout: Final[Any] = cgutils
_ir: Final[Any] = ir
_types: Final[Any] = types
_typeof: Final[Any] = typeof_impl
_model: Final[Any] = register_model
_attributes: Final[Any] = infer_getattr
_lower: Final[Any] = lower_getattr_generic
_unbox: Final[Any] = unbox


class Reference(_Type):  # type: ignore[misc]
    """The type of a pointer to a tuple of type ``content``."""

    def __init__(self, content: Any) -> None:
        self.content = content
        super().__init__(name=f"Reference({content})")

    @property
    def key(self) -> Any:
        """What makes two types the same."""
        return self.content

    def field(self, name: str) -> int | None:
        """The index of a field, or None if there is none of that name."""
        fields = self.content.fields
        return fields.index(name) if name in fields else None


def by_reference(tuple_class: _Class) -> _Class:
    """Class decorator: kernels get a NamedTuple of that class as a pointer."""

    def type_of(value: Any, context: Any) -> Reference:
        parts = [_typeof(part, context) for part in value]
        return Reference(_types.BaseTuple.from_types(parts, tuple_class))

    _typeof.register(tuple_class)(type_of)
    return tuple_class


@_model(Reference)
class _ReferenceModel(_Primitive):  # type: ignore[misc]
    def __init__(self, manager: Any, reference: Reference) -> None:
        content = manager.lookup(reference.content).get_value_type()
        super().__init__(manager, reference, content.as_pointer())


@_attributes
class _ReferenceAttributes(_Attributes):  # type: ignore[misc]
    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> Any:
        """The type of the field ``name``."""
        index = reference.field(name)
        return None if index is None else reference.content[index]


def _load(builder: Any, address: Any) -> Any:
    """The value at ``address``, part by part, so that parts which nobody asks for are not loaded.

    Nothing changes a tuple once it is laid out, and the compiler is told so: it need not load again after a store.
    """
    kind = address.type.pointee
    if isinstance(kind, ir.LiteralStructType | ir.ArrayType):
        value = _ir.Constant(kind, _ir.Undefined)
        for index in range(len(kind)):
            part = _load(builder, _layout.gep_inbounds(builder, address, 0, index))
            value = builder.insert_value(value, part, index)
        return value
    value = builder.load(address)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


@_lower(Reference)
def _read_field(context: Any, builder: Any, reference: Reference, address: Any, name: str) -> Any:
    return _load(builder, _layout.gep_inbounds(builder, address, 0, reference.field(name)))


@_unbox(Reference)
def _lay_out(reference: Reference, value: Any, c: Any) -> Any:
    """Write the tuple to the stack of the function that Python calls, and give its address.

    The address goes through an instruction that the compiler cannot see through: a load told to be of what never
    changes must not be moved to before the stores.
    """
    native = c.unbox(reference.content, value)
    address = _layout.alloca_once_value(c.builder, native.value)
    same = _ir.FunctionType(address.type, [address.type])
    address = c.builder.asm(same, "", "=r,0,~{memory}", [address], side_effect=True)
    return _Native(address, is_error=native.is_error, cleanup=native.cleanup)
