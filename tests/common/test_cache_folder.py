"""Where caches lie, for users with and without a home."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.cache_folder import folder, state_of

VARIABLES = ("TENGEN_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA", "HOME")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"HOME": "home"}, "home/.cache/tengen"),
        ({"HOME": "home", "LOCALAPPDATA": "data"}, "data/tengen"),
        ({"HOME": "home", "LOCALAPPDATA": "data", "XDG_CACHE_HOME": "caches"}, "caches/tengen"),
        ({"HOME": "home", "XDG_CACHE_HOME": "caches", "TENGEN_CACHE_DIR": "ours"}, "ours"),
    ],
)
def test_the_folder(given: dict[str, str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    assert folder("things") == tmp_path / expected / "things"
    assert (tmp_path / expected / "things").is_dir()


def test_a_state_is_of_names_and_contents(tmp_path: Path) -> None:
    a, b = tmp_path / "a.py", tmp_path / "b.py"
    a.write_text("x")
    b.write_text("y")
    states = {state_of([a], tmp_path), state_of([b], tmp_path), state_of([a, b], tmp_path)}
    b.write_text("x")
    assert state_of([b], tmp_path) not in states | {state_of([a], tmp_path)}
    assert len(states) == 3
