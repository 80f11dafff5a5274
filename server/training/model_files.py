"""Is this file a network that clients can load? Asked before a file is registered, never in a web process.

The format is that of model-format.md, read by `nets.katago_file`; inputs are those of features.md, version 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nets.katago_file import NetFileError, read_net
from server.errors import InvalidSettings
from server.networks.services import SUFFIX


@dataclass(frozen=True)
class ModelFile:
    """What a network file says of itself."""

    name: str
    """The name inside the file; its makers gave it, and it need not be the network's name in a run."""
    architecture: str
    """Blocks and channels, such as ``b6c96``."""
    version: int
    """Version of the file's format."""


def describe(path: Path) -> ModelFile:
    """Read and check a whole network file.

    Raises:
        InvalidSettings: it cannot be opened, is cut short, corrupt or of a kind that clients cannot play, and where.
    """
    if not path.name.endswith(SUFFIX):
        raise InvalidSettings(f"{path.name}: a network file for clients ends in {SUFFIX}")
    try:
        net = read_net(path)
    except (NetFileError, OSError) as error:
        raise InvalidSettings(f"{path} cannot be used as a network: {error}. Fetch or export it again") from error
    return ModelFile(net.name, f"b{len(net.trunk.blocks)}c{net.trunk.channels}", net.version)
