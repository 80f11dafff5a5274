"""Backticked names of modules, of what is in them, and of files lead somewhere: in sources and in the pages."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests import ROOT

PACKAGES: Final = ("common", "nets", "client", "server", "deploy", "tests")
PAGES: Final = sorted(page for folder in (".", "docs", "deploy") for page in (ROOT / folder).glob("*.md"))
MADE_BY_HAND: Final = {"deploy/.env"}
DOTTED: Final = re.compile(rf"`((?:{'|'.join(PACKAGES)})(?:\.\w+)+)`(?<!Dockerfile`)")
A_FILE: Final = re.compile(rf"`((?:{'|'.join(PACKAGES)})/[\w./]*)`")


def texts() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))
    yield from (page for page in PAGES if page.name != "CHANGELOG.md")  # it tells of what was


@functools.cache
def names_in(path: Path) -> frozenset[str]:
    """What a module defines at its top, and the members of its classes; what it imports is to be named where it is."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        found |= _named(node)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{name}" for child in node.body for name in _named(child)}
    return frozenset(found)


def _named(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Assign):
        return {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    if isinstance(node, ast.If | ast.Try):
        return {name for child in node.body for name in _named(child)}
    return set()


def leads_somewhere(dotted: str) -> bool:
    """Whether ``package.module.Name.member`` is there, with any number of its parts."""
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        place = ROOT.joinpath(*parts[:count])
        file = place.with_suffix(".py") if place.with_suffix(".py").is_file() else place / "__init__.py"
        if file.is_file():
            return count == len(parts) or ".".join(parts[count:]) in names_in(file)
    return False


@pytest.mark.parametrize("package", [*PACKAGES, "pages"])
def test_pointers_lead_somewhere(package: str) -> None:
    wrong = []
    for path in texts():
        place = path.relative_to(ROOT)
        if (place.parts[0] if path.suffix == ".py" else "pages") != package:
            continue
        text = path.read_text(encoding="utf-8")
        wrong += [f"{place}: {name}" for name in DOTTED.findall(text) if not leads_somewhere(name)]
        wrong += [f"{place}: {name}" for name in set(A_FILE.findall(text)) - MADE_BY_HAND if not (ROOT / name).exists()]
    assert not wrong, "\n".join(wrong)


def test_a_wrong_pointer_is_found() -> None:
    assert leads_somewhere("nets.evaluation.batch.Batch")
    assert leads_somewhere("client.search.pool.SearchPool.start")
    assert leads_somewhere("nets.evaluation")
    assert not leads_somewhere("nets.evaluation.Batch")
    assert not leads_somewhere("nets.architecture.batch")
    assert not leads_somewhere("client.search.pool.SearchPool.commence")
