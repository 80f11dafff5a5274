"""Where the recorded outputs of a real KataGo are found, and how a test asks for them.

The folder is ``$TENGEN_ORACLES``, or ``shared`` beside the checkout. Where it is absent the asking test is skipped;
where it exists, a missing file is a failure.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_BESIDE = Path(__file__).resolve().parent.parent.parent / "shared"


def oracle_root() -> Path:
    """Where the folder is, or would be."""
    return Path(os.environ.get("TENGEN_ORACLES") or _BESIDE)


def oracle_path(relative: str) -> Path:
    """Path of an oracle file such as ``vectors/scoring.jsonl.gz``."""
    root = oracle_root()
    if not root.is_dir():
        pytest.skip(f"no oracle folder: set TENGEN_ORACLES (looked at {root})")
    path = root / relative
    if not path.exists():
        pytest.fail(f"the oracle folder {root} lacks {relative}")
    return path


def records(name: str) -> Iterator[dict[str, Any]]:
    """The records of ``vectors/<name>.jsonl.gz``, in order."""
    with gzip.open(oracle_path(f"vectors/{name}.jsonl.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
