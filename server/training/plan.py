"""The training that a run's settings describe. Imports torch: for training workers and management commands.

A run's `training_settings` is a JSON object laid over a recipe::

    {"recipe": "paper", "batch": 128, "optimizer": {"rate_scale": 2}, "bucket": {"samples_per_epoch": 20000}}

Its keys are those of `nets.training.config.TrainConfig`, nested as there, and of `TrainingPlan`. ``recipe`` is the name
of a recipe, or an object with its ``name`` and the fields of `nets.training.losses.Recipe` that differ.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from nets.architecture.config import named
from nets.training.config import TrainConfig, recipe_config
from server.errors import InvalidSettings
from server.runs.models import Run

_FIXED: Final = ("net", "length")
"""Given by the run itself."""


@dataclass(frozen=True)
class TrainingPlan:
    """A run's training, and how this server feeds it."""

    config: TrainConfig
    shard_rows: int = 10_000
    """Games are gathered until they have so many rows; only whole shards are trained on."""
    checkpoint_seconds: float = 300.0
    """Longest time of training that a killed trainer has to repeat."""
    slice_seconds: float = 20.0
    """Length of one task."""


def plan_of(run: Run, architecture: str) -> TrainingPlan:
    """The plan of ``run`` for nets of ``architecture``.

    Raises:
        InvalidSettings: an unknown architecture, recipe or field, or a value out of range.
    """
    if not isinstance(run.training_settings, dict):
        raise InvalidSettings(f"training settings of the run {run.name}: must be an object, such as {{}}")
    settings = dict(run.training_settings)
    own = {
        field.name: settings.pop(field.name)
        for field in fields(TrainingPlan)
        if field.name != "config" and field.name in settings
    }
    defaults = {field.name: field.default for field in fields(TrainingPlan) if field.name != "config"}
    recipe = settings.pop("recipe", "paper")
    recipe = recipe if isinstance(recipe, dict) else {"name": recipe}
    try:
        for name in _FIXED:
            if name in settings:
                raise ValueError(f"{name!r} is a field of the run itself")
        _merged(defaults, own, "")
        base = recipe_config(recipe.get("name", "paper"), named(architecture), length=run.data_board_len).to_json()
        for key in recipe:
            _known(key, base["recipe"], "recipe.")
        base["recipe"] |= recipe
        for key in settings:
            _known(key, base | defaults, "")
        plan = TrainingPlan(TrainConfig.from_json(_merged(base, settings, "")), **own)
        if plan.shard_rows < 1 or plan.checkpoint_seconds <= 0 or not 0 < plan.slice_seconds <= 60:
            raise ValueError("shard_rows and checkpoint_seconds must be positive, slice_seconds at most 60")
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidSettings(f"training settings of the run {run.name}: {error}") from error
    return plan


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any], place: str) -> dict[str, Any]:
    """``base`` with the values of ``changes``, objects within objects; an unknown key or another kind is an error."""
    merged = dict(base)
    for key, value in changes.items():
        _known(key, base, place)
        inner = base[key]
        if isinstance(inner, dict) and not isinstance(value, dict):
            raise ValueError(f"{place + key!r} must be an object with some of {', '.join(sorted(inner))}")
        if not _fits(inner, value):
            raise ValueError(f"{place + key!r} must be like {inner!r}, not {value!r}")
        merged[key] = _merged(inner, value, f"{place}{key}.") if isinstance(inner, dict) else value
    return merged


def _known(key: str, base: Mapping[str, Any], place: str) -> None:
    """Refuse a key that ``base`` lacks, and name the one that was probably meant."""
    if key in base:
        return
    elsewhere = [f"{outer}.{key}" for outer, inner in base.items() if isinstance(inner, dict) and key in inner]
    meant = elsewhere or [place + close for close in difflib.get_close_matches(key, base, n=1)]
    hint = f"did you mean {meant[0]!r}?" if meant else f"there are: {', '.join(sorted(base))}"
    raise ValueError(f"there is no setting {place + key!r}; {hint}")


def _fits(default: Any, value: Any) -> bool:
    """Whether a value is of the kind of the default; what may also be absent or a list is judged by its own class."""
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) == isinstance(value, bool) or default is None
    if isinstance(default, int):
        return isinstance(value, int)
    if isinstance(default, float):
        return isinstance(value, int | float)
    return True
