"""Whatever is sent: every line gets one answer, nothing hangs, and no line of an answer is empty (engine.md 1)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from client.engine.gtp.session import Session
from client.engine.gtp.table import LISTED, UNLISTED
from tests.client.engine.gtp.talking import make_session, spoken

OVERRIDES = "maxVisits=3,numSearchThreads=1"
MINIMAL = {
    "genmove": ["b"], "kata-search": ["w"], "kata-search_cancellable": ["b"], "genmove_debug": ["b"],
    "kata-search_debug": ["b"], "boardsize": ["5"], "rectangular_boardsize": ["5 4", "5:4"], "komi": ["6.5"],
    "play": ["b A1", "w pass"], "known_command": ["name"], "kata-set-rule": ["ko SIMPLE"],
    "kata-set-rules": ["japanese", '{"ko":"SIMPLE"}'], "kgs-rules": ["aga"], "fixed_handicap": ["2"],
    "place_free_handicap": ["3"], "set_free_handicap": ["A1 B2"], "time_settings": ["10 5 1"],
    "kgs-time_settings": ["byoyomi 10 5 3", "none"], "kata-time_settings": ["fischer-capped 10 1 20 -1"],
    "time_left": ["b 10 0"], "final_status_list": ["alive", "dead", "seki"], "kata-raw-nn": ["0", "all", "b 3 0.5"],
    "kata-get-param": ["maxVisits"], "kata-set-param": ["maxVisits 2", "wideRootNoise 0.1"],
    "kata-set-params": ['{"maxVisits":3}'], "loadsgf": ["/nowhere.sgf 3"], "set_position": ["b A1 w B2"],
    "lz-analyze": ["b 1 minmoves 2"], "kata-analyze": ["1 rootInfo true", "avoid b A1,B2 3 ownership true"],
    "analyze": ["w 10"], "kata-genmove_analyze": ["b 100 ownership true"], "genmove_analyze": ["b"],
    "lz-genmove_analyze": [""], "kata-search_analyze": [""], "kata-search_analyze_cancellable": [""],
    "kata-benchmark": ["2"], "printsgf": ["", "-"],
}  # fmt: skip
"""Right arguments of the commands that take some."""
WORDS = [
    "b", "w", "black", "pass", "A1", "C3", "Z99", "T19", "I1", "0", "1", "-1", "2", "3", "5", "7.5", "1e9", "nan",
    "inf", "true", "false", "all", "alive", "japanese", "{}", "{", '{"ko":"SIMPLE"}', "[]", "none", "absolute",
    "byoyomi", "fischer", "avoid", "allow", "ownership", "interval", "maxVisits", "maxTime", "ko", "SIMPLE", "#",
    "\t", "\x01", "é", "/nowhere", "-", "99999999999999999999", "kata-analyze", "minmoves", "maxmoves", "A1,B2",
    "resign", "rootInfo", "humanSLProfile",
]  # fmt: skip
UNASKED = ("quit", "kata-benchmark", "printsgf", "loadsgf", "set_position")
"""Commands that random lines leave out, as they end the session, take long, or write files."""


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    made = make_session(overrides=OVERRIDES, length=5)
    yield made
    made.queries.close()


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``printsgf -1`` writes a file of that name."""
    monkeypatch.chdir(tmp_path)


def check(session: Session, lines: list[str]) -> None:
    """One answer for each line that has a command, in order, marked by its number; the last stops an analysis."""
    numbered = [f"{number} {line}" for number, line in enumerate(lines)]
    entries: list[str | int] = []
    for line in numbered:
        entries += [line, 3]
    text = spoken(session, *entries, "")
    answers = [answer for answer in text.split("\n\n") if answer]
    assert len(answers) == len(lines)
    for number, (answer, line) in enumerate(zip(answers, lines, strict=True)):
        assert answer.startswith((f"={number}", f"?{number} ")), (line, answer)
        signs = [each for each in answer.splitlines() if each[:1] in ("=", "?")]
        assert len(signs) == 1, (line, answer)


@pytest.mark.parametrize("name", [*LISTED, *UNLISTED])
def test_right_wrong_missing_and_extra_arguments(
    name: str, session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    right = [f"{name} {words}".strip() for words in MINIMAL.get(name, [""])]
    wrong = [name, f"{name} a b c d e f", f"{name} -1", f"{name} x y", f"{name} {'1' * 400}", f"{name} {{"]
    is_quit = name == "quit"
    for line in right + wrong:
        check(session, ["clear_board", line] if is_quit else ["clear_board", line, "protocol_version"])
    assert "Traceback" not in capsys.readouterr().err


def random_line(draw: random.Random) -> str:
    names = [name for name in [*LISTED, *UNLISTED] if name not in UNASKED]
    if draw.random() < 0.1:
        return "".join(chr(draw.randrange(32, 127)) for _ in range(draw.randrange(1, 30))).replace("#", "x") + "x"
    name = draw.choice(names)
    if draw.random() < 0.5 and name in MINIMAL:
        return f"{name} {draw.choice(MINIMAL[name])}".strip()
    return " ".join([name, *(draw.choice(WORDS) for _ in range(draw.randrange(5)))])


def shower(session: Session, count: int, seed: int) -> None:
    draw = random.Random(seed)
    while count > 0:
        check(session, ["boardsize 5", *(random_line(draw) for _ in range(min(100, count)))])
        count -= 100


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_random_lines(seed: int, session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    shower(session, 500, seed=seed)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5, 55))
def test_very_many_random_lines(seed: int, session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    """100,000 in all, in parts that end long before a test is thought to hang."""
    shower(session, 2_000, seed=seed)
    assert "Traceback" not in capsys.readouterr().err
