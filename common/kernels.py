"""How kernels are compiled: numba's ``njit``, kept in the folder of `common.kernel_cache` as far as one can be written.

Every kernel of ours is declared through this `njit`. numba's own looks for other folders where the chosen one fails,
among them the sources', in which kernels of older sources may lie, and raises where it finds none, where the disk is
full, and at a damaged file.

A kernel is compiled for Python and for other kernels separately, each when it is first called from there. What only
Python needs, the code that unpacks every array of the arguments from its Python object, is half of all code where
arguments are large tuples; most kernels are called from kernels alone, and go without.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, ClassVar, Final, TypeVar

import numba
from numba.core import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher

from common import kernel_cache
from common.kernel_code import KernelCompiler, Part, load, note_loaded, parts_below

_Function = TypeVar("_Function", bound=Callable[..., Any])

# of numba's own, which are not all typed
_Parts: Final[Any] = CompileResultCacheImpl
_Files: Final[Any] = FunctionCache
_Compiled: Final[Any] = CPUDispatcher
_compiler: Final[Any] = numba.njit
_types: Final[Any] = types


def njit(*, cache: bool, nogil: bool = False) -> Callable[[_Function], _Function]:
    """Decorator: compile a function when it is first called; it must not allocate, nor return an array.

    Numba's runtime, which counts references to arrays, is left out: two calls for each array that is passed on or
    viewed took half of a playout's time. Who calls a kernel holds the arrays that it gives until it returns. An
    allocation in a kernel is an error at compilation.

    Args:
        cache: keep what was compiled for later processes, if that is possible; if not, one line says so.
        nogil: let other threads of Python run meanwhile.
    """

    def decorate(function: _Function) -> _Function:
        kernel: Any = _compiler(nogil=nogil, _nrt=False)(function)
        if isinstance(kernel, Dispatcher):  # without a compiler it is the function itself
            inner: Any = _compiler(nogil=nogil, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
            options = kernel.targetoptions
            kernel = _Kernel(function, targetoptions=options, pipeline_class=KernelCompiler)
            kernel.inner = inner = _Inner(function, targetoptions=inner.targetoptions, pipeline_class=KernelCompiler)
            if cache:
                _keep(kernel, function, _Kept)
                _keep(inner, function, _KeptInner)
        compiled: _Function = kernel  # it is called as the function is
        return compiled

    return decorate


class _Inner(_Compiled):  # type: ignore[misc]
    """What other kernels call, compiled for numbers by their kind: not for every value and width."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What a call with arguments of such types is."""
        return super().get_call_template([_wide(arg) for arg in args], {name: _wide(kws[name]) for name in kws})


def _wide(kind: Any) -> Any:
    """The type that stands for one and its narrower ones: kernels compute in int64 whatever they are given."""
    kind = _types.unliteral(kind)
    is_narrow = isinstance(kind, _types.Integer) and kind.signed and kind.bitwidth < _types.intp.bitwidth
    return _types.intp if is_narrow else kind


class _Kernel(_Compiled):  # type: ignore[misc]
    """What Python calls; other kernels call ``inner``."""

    inner: Any

    @property
    def _numba_type_(self) -> Any:
        """What its name means in other kernels."""
        return types.Dispatcher(self.inner)


def _keep(kernel: Any, function: Callable[..., Any], kept: type[_Kept]) -> None:
    kernel_cache.tell_where_kernels_are()
    with contextlib.suppress(RuntimeError, OSError):  # no folder, or one that has gone: it is compiled each time
        kernel._cache = kept(function)


class _ChosenFolder(_Parts):  # type: ignore[misc]
    """How a kernel is written and read, with the code of the kernels that it calls."""

    _locator_classes: ClassVar = [UserProvidedCacheLocator]

    def reduce(self, data: Any) -> tuple[Any, list[Part]]:
        """What is written of a compiled kernel."""
        return super().reduce(data), parts_below(data.library)

    def rebuild(self, target_context: Any, payload: tuple[Any, list[Part]]) -> Any:
        """The compiled kernel of what was read."""
        own, below = payload
        load(below, target_context)
        compiled = super().rebuild(target_context, own)
        (_, _, (code, _)), *_ = own
        environments = (compiled.environment, *compiled.referenced_envs)
        note_loaded(compiled.library, Part(compiled.fndesc.llvm_func_name, code, environments), below)
        return compiled


class _Kept(_Files):  # type: ignore[misc]
    """The files of one function; what cannot be read or written is compiled."""

    _impl_class = _ChosenFolder

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for a signature; None if there is nothing that can be used."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling a damaged file may raise anything
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for a signature."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            self.disable()
            kernel_cache.tell_not_kept(f"{self.cache_path}: {getattr(error, 'strerror', None) or error}")


class _InnerNames(_ChosenFolder):
    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        return f"{super().get_filename_base(fullname, abiflags)}.inner"


class _KeptInner(_Kept):
    """The files of one function as other kernels call it."""

    _impl_class = _InnerNames
