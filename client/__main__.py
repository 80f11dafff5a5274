"""The volunteer's program: ``python -m client [COMMAND] …``, installed as ``tengen``. Without a command it contributes.

Each command is a module with ``add_arguments(parser)`` and ``run(arguments) -> exit code``, imported only when it is
asked for, so that ``--help`` is quick.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from common.interrupts import EXIT_INTERRUPTED, interrupts_end_the_program
from common.pipes import ends_with_its_reader

INSTALLED: Final = "tengen"
"""The command that ``pip install`` makes."""
DEFAULT: Final = "contribute"
COMMANDS: Final = {
    "contribute": ("client.contribute.command", "play games for a server (the default)"),
    "selfplay": ("client.commands.selfplay", "play self-play games into a folder, without a server"),
    "match": ("client.commands.match", "play games between two networks, two settings, or against another program"),
    "replay": ("client.commands.replay", "play a game that a server has stored again, and compare"),
    "gtp": ("client.commands.gtp", "a Go engine for graphical programs, speaking GTP"),
    "analysis": ("client.commands.analysis", "an engine that analyses many positions at once, for KaTrain, in JSON"),
}


def main(arguments: Sequence[str]) -> int:
    """Run one command; returns the exit code."""
    words = list(arguments)
    if words[:1] in (["-h"], ["-help"], ["--help"]):
        print(overview())
        return 0
    if words[:1] in (["-version"], ["--version"]):
        from common.wire import CLIENT_VERSION

        print(f"tengen client {CLIENT_VERSION}")
        return 0
    name = words.pop(0) if words and not words[0].startswith("-") else DEFAULT
    if name not in COMMANDS:
        print(f"there is no command {name!r}\n\n{overview()}", file=sys.stderr)
        return 2
    module_name, summary = COMMANDS[name]
    with interrupts_end_the_program():
        module = importlib.import_module(module_name)
    parser = argparse.ArgumentParser(prog=f"{program()} {name}", description=summary, add_help=False)
    parser.add_argument("-help", "--help", action="help", help="show this, as -h does too")
    module.add_arguments(parser)
    # An option -h would be taken for the beginning of every unknown -h…: "ignored explicit argument".
    return int(module.run(parser.parse_args(["-help" if word == "-h" else word for word in words])))


def program() -> str:
    """How it was called: by its installed name, or as a module."""
    return INSTALLED if Path(sys.argv[0]).stem == INSTALLED else "python -m client"


def overview() -> str:
    """The commands, a line each."""
    lines = [f"  {name:11} {summary}" for name, (_, summary) in COMMANDS.items()]
    return "\n".join(
        [
            f"usage: {program()} [COMMAND] [options]",
            "",
            *lines,
            "",
            f"{program()} COMMAND --help lists its options",
        ]
    )


def guarded(arguments: Sequence[str]) -> int:
    """`main`; Ctrl-C ends it without a traceback where no command has its own answer to it."""
    try:
        return main(arguments)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def command() -> int:
    """The whole program; returns the exit code."""
    return ends_with_its_reader(lambda: guarded(sys.argv[1:]))


if __name__ == "__main__":
    raise SystemExit(command())
