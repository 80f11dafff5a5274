"""What a training is: one description of net, data, loss, update and averaging, kept in checkpoints.

Knows no tensors. The two named descriptions follow training.md 10: ``paper`` and ``today``.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from common.rows import MAX_LENGTH, MIN_LENGTH
from nets.architecture.config import NetConfig
from nets.data import window
from nets.data.passes import Augmentation
from nets.data.targets import require_inputs_of_rows
from nets.data.window import BucketConfig, WindowConfig
from nets.training import averaging, optimizer
from nets.training.averaging import AveragingConfig
from nets.training.losses import RECIPES, Recipe
from nets.training.optimizer import OptimizerConfig

MAX_BATCH: Final = 65_536
"""Joint batch of all processes. The rows of one of this size take gigabytes before the net is asked."""


class Arithmetic(StrEnum):
    """Arithmetic of the trunk; heads and loss are always in float32."""

    AUTO = "auto"
    """What the device trains this net in faster (`nets.training.precision`), chosen at the first step."""
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


@dataclass(frozen=True)
class TrainConfig:
    """A training. ``length`` is the edge of the tensor in the rows, ``batch`` the joint batch of all processes."""

    net: NetConfig
    length: int = 19
    batch: int = 256
    seed: int = 1
    recipe: Recipe = field(default_factory=Recipe)
    optimizer: OptimizerConfig = optimizer.TODAY
    averaging: AveragingConfig = field(default_factory=AveragingConfig)
    window: WindowConfig = window.TODAY
    bucket: BucketConfig = field(default_factory=BucketConfig)
    limit_reuse: bool = True
    """Whether an epoch waits for the train bucket."""
    augmentation: Augmentation = field(default_factory=Augmentation)
    validation_share: float = 0.0
    """Share of the files, chosen by their names, that is not trained on; losses on it are reported after each epoch."""
    precision: Arithmetic = Arithmetic.AUTO
    """In a checkpoint, the one that the training has: ``AUTO`` only before its first step."""
    chunk_bytes: int = 512 << 20
    """Memory for the rows that are shuffled together; as much again is for those that are read meanwhile."""

    def __post_init__(self) -> None:
        if not 1 <= self.batch <= MAX_BATCH:
            raise ValueError(f"batch must be 1 to {MAX_BATCH:,}, not {self.batch}")
        if self.chunk_bytes < 1:
            raise ValueError("chunk_bytes must be positive")
        if not MIN_LENGTH <= self.length <= MAX_LENGTH:
            raise ValueError(f"length, the edge of the tensor, must be {MIN_LENGTH} to {MAX_LENGTH}, not {self.length}")
        if not 0 <= self.validation_share < 1:
            raise ValueError("validation_share must be at least 0 and less than 1")
        require_inputs_of_rows(self.net)

    def to_json(self) -> dict[str, Any]:
        """Plain data; ``from_json`` turns it back."""
        plain = _plain(self)
        assert isinstance(plain, dict)
        return plain | {"net": self.net.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TrainConfig:
        """Inverse of ``to_json``. ``ValueError`` names what is unknown."""
        values = dict(data)
        known = {field.name for field in dataclasses.fields(cls)}
        if unknown := sorted(values.keys() - known):
            raise ValueError(f"training description: unknown field {unknown[0]!r}")
        try:
            values["net"] = NetConfig.from_json(values["net"])
            values["optimizer"] = _optimizer(values["optimizer"])
            values["precision"] = Arithmetic(values["precision"])
            for name, kind in _PARTS.items():
                values[name] = kind(**values[name])
            return cls(**values)
        except (KeyError, TypeError) as error:
            raise ValueError(f"training description: {error}") from error


_PARTS: Final[Mapping[str, type]] = {
    "recipe": Recipe,
    "averaging": AveragingConfig,
    "window": WindowConfig,
    "bucket": BucketConfig,
    "augmentation": Augmentation,
}


def _plain(value: Any) -> Any:
    """Dataclasses, mappings and tuples as JSON has them; an infinite bound of a schedule is null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, StrEnum):
        return value.value
    return None if isinstance(value, float) and math.isinf(value) else value


def changes_between(old: TrainConfig, new: TrainConfig) -> list[str]:
    """The settings in which they differ, as ``name: old -> new``."""
    before, after = _flat(old.to_json()), _flat(new.to_json())
    return [
        f"{name}: {before.get(name)} -> {after.get(name)}"
        for name in before | after
        if before.get(name) != after.get(name)
    ]


def _flat(values: Mapping[str, Any], place: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{place}{key}.") if isinstance(value, Mapping) else {place + key: value}
    return flat


def _optimizer(data: Mapping[str, Any]) -> OptimizerConfig:
    values = dict(data)
    values["kind"], values["decay"] = optimizer.Kind(values["kind"]), optimizer.Decay(values["decay"])
    if not isinstance(values["schedule"], str):
        values["schedule"] = tuple(
            (math.inf if bound is None else float(bound), float(scale)) for bound, scale in values["schedule"]
        )
    return OptimizerConfig(**values)


def recipe_config(name: str, net: NetConfig, **changes: Any) -> TrainConfig:
    """The named training of ``net``: ``paper`` or ``today``; ``changes`` replace single fields."""
    if name not in RECIPES:
        raise ValueError(f"no recipe is called {name!r}; there are: {', '.join(RECIPES)}")
    if name == "paper":
        base = TrainConfig(
            net,
            recipe=Recipe("paper"),
            optimizer=optimizer.PAPER,
            averaging=averaging.PAPER,
            window=window.PAPER,
            limit_reuse=False,
        )
    else:
        base = TrainConfig(net)
    return dataclasses.replace(base, **changes)
