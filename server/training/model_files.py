"""Is this file a network that clients can load? Asked before a file is registered, never in a web process.

The format is that of model-format.md, read by `nets.files.katago_file`; inputs are those of features.md, version 7.
"""

from __future__ import annotations

from pathlib import Path

from common.files import sum_of
from nets.files.katago_file import NetFileError, read_net
from server.errors import InvalidSettings
from server.networks.services import SUFFIX, ModelFile


def read_model(path: Path) -> ModelFile:
    """Read and check a whole network file.

    Raises:
        InvalidSettings: it cannot be opened, is cut short, corrupt or of a kind that clients cannot play, and where.
    """
    if not path.name.endswith(SUFFIX):
        raise InvalidSettings(f"{path.name}: a network file for clients ends in {SUFFIX}")
    try:
        sha256, size = sum_of(path)
        net = read_net(path)
    except (NetFileError, OSError) as error:
        raise InvalidSettings(f"{path} cannot be used as a network: {error}. Fetch or export it again") from error
    architecture = f"b{len(net.trunk.blocks)}c{net.trunk.channels}"
    return ModelFile(path, net.name, architecture, net.version, sha256, size)
