"""What a web process imports loads neither numba nor torch nor Django."""

from __future__ import annotations

import subprocess
import sys

from tests import ROOT


def test_no_heavy_import() -> None:
    modules = "common.wire", "common.parameters", "common.config_text", "common.sgf"
    code = f"import sys, {', '.join(modules)}; print(sorted({{'numba', 'torch', 'django'}} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
