"""Backends that prove themselves in a child process before they run in ours: a library that dies there dies alone.

What a library makes of a net is code that no Python guards: OpenVINO 2026.4.1 ended processes with SIGFPE while it
compiled a net with attention for bfloat16. So a way that is risky is gone by a child first: every batch size, with and
without masks, compiled and run once. The verdict counts for all nets of that architecture (`nets.evaluation.verdicts`),
since the code does not depend on the weights. Whether the numbers are right is not asked here but by
`nets.evaluation.comparison`.

Risky are the ways in 16 bits on a processor, and any other of OpenVINO's once one of them has died on that net. In
float32 alone it has died for others (its issues 33300, 35943), but so seldom that not every volunteer shall pay for the
proof: a note on disk says for how long a process is at it, and a process that finds the note of one that has died there
asks for the proof first. torch in float32 compiles nothing; in bfloat16 it is tried where OpenVINO has failed.
CUDA's libraries tell their errors as exceptions, and a child would need a second context on the card, which may have
the memory for one.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from nets.architecture.model import Net
from nets.evaluation import verdicts
from nets.evaluation.backends import Backend, BatchShape, Lane, OutOfMemory, Planes, Raw
from nets.evaluation.trial import Bounds, End, Ending, try_in_child

TIME_LIMIT_S: Final = 300.0
"""Proofs were seen to take 10 to 20 s on one busy core; what takes longer than this is taken for hanging."""
_BASE_MEMORY: Final = 4 << 30
_MEMORY_PER_WEIGHT: Final = 32
"""Times that the weights may lie in memory: two traces and graphs, and repacked for every shape."""
_LASTING_SIGNALS: Final = ("SIGFPE", "SIGILL", "SIGSEGV", "SIGBUS")
"""Of the faults of a library itself; others come from outside, or from too little memory (SIGKILL, SIGABRT)."""

MakeBackend = Callable[[Net, int], Backend]
"""Makes the backend of a net for tensors of an edge. Can be pickled; a `functools.partial` with the options."""


class NotProved(RuntimeError):
    """A way to run the net is not gone, since the process would end there; the text says so to people."""

    def __init__(self, text: str, *, known: bool) -> None:
        super().__init__(text)
        self.known = known
        """Whether that was found out earlier, so that nobody has to be told again."""


@dataclass(frozen=True)
class Way:
    """A way to run a net that is risky."""

    name: str
    """For people, such as ``OpenVINO in bfloat16``."""
    make: MakeBackend


class Proving:
    """Makes the backends of one net for tensors up to an edge; what is risky is proved in a child process first."""

    def __init__(self, net: Net, length: int) -> None:
        self._net = net
        self._length = length
        self.has_died = False
        """Whether a way that was asked for was found to end its process."""

    def start(self, way: Way) -> Backend:
        """The backend of ``way``. NotProved if its process would end, and what making it raises.

        Where batches are smaller than the tensor, their launch may raise NotProved too.
        """
        return self._start(way, self._proved)

    def start_if_doubtful(self, way: Way) -> Backend:
        """As `start` if another way has died, or a process at this one; else without a proof."""
        return self._start(way, self._proved if self.has_died else self._noted)

    def _start(self, way: Way, guard: Callable[[Way, int], AbstractContextManager[None]]) -> Backend:
        with guard(way, self._length):
            backend = way.make(self._net, self._length)
        return GuardedBackend(backend, functools.partial(guard, way))

    @contextlib.contextmanager
    def _proved(self, way: Way, edge: int) -> Iterator[None]:
        """Within, ``way`` may be gone for the first time: a child has come through. NotProved if none does."""
        verdict, known = find_out(way, self._net, edge)
        if not verdict.survives:
            self.has_died = True
            raise NotProved(f"{way.name} is not used here: {verdict.reason}", known=known)
        yield

    @contextlib.contextmanager
    def _noted(self, way: Way, edge: int) -> Iterator[None]:
        """As `_proved` if a process is known to have ended there; else it is noted that this one is at it."""
        memory, facts = verdicts.of_this_user(), facts_of(way, self._net, edge)
        doubtful = memory.recall(facts) is not None or memory.was_broken_off(facts)
        with self._proved(way, edge) if doubtful else memory.attempt(facts):
            yield


def find_out(way: Way, net: Net, edge: int) -> tuple[verdicts.Verdict, bool]:
    """Whether a process survives ``way`` with a net of that architecture, and whether that was known already.

    One process of a user finds out at a time; the others wait for it.
    """
    memory, facts = verdicts.of_this_user(), facts_of(way, net, edge)
    verdict = memory.recall(facts)
    if verdict is not None:
        return verdict, True
    with memory.one_at_a_time(TIME_LIMIT_S):
        verdict = memory.recall(facts)
        if verdict is not None:
            return verdict, True
        weights = sum(tensor.numel() * tensor.element_size() for tensor in net.state_dict().values())
        bounds = Bounds(TIME_LIMIT_S, _BASE_MEMORY + _MEMORY_PER_WEIGHT * weights)
        ending = try_in_child(functools.partial(run_every_shape, way.make, net, edge), bounds)
        survives, lasting = judge(ending)
        reason = "" if ending.end is End.RETURNED else f"{_WORDS[ending.end]} ({ending.detail})"
        return memory.remember(facts, survives=survives, lasting=lasting, reason=reason), False


_WORDS: Final = {
    End.RAISED: "a trial raised an error",
    End.OUT_OF_MEMORY: "a trial ran out of memory",
    End.OUT_OF_TIME: "a trial did not end",
    End.SIGNAL: "a trial was ended by a signal",
    End.EXIT: "a trial ended its process",
    End.NOT_STARTED: "no process could be started for a trial",
}


def judge(ending: Ending) -> tuple[bool, bool]:
    """Whether a process survives, and whether that is so until library, processor or sources change.

    An exception is survived: the evaluator meets it as well and knows what to do. But it may pass, and hides what would
    have come after it.
    """
    if ending.end is End.RETURNED:
        return True, True
    lasting = ending.end is End.EXIT or (ending.end is End.SIGNAL and ending.detail in _LASTING_SIGNALS)
    return ending.end is End.RAISED, lasting


def run_every_shape(make: MakeBackend, net: Net, edge: int) -> None:
    """Compile and run what the backend has for batches of that edge; the work of the child.

    MemoryError, or the last exception, once everything was tried.
    """
    backend, failure = make(net, edge), None
    lane = backend.lanes[0]
    for full in (True, False):
        for rows in backend.sizes:
            try:
                lane.launch(BatchShape(rows, edge, full))
                lane.outputs()
            except OutOfMemory as error:
                raise MemoryError(str(error)) from error
            except RuntimeError as error:
                failure = error
    if failure is not None:
        raise failure


def facts_of(way: Way, net: Net, edge: int) -> dict[str, str]:
    """All that the verdict on a way depends on, the machine included."""
    kind = way.make.func if isinstance(way.make, functools.partial) else way.make
    given = way.make if isinstance(way.make, functools.partial) else functools.partial(kind)
    return {
        **verdicts.circumstances(),
        "way": f"{kind.__module__}.{kind.__qualname__} {given.args} {sorted(given.keywords.items())}",
        "architecture": _architecture(net),
        "edge": str(edge),
    }


def _architecture(net: Net) -> str:
    """What a net is but for its name and the values of its weights."""
    description = net.config.to_json() | {"name": ""}
    shapes = [(name, str(tensor.dtype), list(tensor.shape)) for name, tensor in net.state_dict().items()]
    return hashlib.sha256(json.dumps([description, shapes], sort_keys=True).encode()).hexdigest()[:24]


class GuardedBackend:
    """A backend each of whose shapes is launched for the first time within the guard of its edge."""

    def __init__(self, backend: Backend, guard: Callable[[int], AbstractContextManager[None]]) -> None:
        self._backend = backend
        self._guard = guard
        self._launched: set[BatchShape] = set()
        self.description = backend.description
        self.lanes: Sequence[Lane] = tuple(GuardedLane(lane, self._launch) for lane in backend.lanes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The backend's."""
        return self._backend.sizes

    @property
    def sixteen_bit(self) -> bool:
        """The backend's."""
        return self._backend.sixteen_bit

    def _launch(self, lane: Lane, shape: BatchShape) -> None:
        if shape in self._launched:
            lane.launch(shape)
            return
        with self._guard(shape.edge):
            lane.launch(shape)
        self._launched.add(shape)

    def close(self) -> None:
        """Free the device."""
        self._backend.close()


class GuardedLane:
    """A lane of a `GuardedBackend`."""

    def __init__(self, lane: Lane, launch: Callable[[Lane, BatchShape], None]) -> None:
        self._lane = lane
        self._launch = launch

    @property
    def planes(self) -> Planes:
        """The lane's."""
        return self._lane.planes

    @property
    def global_inputs(self) -> npt.NDArray[np.float32]:
        """The lane's."""
        return self._lane.global_inputs

    def launch(self, shape: BatchShape) -> None:
        """As the lane, but NotProved if the process would end there."""
        self._launch(self._lane, shape)

    def outputs(self) -> Raw:
        """The lane's."""
        return self._lane.outputs()
