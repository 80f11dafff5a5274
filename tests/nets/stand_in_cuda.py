"""A stand-in for the parts of torch.cuda that `nets.evaluation.backends` uses, on the processor.

What is put on a stream is done when somebody waits for it, the last moment, or at once, the first. A recorded graph
repeats the operations that were seen while it was recorded, on the same tensors. So it shows what a real device may
hide: memory written again while it is in use, results read before they are there, and graphs that depend on anything
but their inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Stream:
    """Work in the order in which it was asked for."""

    current: Stream | None = None
    at_once = False

    def __init__(self, device: torch.device | None = None) -> None:
        self.pending: list[Callable[[], object]] = []

    def put(self, work: Callable[[], object]) -> None:
        self.pending.append(work)
        if self.at_once:
            self.do_next()

    def do_next(self) -> None:
        with torch.inference_mode():
            self.pending.pop(0)()

    def synchronize(self) -> None:
        while self.pending:
            self.do_next()


class Event:
    """A mark on a stream."""

    def __init__(self, *, blocking: bool = False) -> None:
        self._stream: Stream | None = None
        self._passed = True

    def record(self, stream: Stream) -> None:
        def passed() -> None:
            self._passed = True

        self._stream, self._passed = stream, False
        stream.put(passed)

    def synchronize(self) -> None:
        assert self._stream is not None, "waits for nothing"
        while not self._passed:
            self._stream.do_next()


class Graph:
    """Operations and the tensors that they gave."""

    def __init__(self) -> None:
        self.steps: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], list[Tensor]]] = []

    def replay(self) -> None:
        assert Stream.current is not None
        Stream.current.put(self._run)

    def _run(self) -> None:
        for operation, arguments, options, given in self.steps:
            for tensor, again in zip(given, tensors(operation(*arguments, **options)), strict=True):
                tensor.copy_(again)


class Recording(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Writes all operations into a graph."""

    def __init__(self, graph: Graph, *, pool: object, stream: Stream) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.graph = graph
        assert not stream.pending, "recorded beside work under way"

    def __torch_dispatch__(self, operation: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
        given = operation(*arguments, **(options or {}))
        self.graph.steps.append((operation, arguments, options or {}, tensors(given)))
        return given


def tensors(tree: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


@contextmanager
def on(stream: Stream) -> Iterator[None]:
    before, Stream.current = Stream.current, stream
    try:
        yield
    finally:
        Stream.current = before


def pretend(monkeypatch: pytest.MonkeyPatch, *, at_once: bool) -> None:
    """Put the stand-ins in place until the test's end."""
    monkeypatch.setattr(Stream, "at_once", at_once)
    copy, empty = Tensor.copy_, torch.empty

    def copy_(goal: Tensor, source: Tensor, non_blocking: bool = False) -> Tensor:
        if non_blocking and Stream.current is not None:
            Stream.current.put(lambda: copy(goal, source))
            return goal
        return copy(goal, source)

    monkeypatch.setattr(Tensor, "copy_", copy_)
    monkeypatch.setattr(Tensor, "pin_memory", Tensor.clone)
    monkeypatch.setattr(torch, "empty", lambda *shape, pin_memory=False, **options: empty(*shape, **options))
    for name, stand_in in {
        "Stream": Stream,
        "Event": Event,
        "CUDAGraph": Graph,
        "graph": Recording,
        "stream": on,
        "device": lambda device: nullcontext(),
        "graph_pool_handle": lambda: 0,
        "get_device_name": lambda device: "a stand-in",
        "empty_cache": lambda: None,
    }.items():
        monkeypatch.setattr(torch.cuda, name, stand_in)
