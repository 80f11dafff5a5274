"""``python -m nets``; its commands are in ``nets/commands.py``. Ctrl-C ends the slow import of torch quietly."""

from __future__ import annotations

from common.interrupts import interrupts_end_the_program

if __name__ == "__main__":
    with interrupts_end_the_program():
        from nets.commands import main
    raise SystemExit(main())
