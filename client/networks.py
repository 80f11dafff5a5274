"""How a network is named on a command line or by a server, and how an evaluator of it is made.

Knows no game and no search. Loads torch when the first evaluator is asked for, not before.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from common.precision import Precision
from nets.files.katago_file import read_net

if TYPE_CHECKING:
    from nets.evaluation.batch import Evaluator

RANDOM_MODEL: Final = "random"
"""Names the network without knowledge."""


@dataclass(frozen=True)
class Network:
    """A network by name; ``path`` None is the one without knowledge (uniform policy, even value)."""

    name: str
    path: Path | None
    stamp: tuple[int, int] | None = None  # of a file that may be overwritten: time of change in nanoseconds, bytes


Loader = Callable[[Network, int], "Evaluator"]
"""Gives a new evaluator of a network for tensors of an edge; whoever asked for it closes it."""


def network_of(model: str) -> Network:
    """The network that ``--model`` names: a file, or `RANDOM_MODEL`.

    Raises:
        OSError: there is no such file.
    """
    if model == RANDOM_MODEL:
        return Network(RANDOM_MODEL, None)
    path = Path(model)
    if path.is_dir():
        raise IsADirectoryError(f"{model} is a folder, not a network file; give a .bin.gz file in it")
    if not path.is_file():
        raise FileNotFoundError(f"there is no network file {model}; give a .bin.gz file, or the word {RANDOM_MODEL}")
    return Network(name_of_file(path).removesuffix(".gz").removesuffix(".bin"), path)


def check_network(network: Network) -> None:
    """Read its file and forget it again, so that a bad one is told before anything that takes long.

    Raises:
        NetFileError: it is no whole network.
        OSError: it cannot be read.
    """
    if network.path is not None:
        read_net(network.path)


def name_of_file(path: Path) -> str:
    """The name of a file as text, which records and folders of games need, whatever its bytes are."""
    return os.fsencode(path.name).decode("utf-8", "replace")


def evaluator_loader(device: str, threads: int, precision: Precision | None = None) -> Loader:
    """How games get their evaluators; ``precision`` None is the fastest."""

    def load(network: Network, length: int) -> Evaluator:
        from nets.evaluation.evaluator import load_evaluator  # torch is slow to import

        return load_evaluator(
            network.path,
            length=length,
            device=device,
            threads=threads,
            precision=precision or Precision.FASTEST,
        )

    return load
