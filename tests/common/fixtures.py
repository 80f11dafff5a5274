"""Our own small choice of the oracle's records, so that the tests live without the oracle folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests import FIXTURES

_FOLDER = FIXTURES / "vectors"


def fixture_records(name: str) -> Iterator[dict[str, Any]]:
    """The records of ``tests/fixtures/vectors/<name>.jsonl``, in the oracle's own format."""
    with (_FOLDER / f"{name}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
