"""The commands by name, those that are listed in KataGo's order (engine.md 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from client.engine.gtp import (
    analysis,
    board,
    clocks,
    files,
    handicap,
    moves,
    parameter_commands,
    program,
    rules,
    score,
)
from client.engine.gtp.benchmark import benchmark
from client.engine.gtp.protocol import Command, Stream
from client.engine.gtp.session import Session

SessionCommand = Callable[[Session, list[str]], str | Stream]

LISTED: Final[Mapping[str, SessionCommand | None]] = {
    "protocol_version": program.protocol_version,
    "name": program.name,
    "version": program.version,
    "known_command": None,  # asks about this table, as the next does
    "list_commands": None,
    "quit": program.nothing,
    "boardsize": board.boardsize,
    "rectangular_boardsize": board.boardsize,
    "clear_board": board.clear_board,
    "set_position": board.set_position,
    "komi": rules.komi,
    "get_komi": rules.get_komi,
    "play": board.play,
    "undo": board.undo,
    "kata-get-rules": rules.get_rules,
    "kata-set-rule": rules.set_rule,
    "kata-set-rules": rules.set_rules,
    "kata-get-models": program.get_models,
    "kata-get-param": parameter_commands.get_param,
    "kata-set-param": parameter_commands.set_param,
    "kata-list-params": parameter_commands.list_params,
    "kgs-rules": rules.kgs_rules,
    "genmove": moves.genmove,
    "kata-search": moves.search,
    "kata-search_cancellable": moves.search_cancellable,
    "genmove_debug": moves.genmove_debug,
    "kata-search_debug": moves.search_debug,
    "clear_cache": program.clear_cache,
    "showboard": board.showboard,
    "fixed_handicap": handicap.fixed_handicap,
    "place_free_handicap": handicap.place_free_handicap,
    "set_free_handicap": handicap.set_free_handicap,
    "time_settings": clocks.time_settings,
    "kgs-time_settings": clocks.kgs_time_settings,
    "time_left": clocks.time_left,
    "kata-list_time_settings": clocks.list_time_settings,
    "kata-time_settings": clocks.kata_time_settings,
    "final_score": score.final_score,
    "final_status_list": score.final_status_list,
    "loadsgf": files.load_sgf,
    "printsgf": files.print_sgf,
    "lz-genmove_analyze": analysis.LZ_GENMOVE,
    "kata-genmove_analyze": analysis.KATA_GENMOVE,
    "kata-search_analyze": analysis.search_analyze,
    "kata-search_analyze_cancellable": analysis.search_analyze_cancellable,
    "lz-analyze": analysis.LZ_ANALYZE,
    "kata-analyze": analysis.KATA_ANALYZE,
    "kata-raw-nn": score.raw_nn,
    "kata-raw-human-nn": program.raw_human_nn,
    "cputime": program.cpu_time,
    "gomill-cpu_time": program.cpu_time,
    "kata-benchmark": benchmark,
    "kata-debug-print-tc": clocks.debug_time_controls,
    "debug_moves": board.debug_moves,
    "stop": program.nothing,
}
"""What ``list_commands`` tells."""

UNLISTED: Final[Mapping[str, SessionCommand]] = {
    "analyze": analysis.SABAKI_ANALYZE,
    "genmove_analyze": analysis.SABAKI_GENMOVE,
    "kata-get-params": parameter_commands.get_params,
    "kata-set-params": parameter_commands.set_params,
}
"""What is answered besides."""


def commands_of(session: Session) -> dict[str, Command]:
    """Every command, bound to a session."""
    known: dict[str, Command] = {
        name: partial(command, session) for name, command in {**LISTED, **UNLISTED}.items() if command is not None
    }
    known["known_command"] = partial(program.known_command, LISTED)
    known["list_commands"] = lambda words: program.list_commands(LISTED)
    return known
