"""Is this file a network that clients can load? Asked before a file is registered, never in a web process.

The format is that of model-format.md, read by `nets.files.katago_file`; inputs are those of features.md, version 7.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import torch

from common.files import sum_of
from nets.evaluation.canary import canary_fault
from nets.files.exchange import module_of
from nets.files.katago_file import NetFileError, read_net
from nets.files.records import NetRecord
from server.errors import InvalidSettings
from server.networks.services import SUFFIX, ModelFile

_TRIED_ROWS: Final = 4
_EDGE: Final = 9


def read_model(path: Path) -> ModelFile:
    """Read and check a whole network file.

    Raises:
        InvalidSettings: it cannot be opened, is cut short, corrupt or of a kind that clients cannot play, and where; or
            no module can be made of it; or what it puts out is not all numbers, which would end every client's streams.
    """
    if not path.name.endswith(SUFFIX):
        raise InvalidSettings(f"{path.name}: a network file for clients ends in {SUFFIX}")
    try:
        sha256, size = sum_of(path)
        net = read_net(path)
        is_sound = _puts_out_numbers(net)
        katago_fault = canary_fault(net) if is_sound else ""
    except (NetFileError, OSError) as error:
        raise InvalidSettings(f"{path} cannot be used as a network: {error}. Fetch or export it again") from error
    except (ValueError, RuntimeError) as error:  # of torch, about shapes or memory
        raise InvalidSettings(f"{path} cannot be used as a network: no module can be made of it: {error}") from error
    if not is_sound:
        raise InvalidSettings(
            f"{path} cannot be used as a network: it puts out something that is not a number; its training has diverged"
        )
    architecture = f"b{len(net.trunk.blocks)}c{net.trunk.channels}"
    return ModelFile(path, net.name, architecture, net.version, sha256, size, katago_fault)


def _puts_out_numbers(net: NetRecord) -> bool:
    """Whether all outputs are finite, in float32: on an empty board, and on inputs that are each as likely 0 as 1."""
    module = module_of(net)
    inputs = module.config.inputs
    planes = torch.randint(0, 2, (_TRIED_ROWS, inputs.planes, _EDGE, _EDGE), generator=torch.Generator().manual_seed(1))
    planes[0] = 0
    planes[:, inputs.board] = 1
    with torch.no_grad():
        found = module.infer(planes.float(), torch.zeros(_TRIED_ROWS, inputs.globals), full=True)
    return all(bool(output.isfinite().all()) for output in found.values())
