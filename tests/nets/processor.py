"""What the processor that runs the tests can do."""

from __future__ import annotations

import functools

from nets.backends import BatchShape, OpenVinoBackend
from nets.config import named
from nets.model import Net


@functools.cache
def openvino_in_bfloat16() -> bool:
    """Whether OpenVINO computes in bfloat16 here when it is told to: with AVX-512 it does, if slowly without units."""
    try:
        OpenVinoBackend(Net(named("b2c16")).eval(), 7, 1, sixteen_bit=True).run(BatchShape(1, 7, True))
    except RuntimeError:
        return False
    return True
