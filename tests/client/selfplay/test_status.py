"""The line that sums a run up."""

from __future__ import annotations

from client.selfplay.messages import Progress
from client.selfplay.status import REPORT_EVERY_S, Status
from tests.client.selfplay.made_games import finished, order


def is_loading(status: Status) -> bool:
    return status.is_loading


def test_a_game_that_is_over_had_moves_whatever_its_stream_has_told() -> None:
    status = Status(list[str]().append)
    assert is_loading(status)
    status.add(finished(order(1)))
    assert not is_loading(status)


def test_the_line() -> None:
    """While nothing has been searched there is none."""
    now = [100.0]
    lines: list[str] = []
    status = Status(lines.append, clock=lambda: now[0])
    status.report_now_and_then()
    assert lines == []
    status.load()
    now[0] += 5
    status.hear("cpu0", Progress(3, 0, 0))
    status.report_now_and_then()
    assert is_loading(status)
    status.hear("cpu0", Progress(3, 100, 50))
    assert not is_loading(status)
    status.hear("cpu1", Progress(2, 200, 0))
    status.hear("cpu0", Progress(4, 600, 200))
    status.add(finished(order(1), rows=5))
    status.lose("cpu1")
    status.hear("cpu1", Progress(1, 100, 0))  # another process, which counts from 0
    now[0] += REPORT_EVERY_S
    status.report_now_and_then()
    assert lines == [
        "1 games, 10 moves, 5 rows in 25 s, 5 running (720 rows per hour, 36 evaluations per second,"
        " 18% of what was asked found in the cache)"
    ]
    status.report_now_and_then()
    assert len(lines) == 1
    status.close()
    assert len(lines) == 2
