"""The proof of a shape of batches before its first use: a backend's outputs on known positions beside float32's.

What is judged, and how far it may be off, is in `nets.evaluation.self_test`. Whether the process survives the backend
is another question (`nets.evaluation.proving`).
"""

from __future__ import annotations

from nets.architecture.model import Net
from nets.evaluation.backends import Backend, BatchShape, TorchBackend
from nets.evaluation.batch import Batch, EvaluatorError
from nets.evaluation.known_positions import KNOWN_ROWS, KnownPositions, known_positions, repeated
from nets.evaluation.outputs import decoding_of
from nets.evaluation.pipeline import Pipeline
from nets.evaluation.self_test import FLOAT32, SIXTEEN_BITS, differences, objections


class Comparison:
    """Compares what backends make of one net with the net in float32, which is computed once for a kind of tensors."""

    def __init__(self, net: Net) -> None:
        self._net = net
        self._name, self._inputs = net.config.name, net.config.inputs
        self._expected: dict[tuple[int, bool], Batch] = {}  # by edge, and whether all boards fill it

    def prove(self, pipeline: Pipeline, shape: BatchShape) -> None:
        """Go through batches of that shape. EvaluatorError where they differ, OutOfMemory, what the backend raises."""
        found = repeated(self._known(shape), max(shape.rows, KNOWN_ROWS))
        pipeline.run(found, shape)
        if not _is_the_reference(pipeline.backend):
            self.judge(found, shape, pipeline.backend)

    def judge(self, found: Batch, shape: BatchShape, backend: Backend) -> None:
        """EvaluatorError if what the backend found on the known positions is too far from float32."""
        limits = SIXTEEN_BITS if backend.sixteen_bit else FLOAT32
        objected = objections(differences(found, self._in_float32(shape), self._known(shape).legal), limits)
        if objected:
            raise EvaluatorError(f"{self._name} on {backend.description} differs from float32: {'; '.join(objected)}")

    def _known(self, shape: BatchShape) -> KnownPositions:
        return known_positions(self._inputs, shape.edge, full=shape.full)

    def _in_float32(self, shape: BatchShape) -> Batch:
        """The known positions with what the net says of them."""
        key = shape.edge, shape.full
        if key not in self._expected:
            batch = repeated(self._known(shape), KNOWN_ROWS)
            backend = TorchBackend(self._net, shape.edge, threads=1, sizes=(KNOWN_ROWS,))
            Pipeline(backend, self._name, decoding_of(self._net.config)).run(batch, shape._replace(rows=KNOWN_ROWS))
            self._expected[key] = batch
        return self._expected[key]


def _is_the_reference(backend: Backend) -> bool:
    return isinstance(backend, TorchBackend) and not backend.sixteen_bit
