"""What the volunteer reads: the truth about what is going on, a line at a time."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest
from rich.console import Console

from client.contribute import warmup
from client.contribute.console import MAX_LINE, SUMMARY_EVERY_S, LastingConsole, Totals, VolunteerConsole
from client.contribute.messages import Activity


class Screen:
    """A console with a clock of its own, and the lines on it."""

    def __init__(self) -> None:
        self.now = 0.0
        self._text = io.StringIO()
        self.console = VolunteerConsole(Console(file=self._text, width=80), clock=lambda: self.now)

    def lines(self) -> list[str]:
        """Lines without their time."""
        return [line[9:] for line in self._text.getvalue().splitlines()]

    def after(self, seconds: float, totals: Totals) -> str:
        """The line that is printed at that time; empty if none."""
        before = len(self.lines())
        self.now = seconds
        self.console.summary(totals)
        return "".join(self.lines()[before:])


COLD = {"cpu0": Activity.COMPILING, "cpu1": Activity.COMPILING}


@pytest.mark.parametrize(
    ("activities", "words"),
    [
        (COLD, "cpu0, cpu1 compiling, which takes some minutes after an installation or update"),
        ({"cpu0": Activity.COMPILING, "gpu0": Activity.LOADING}, "cpu0 compiling, which takes"),
        ({"cpu0": Activity.LOADING}, "cpu0 loading a network"),
        ({"cpu0": Activity.WAITING}, "cpu0 waiting for games to play"),
        ({"cpu0": Activity.STARTING}, "cpu0 starting"),
    ],
)
def test_until_there_are_games_it_says_what_goes_on(activities: dict[str, str], words: str) -> None:
    screen = Screen()
    assert screen.after(SUMMARY_EVERY_S - 1, Totals(activities=activities)) == ""
    for minute in (1, 2, 3):
        line = screen.after(minute * SUMMARY_EVERY_S, Totals(activities=activities))
        assert words in line
        assert f"after {minute}:00 min" in line
        assert "0 evaluations/s" not in line
        assert "0 games finished" not in line


def test_afterwards_it_counts() -> None:
    screen = Screen()
    totals = Totals(
        games={"self-play": 5, "matches": 2}, rows=99, evaluations=6000, sent=6, activities={"a": "playing"}
    )
    line = screen.after(60, totals)
    assert line.startswith("7 games finished in 0.02 h (5 self-play, 2 matches, 99 rows)")
    assert line.endswith("6 sent, 0 refused; 100 evaluations/s")


def test_what_a_cache_answered_is_told_apart() -> None:
    screen = Screen()
    screen.after(60, Totals(games={"self-play": 5}, evaluations=6000, found=600))
    line = screen.after(120, Totals(games={"self-play": 5}, evaluations=12000, found=2400))
    assert line.endswith("0 refused; 100 evaluations/s and 30/s found in the cache")


def test_streams_that_stand_still_are_named_instead_of_a_speed_of_nothing() -> None:
    screen = Screen()
    screen.after(60, Totals(games={"self-play": 5}, evaluations=6000))
    totals = Totals(games={"self-play": 5}, evaluations=6000, activities={"cpu0": Activity.WAITING})
    assert screen.after(120, totals).endswith("0 refused; cpu0 waiting for games to play")
    # a child that was started again counts anew
    totals = Totals(games={"self-play": 5}, evaluations=100, activities={"cpu0": Activity.COMPILING})
    assert "-" not in screen.after(180, totals).partition("refused")[2]


def test_the_last_line_comes_when_asked_for_and_nothing_after_the_end() -> None:
    screen = Screen()
    screen.console.summary(Totals(sent=3), now=True)
    screen.console.close()
    screen.console.line("late")
    assert len(screen.lines()) == 1
    assert "3 sent" in screen.lines()[0]


@pytest.mark.parametrize(
    "text",
    ["two\nlines", "\x1b[2Jclear", "a\r\nb\tc", "[bold]not markup[/bold]", "[/] ]", "x" * 100_000, "\ud800 half"],
)
def test_whatever_a_server_says_is_one_line(text: str) -> None:
    screen = Screen()
    screen.console.line(text)
    (line,) = screen.lines()
    assert "\x1b" not in line
    assert len(line) <= MAX_LINE + 20


def test_a_console_without_umlauts_still_shows_the_line() -> None:
    raw = io.BytesIO()
    narrow = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    VolunteerConsole(Console(file=narrow)).line("network größer … ok")
    narrow.flush()
    assert rb"network gr\xf6\xdfer \u2026 ok" in raw.getvalue()


def test_a_long_compilation_says_that_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done, program = tmp_path / "done", tmp_path / "python"
    program.write_text(f"#!/bin/sh\nwhile [ ! -e '{done}' ]; do sleep 0.02; done\n")
    program.chmod(0o755)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(warmup, "TELL_EVERY_S", 0.01)
    lines: list[str] = []

    def report(line: str) -> None:
        lines.append(line)
        if len(lines) == 3:
            done.touch()

    warmup.ensure_compiled(report)
    assert lines[0].startswith("compiling for the first time")
    assert all(line.startswith("still compiling after ") for line in lines[1:])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    warmup.ensure_compiled(lines.append)
    assert "cannot be compiled beforehand" in lines[-1]
    (tmp_path / warmup.MARK).touch()
    lines.clear()
    warmup.ensure_compiled(lines.append)
    assert lines == []


def test_a_mark_that_cannot_be_made_costs_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    warmup._note_done()
    assert (tmp_path / warmup.MARK).exists()
    assert capfd.readouterr().err == ""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / warmup.MARK))  # in which nothing can be
    warmup._note_done()
    told = capfd.readouterr().err
    assert "cannot be noted in" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error")])
def test_a_mark_that_cannot_be_looked_for_is_none(
    error: OSError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Path) -> bool:
        raise error

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(Path, "exists", fails)
    assert not warmup._is_done()


def test_a_console_that_nobody_reads_ends_nothing() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb", buffering=0) as pipe, io.TextIOWrapper(pipe, write_through=True) as screen:
        console = VolunteerConsole(LastingConsole(file=screen))
        console.line("nobody reads this")
        console.line("nor this")
        assert console.console.quiet
