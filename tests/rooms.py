"""The rooms of each package, floor by floor, and the arrows between them: read from the sources, drawn, held.

``python -m tests.rooms`` writes the drawing into ARCHITECTURE.md; tests/test_imports.py says when it is no longer true.
A room is a folder or a module at the top of a package. It may import itself and rooms of lower floors.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests import ROOT

FLOORS: Final[dict[str, list[set[str]]]] = {
    "nets": [
        {"architecture"},
        {"files", "data"},
        {"evaluation", "training"},
        {"command_line", "info"},
        {"train_command"},
        {"commands"},
        {"__main__"},
    ],
    "client": [
        {"search", "networks", "devices", "stopping"},
        {"games", "processes"},
        {"engine", "streams"},
        {"matches", "selfplay"},
        {"commands", "contribute"},
        {"__main__"},
    ],
    "server": [
        {
            "errors",
            "names",
            "environment",
            "log_lines",
            "tables",
            "broker",
            "chunks",
            "database",
            "admin_forms",
            "paging",
            "settings",
            "schema",
        },
        {"admin_lists", "api", "arrival", "storage", "celery", "wsgi"},
        {"hints", "web_worker", "api_index", "health"},
        {"accounts", "runs"},
        {"networks", "positions"},
        {"gates"},
        {"jobs"},
        {"trust"},
        {"games"},
        {"inspection", "ratings", "training"},
        {"upkeep", "web"},
        {"urls"},
    ],
}
"""The rooms of a package from the ground up."""

PAGE: Final = ROOT / "ARCHITECTURE.md"
BEGIN: Final = "<!-- rooms: written by python -m tests.rooms -->\n"
END: Final = "<!-- end of rooms -->\n"


@dataclass(frozen=True)
class Arrow:
    """One module imports another, somewhere in it."""

    path: Path
    line: int
    imported: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line} imports {self.imported}"


def imported_modules(path: Path, *, for_types: bool = True) -> dict[str, int]:
    """What ``path`` imports anywhere in it -> line number; ``from a import b`` gives ``a`` and ``a.b``.

    Without ``for_types`` not what only a type checker imports.
    """
    found: dict[str, int] = {}
    for node in _nodes(ast.parse(path.read_text(encoding="utf-8")), for_types=for_types):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            found.setdefault(name, node.lineno)
    return found


def _nodes(node: ast.AST, *, for_types: bool) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if for_types or not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from _nodes(child, for_types=for_types)


def rooms_of(package: str) -> set[str]:
    """Names of the folders and modules at the top of a package, but for what makes it one."""
    return {room_of(path, package) for path in (ROOT / package).rglob("*.py")} - {"__init__"}


def room_of(path: Path, package: str) -> str:
    """The room in which the module at ``path`` lies."""
    return path.relative_to(ROOT / package).parts[0].removesuffix(".py")


def arrows(package: str) -> Iterator[tuple[str, str, Arrow]]:
    """Every import from one room of a package into another: (from, to, where)."""
    rooms = rooms_of(package)
    for path in sorted((ROOT / package).rglob("*.py")):
        room = room_of(path, package)
        for name, line in imported_modules(path).items():
            parts = name.split(".")
            if room in rooms and parts[0] == package and len(parts) > 1 and parts[1] in rooms - {room}:
                yield room, parts[1], Arrow(path, line, name)


def drawing() -> str:
    """The floors of every package, the highest first; after each room, the rooms that it imports."""
    lines = ["```"]
    for package, floors in FLOORS.items():
        targets: dict[str, set[str]] = {room: set() for room in rooms_of(package)}
        for start, end, _ in arrows(package):
            targets[start].add(end)
        lines.append(f"{package}/")
        for number, rooms in reversed(list(enumerate(floors, 1))):
            for room in sorted(rooms):
                beneath = [other for floor in reversed(floors) for other in sorted(floor) if other in targets[room]]
                lines.append(f"  {number}  {room:15}{'→ ' + ', '.join(beneath) if beneath else ''}".rstrip())
    return "\n".join([*lines, "```"]) + "\n"


def with_drawing(page: str) -> str:
    """The text of the page with the drawing of today between its marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{PAGE.name} lacks the marks {BEGIN!r} and {END!r}")
    return before + begin + drawing() + end + after


if __name__ == "__main__":
    PAGE.write_text(with_drawing(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(drawing())
