"""What tests of trainings share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from common.rows import write_npz
from tests.nets.made_rows import made_rows


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Nets this small are slower with more threads than one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for index in range(4):
        write_npz(made_rows(20, 5, seed=index, smallest=3), folder / f"{index}.npz")
    return folder
