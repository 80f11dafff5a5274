"""Everything that only a GPU can show: exactness, evaluation, training and self-play on the first CUDA device.

`python -m tests.benchmarks.gpu [--output FOLDER] [PART ...]`. Each part runs in a process of its own under a time
limit, so that one that fails or hangs loses nothing of the others; what a part has measured is printed at once and
written to ``FOLDER/gpu.jsonl``. Needs neither Django nor OpenVINO. Without a GPU it says so and measures nothing.
"""

from __future__ import annotations

from tests.benchmarks.gpu.parts import main as main
