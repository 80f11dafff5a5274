"""The machine code of a kernel is made once, and the kernels that call it refer to it.

By itself numba links all that a function reaches into its library, optimises it there once more and makes machine code
of it again, so that each step of a tree of calls costs as much as all that lies below it. Here a library shows its
functions to callers for inlining only (LLVM's ``available_externally``): what is not inlined is called where it is.

The code of a kernel thus needs that of others to be there, and a kept kernel brings theirs along, as `Part`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.environment import lookup_environment

# of numba's own, which are not all typed
_Library: Final[Any] = JITCodeLibrary
_Compiler: Final[Any] = Compiler
_lookup_environment: Final[Any] = lookup_environment

_USED: Final = (
    "_codegen",
    "_compiled_object",
    "_ensure_finalized",
    "_final_module",
    "_get_module_for_linking",
    "_linking_libraries",
    "_shared_module",
)
"""What is used of a library of numba; where one has gone, numba's own way is left alone."""
_ENVIRONMENT: Final = "_ZN08NumbaEnv"
"""So begin the names of the variables that point to what numba calls the environment of a function."""


class Part(NamedTuple):
    """The code of one kernel, as its callers need it."""

    symbol: str  # what they call
    code: bytes  # an object file
    environments: tuple[Any, ...]  # that its variables point to


class KernelLibrary(_Library):  # type: ignore[misc]
    """The code of one kernel, without that of the kernels that it calls."""

    _shared_module: Any

    @property
    def has_dynamic_globals(self) -> bool:
        """Whether it holds an address in this process, so that it cannot be kept."""
        return bool(super().has_dynamic_globals) or any(each.has_dynamic_globals for each in self._linking_libraries)

    def _get_module_for_linking(self) -> Any:
        """What callers may inline."""
        self._ensure_finalized()
        if self._shared_module is None:
            shown = self._final_module.clone()
            for function in shown.functions:
                if _is_own(function):
                    function.linkage = "available_externally"
            self._shared_module = shown
        return self._shared_module


class KernelCompiler(_Compiler):  # type: ignore[misc]
    """Puts what it compiles into a `KernelLibrary`, if numba's has all that this needs."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        if self.state.library is None:
            library = KernelLibrary(self.state.targetctx.codegen(), func.__qualname__)
            library.enable_object_caching()
            if all(hasattr(library, name) for name in _USED):
                self.state.library = library
        return super().compile_extra(func)


_with_below: Final[WeakKeyDictionary[Any, dict[str, Part]]] = WeakKeyDictionary()
"""By library: the parts that a caller needs, by symbol, callees before callers."""
_loaded: Final[dict[str, Part]] = {}
"""What came from files; environments live as long as this does."""


def parts_below(library: Any) -> list[Part]:
    """What a compiled library needs beside its own code, callees before callers."""
    return list(_below(library).values())


def load(parts: Iterable[Part], target_context: Any) -> None:
    """Make code ready for callers, callees before callers."""
    codegen = target_context.codegen()
    nothing = KernelLibrary(codegen, "nothing")._final_module.as_bitcode()  # to inline: it is only called
    for part in parts:
        if part.symbol not in _loaded:
            codegen.unserialize_library((part.symbol, "object", (part.code, nothing)))
            for environment in part.environments:
                codegen.set_env(environment.env_name, environment)
            _loaded[part.symbol] = part


def note_loaded(library: Any, own: Part, below: Iterable[Part]) -> None:
    """A kernel was read from its files, and may be called by others."""
    _loaded[own.symbol] = own
    _with_below[library] = {part.symbol: part for part in (*below, own)}


def _below(library: Any) -> dict[str, Part]:
    parts: dict[str, Part] = {}
    for each in library._linking_libraries:
        parts |= _with_own(each)
    return parts


def _with_own(library: Any) -> dict[str, Part]:
    parts = _with_below.get(library)
    if parts is None:
        parts = _below(library)
        if isinstance(library, KernelLibrary):
            module = library._final_module
            symbol = next(function.name for function in module.functions if _is_own(function))
            parts[symbol] = Part(symbol, library._compiled_object, tuple(_environments(module)))
        _with_below[library] = parts
    return parts


def _is_own(function: Any) -> bool:
    """Whether a function of a library is the kernel itself; others are numba's helpers, of which each has its copy."""
    return bool(function.linkage.name == "external" and not function.is_declaration)


def _environments(module: Any) -> Iterable[Any]:
    for variable in module.global_variables:
        if variable.name.startswith(_ENVIRONMENT):
            environment = _lookup_environment(variable.name)
            if environment is not None and environment.can_cache():
                yield environment
