"""Backends that prove themselves in a child process before they run in ours: a library that dies there dies alone.

What a library makes of a net is code that no Python guards: OpenVINO 2026.4.1 ended processes with SIGFPE while it
compiled a net with attention for bfloat16. So a way that is risky is gone by a child first: every batch size, with and
without masks, compiled and run once. The verdict counts for all nets of that architecture (`nets.evaluation.verdicts`),
since the code does not depend on the weights. Whether the numbers are right is not asked here but by
`nets.evaluation.comparison`.

Risky are the ways in 16 bits on a processor, and any other of OpenVINO's once one of them has died on that net: with
float32 alone nobody was seen to die, and every volunteer would pay for the proof. torch in float32 compiles nothing; in
bfloat16 it is tried where OpenVINO has failed.
CUDA's libraries tell their errors as exceptions, and a child would need a second context on the card, which may have
the memory for one.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Sequence
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
    """Makes the backends of one net for tensors up to an edge, each proved in a child process first."""

    def __init__(self, net: Net, length: int) -> None:
        self._net = net
        self._length = length
        self.has_died = False
        """Whether a way that was asked for was found to end its process."""

    def start(self, way: Way) -> Backend:
        """The backend of ``way``. NotProved if its process would end, and what making it raises.

        Where batches are smaller than the tensor, their launch may raise NotProved too.
        """
        self._require(way, self._length)
        return ProvedBackend(way.make(self._net, self._length), self._length, functools.partial(self._require, way))

    def start_if_doubtful(self, way: Way) -> Backend:
        """As `start` if another way has died, else without a proof."""
        return self.start(way) if self.has_died else way.make(self._net, self._length)

    def _require(self, way: Way, edge: int) -> None:
        verdict, known = find_out(way, self._net, edge)
        if not verdict.survives:
            self.has_died = True
            raise NotProved(f"{way.name} is not used here: {verdict.reason}", known=known)


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


class ProvedBackend:
    """A backend whose shapes of an edge are asked for before the first of them is launched."""

    def __init__(self, backend: Backend, edge: int, require: Callable[[int], None]) -> None:
        self._backend = backend
        self._require = require
        self._proved = {edge}
        self.description = backend.description
        self.lanes: Sequence[Lane] = tuple(ProvedLane(lane, self._ask) for lane in backend.lanes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The backend's."""
        return self._backend.sizes

    @property
    def sixteen_bit(self) -> bool:
        """The backend's."""
        return self._backend.sixteen_bit

    def _ask(self, edge: int) -> None:
        if edge not in self._proved:
            self._require(edge)
            self._proved.add(edge)

    def close(self) -> None:
        """Free the device."""
        self._backend.close()


class ProvedLane:
    """A lane of a `ProvedBackend`."""

    def __init__(self, lane: Lane, ask: Callable[[int], None]) -> None:
        self._lane = lane
        self._ask = ask

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
        self._ask(shape.edge)
        self._lane.launch(shape)

    def outputs(self) -> Raw:
        """The lane's."""
        return self._lane.outputs()
