"""A net as a file and back: KataGo's ``.bin.gz`` for every engine, ``.safetensors`` for what should stay exact.

Knows which outputs a training did not train, and what an engine must find in their place (model-format.md 6, "identity
tricks"). The formats themselves are in ``nets/files/katago_file.py``, ``nets/files/exchange.py`` and
``nets/training/checkpoint.py``.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from torch import nn

from nets.architecture.config import NetConfig
from nets.architecture.heads import Head, heads_of
from nets.architecture.model import Net
from nets.files.descriptions import outputs_in
from nets.files.exchange import record_of, trainable_module_of
from nets.files.katago_file import read_net, write_net
from nets.training import checkpoint
from nets.training.checkpoint import Checkpoint, CheckpointError
from nets.training.config import TrainConfig
from nets.training.losses import Losses

_TENSORS: Final = ".safetensors"
_NET, _AVERAGE = "net", "average"
_COPIED_FROM: Final = {"short_optimistic_policy": "policy", "lead": "score_mean"}
"""What stands in for an output that was not trained: the weights of another one."""
_CONSTANT_ERRORS: Final = {"short_term_value_error": 0.2, "short_term_score_error": 5.0}
"""Untrained error outputs claim this error (in win - loss, in points) everywhere."""
_DECAYING: Final = ("variance_time",)
"""Untrained outputs that become 0, which an engine reads as the middle of their range."""


@dataclass(frozen=True)
class LoadedNet:
    """A net with all heads, ready to train, and which of its outputs mean anything: the others have fresh weights."""

    net: Net
    trained: frozenset[str]


def export_net(net: Net, path: Path, *, name: str, trained: Collection[str] | None = None) -> None:
    """Write ``net`` to ``path``, whose ending chooses the format (``.bin.gz`` and its kin, or ``.safetensors``).

    ``trained`` names the outputs that were trained (None = all); the others are replaced by what does no harm. Raises
    ``NetFileError`` for a net that an engine could not read, ``OSError``.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}")
    trained = _outputs_of(net.config) if trained is None else trained
    ready = with_stand_ins(net, trained)
    if path.suffix == _TENSORS:
        tensors = {f"{_NET}.{key}": tensor for key, tensor in ready.state_dict().items()}
        about = {"kind": "net", "name": name, "net": net.config.to_json(), "trained": sorted(trained)}
        checkpoint.write(Checkpoint(tensors, about), path)
    else:
        write_net(record_of(ready, name), path)


def load_net(path: Path, *, averaged: bool = True, seed: int = 1) -> LoadedNet:
    """The net in a net file, in a ``.safetensors`` file, or in a training's checkpoint.

    Of a checkpoint, the averaged weights (if there are any yet and ``averaged``). What the file lacks is drawn from
    ``seed``. Raises ``NetFileError``, ``CheckpointError``, ``OSError``.
    """
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if path.suffix != _TENSORS:
        record = read_net(path)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return LoadedNet(trainable_module_of(record), outputs_in(record))
    found = checkpoint.read(path)
    try:
        net = Net(NetConfig.from_json(_description(found)))
        net.load_state_dict((found.part(_AVERAGE) if averaged else {}) or found.part(_NET))
        return LoadedNet(net, _trained_of(found, net.config))
    except (KeyError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{path} holds no net that this version can build: {error}") from error


def _trained_of(found: Checkpoint, config: NetConfig) -> frozenset[str]:
    """The outputs of the net in a file of tensors that were trained, by it or by those before."""
    if "config" in found.data:
        training = TrainConfig.from_json(found.data["config"])
        return Losses(training.net, training.recipe).needed
    return frozenset(found.data.get("trained", _outputs_of(config)))


def _outputs_of(config: NetConfig) -> frozenset[str]:
    return frozenset(head.name for head in heads_of(config, training=True))


def _description(found: Checkpoint) -> Any:
    """The net's description in a net's own file or in a checkpoint of its training."""
    return found.data["net"] if found.data.get("kind") == "net" else found.data["config"]["net"]


@torch.no_grad()
def with_stand_ins(net: Net, trained: Collection[str]) -> Net:
    """A copy of ``net`` whose exported outputs that are not ``trained`` say something harmless."""
    ready = copy.deepcopy(net)
    policy, value = ready.heads.policy.outputs, ready.heads.value
    for heads, layers in ((policy.heads, (policy.conv, policy.linear_pass)), (value.misc, (value.linear_misc,))):
        rows = {head.name: index for index, head in enumerate(heads)}
        for head in heads:
            if head.name not in trained:
                for layer in layers:
                    _stand_in(layer, head, rows, ready.config)
    return ready


def _stand_in(layer: nn.Module, head: Head, rows: dict[str, int], config: NetConfig) -> None:
    """Change the row of ``head`` in one last layer."""
    here, parameters = rows[head.name], dict(layer.named_parameters())
    if head.name in _COPIED_FROM:
        for parameter in parameters.values():
            parameter[here] = parameter[rows[_COPIED_FROM[head.name]]]
    elif head.name in _CONSTANT_ERRORS or head.name in _DECAYING:
        for parameter in parameters.values():
            parameter[here] = 0.0
        if head.name in _CONSTANT_ERRORS and head.multiplier is not None:
            multiplier = float(getattr(config.multipliers, head.multiplier))
            root = _CONSTANT_ERRORS[head.name] / math.sqrt(multiplier)
            parameters["bias"][here] = 2.0 * math.log(math.expm1(root))
