"""What a training reports: weighted means of the loss terms, rates, times; as lines of JSON.

Knows names and numbers, nothing of how they arise. One line per report; ``samples`` orders them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from common.files import write_whole


class TermMeans:
    """Running sums of loss terms; kept on the device, so that a step does not wait for them."""

    def __init__(self, names: Sequence[str], device: torch.device) -> None:
        self.names = tuple(names)
        self._device = device
        self.clear()

    def clear(self) -> None:
        """Begin a new mean."""
        self._sums = torch.zeros(len(self.names), dtype=torch.float64, device=self._device)
        self._weights = torch.zeros_like(self._sums)
        self._total = torch.zeros((), dtype=torch.float64, device=self._device)
        self._rows = 0

    def add(self, sums: Tensor, weights: Tensor, total: Tensor, rows: int) -> None:
        """One batch: weighted sums and weights [T], the total of the batch, its rows."""
        self._sums += sums
        self._weights += weights
        self._total += total
        self._rows += rows

    def tensors(self) -> tuple[Tensor, ...]:
        """The sums, for adding up over processes in place."""
        return self._sums, self._weights, self._total

    def means(self, processes: int = 1) -> dict[str, float]:
        """Weighted mean per term, and ``total`` per row; a term without weight is absent."""
        means = {
            name: float(value / weight)
            for name, value, weight in zip(self.names, self._sums, self._weights, strict=True)
            if weight > 0
        }
        return means | {"total": float(self._total) / max(1, self._rows * processes)}


class JsonLines:
    """A file of JSON objects, one a line, in the order of their ``samples``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, line: dict[str, Any]) -> None:
        """Add one line."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(_text(line))

    def read(self) -> list[dict[str, Any]]:
        """All complete lines; [] where there is no file."""
        if not self.path.exists():
            return []
        found = []
        for text in self.path.read_text(encoding="utf-8").splitlines():
            try:
                found.append(json.loads(text))
            except ValueError:  # a line that a kill cut short
                continue
        return found

    def cut_after(self, samples: int) -> None:
        """Drop lines of steps that a resumed training will make again."""
        lines = self.read()
        kept = [line for line in lines if line["samples"] <= samples]
        if len(kept) < len(lines):
            write_whole(self.path, "".join(map(_text, kept)).encode())


def _text(line: Mapping[str, Any]) -> str:
    return json.dumps(_without_infinities(line), allow_nan=False) + "\n"


def _without_infinities(value: Any) -> Any:
    """``value`` with null for numbers that JSON cannot hold."""
    if isinstance(value, Mapping):
        return {key: _without_infinities(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
