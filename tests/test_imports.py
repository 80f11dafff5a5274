"""The arrows between packages that must never be (ARCHITECTURE.md), read from the sources and from a real import."""

from __future__ import annotations

import ast
import graphlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tests.rooms import FLOORS, PAGE, arrows, imported_modules, rooms_of, with_drawing

OURS = {"common", "nets", "client", "server", "deploy", "tests"}

FORBIDDEN = {
    "common": {"torch", "django", "rest_framework", "nets", "client", "server", "deploy", "tests"},
    "nets": {"django", "rest_framework", "client", "server", "deploy", "tests"},
    "client": {"django", "rest_framework", "server", "deploy", "tests"},
    "server": {"client", "deploy", "tests"},
}
NUMBA_FREE = [
    "common/wire.py",
    "common/rows.py",
    "common/config_text.py",
    "common/parameters.py",
    "common/sgf.py",
    "common/go/rules.py",
    "common/__init__.py",
    "common/go/__init__.py",
]


def imported_roots(path: Path) -> dict[str, int]:
    """First component of everything that ``path`` imports anywhere in it -> line number."""
    found: dict[str, int] = {}
    for name, line in imported_modules(path).items():
        found.setdefault(name.split(".")[0], line)
    return found


@pytest.mark.parametrize("package", sorted(FORBIDDEN))
def test_forbidden_arrows(package: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for name, line in imported_roots(path).items()
        if name in FORBIDDEN[package]
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", sorted(FLOORS))
def test_rooms_import_nothing_from_above(package: str) -> None:
    floor_of = {room: number for number, rooms in enumerate(FLOORS[package]) for room in rooms}
    wrong = [str(arrow) for start, end, arrow in arrows(package) if floor_of[end] >= floor_of[start]]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", sorted(FLOORS))
def test_every_room_has_a_floor(package: str) -> None:
    assert sorted(room for rooms in FLOORS[package] for room in rooms) == sorted(rooms_of(package))


def test_no_module_imports_itself_by_others() -> None:
    paths = [path for package in sorted(OURS) for path in (ROOT / package).rglob("*.py")]
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}
    others = {name: imported_modules(path, for_types=False).keys() - {name} for name, path in modules.items()}
    order = graphlib.TopologicalSorter({name: modules.keys() & imported for name, imported in others.items()})
    order.prepare()  # CycleError tells the circle


def test_the_page_draws_the_rooms_as_they_are() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_drawing(page), "run python -m tests.rooms"


def test_only_training_and_inspection_use_nets_and_torch() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sorted((ROOT / "server").rglob("*.py"))
        if path.relative_to(ROOT / "server").parts[0] not in ("training", "inspection")
        for name, line in imported_roots(path).items()
        if name in {"torch", "nets"}
    ]
    assert not wrong, "\n".join(wrong)


def test_web_uses_other_apps_through_selectors() -> None:
    apps = {path.name for path in (ROOT / "server").iterdir() if (path / "models.py").exists()} - {"web"}
    wrong = []
    for path in sorted((ROOT / "server" / "web").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                parts = node.module.split(".")
                if len(parts) > 2 and parts[0] == "server" and parts[1] in apps and parts[2] == "models":
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} imports {node.module}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", NUMBA_FREE)
def test_light_modules_load_without_numba(name: str) -> None:
    module = name.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    assert_not_loaded(f"import {module}", ["numba", "torch", "django"])


def test_web_process_loads_neither_numba_nor_torch() -> None:
    code = "import server.wsgi; from django.urls import get_resolver; get_resolver().url_patterns"
    assert_not_loaded(code, ["numba", "torch"])


def assert_not_loaded(code: str, unwanted: list[str]) -> None:
    """Run ``code`` in a fresh interpreter and assert that it brought none of the ``unwanted`` modules."""
    check = f"{code}\nimport sys\nprint(*[m for m in {unwanted!r} if m in sys.modules])"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", check], capture_output=True, text=True, cwd=ROOT, env=environment
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "", f"{code!r} loaded {result.stdout.strip()}"
