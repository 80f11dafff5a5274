"""Where caches lie, for users with and without a home."""

from __future__ import annotations

from pathlib import Path

import pytest

from common import kernel_cache
from common.cache_folder import cache_folder, state_of

VARIABLES = ("TENGEN_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA")


@pytest.mark.parametrize(
    ("given", "folder"),
    [
        ({"HOME": "/home/a"}, "/home/a/.cache/tengen"),
        ({"HOME": "/home/a", "LOCALAPPDATA": "/data"}, "/data/tengen"),
        ({"HOME": "/home/a", "LOCALAPPDATA": "/data", "XDG_CACHE_HOME": "/caches"}, "/caches/tengen"),
        ({"HOME": "/home/a", "XDG_CACHE_HOME": "/caches", "TENGEN_CACHE_DIR": "/ours"}, "/ours"),
    ],
)
def test_the_folder(given: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(folder)


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in (*VARIABLES, "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert cache_folder() is None
    kernel_cache.use()


def test_a_state_is_of_names_and_contents(tmp_path: Path) -> None:
    a, b = tmp_path / "a.py", tmp_path / "b.py"
    a.write_text("x")
    b.write_text("y")
    states = {state_of([a], tmp_path), state_of([b], tmp_path), state_of([a, b], tmp_path)}
    b.write_text("x")
    assert state_of([b], tmp_path) not in states | {state_of([a], tmp_path)}
    assert len(states) == 3
