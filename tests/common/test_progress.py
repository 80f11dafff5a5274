"""Progress: nothing for what is quick, one line on a terminal, now and then a line in a log."""

from __future__ import annotations

import io
import threading

import pytest

from common.progress import LOG_EVERY_S, QUIET_S, Announcement, Progress, announced


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_what_is_quick_says_nothing(stream: io.StringIO) -> None:
    progress = Progress("x", 10, "rows", stream=stream, clock=lambda: 5.0)
    for done in range(11):
        progress.at(done)
    progress.close()
    assert stream.getvalue() == ""


def test_a_log_gets_a_line_now_and_then() -> None:
    now, stream = [0.0], io.StringIO()
    progress = Progress("evaluate", 4000, "rows", stream=stream, clock=lambda: now[0])
    for done in range(0, 4000, 100):
        now[0] = done / 100
        progress.at(done)
    progress.close()
    lines = stream.getvalue().splitlines()
    assert lines[0] == "evaluate: 200 of 4,000 rows, 2 s, about 38 s to go"
    assert len(lines) == 1 + (39 - QUIET_S) // LOG_EVERY_S


def test_a_terminal_has_one_line_that_goes_away() -> None:
    now, stream = [0.0], Terminal()
    progress = Progress("evaluate", 10, "rows", stream=stream, clock=lambda: now[0])
    now[0] = 3.0
    progress.at(0)
    progress.close()
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().startswith("\revaluate: 0 of 10 rows, 3 s ")
    assert stream.getvalue().endswith(" \r")


def test_what_cannot_be_counted_is_announced(capsys: pytest.CaptureFixture[str]) -> None:
    with announced("quick"):
        pass
    with announced("slow", after_s=0.0):
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer):
                thread.join()
    assert capsys.readouterr().err == "slow …\n"


def fail_slowly() -> None:
    with announced("failing", "ready", after_s=0.0):
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer):
                thread.join()
        raise KeyError


def said(announcement: Announcement) -> Announcement:
    """One whose first line has been written."""
    announcement._timer.join()
    return announcement


def test_the_end_of_what_was_announced_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    Announcement("quick", "ready").over()
    slow = said(Announcement("slow", "ready", after_s=0.0))
    slow.over()
    slow.over()
    said(Announcement("vain", "ready", after_s=0.0)).over(well=False)
    assert capsys.readouterr().err == "slow …\nready, after 0 s\nvain …\n"
    with pytest.raises(KeyError):
        fail_slowly()
    assert capsys.readouterr().err == "failing …\n"
