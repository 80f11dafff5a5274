"""``python -m nets``; its commands are in ``nets/commands.py``. Ctrl-C ends the slow import of torch quietly."""

from __future__ import annotations

import sys

from common.interrupts import interrupts_end_the_program
from common.pipes import ends_with_its_reader
from common.progress import announced
from nets import info


def main(words: list[str]) -> int:
    """Run one command; returns the exit code."""
    if words[:1] == [info.COMMAND]:  # needs little of what the others load
        return info.main(words[1:])
    with interrupts_end_the_program(), announced("loading torch"):
        from nets import commands
    return commands.main(words)


if __name__ == "__main__":
    raise SystemExit(ends_with_its_reader(lambda: main(sys.argv[1:])))
