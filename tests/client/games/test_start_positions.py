"""Start positions that somebody gave: what is refused, and files of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from client.games.position_files import read_sources, without_files
from common import wire
from common.config_text import ConfigError
from common.parameters import parse_selfplay
from common.position_checks import PositionError, check_position
from tests.client.games.games import selfplay_text

POSITION: dict[str, Any] = {
    "xSize": 4,
    "ySize": 3,
    "board": "XX../XO../....",
    "nextPla": "B",
    "moveLocs": [],
    "movePlas": [],
    "initialTurnNumber": 3,
    "hintLoc": "null",
}


def test_a_position_fits_the_run_and_its_stones_live() -> None:
    check_position(wire.StartPosition.from_object(POSITION), 4)
    with pytest.raises(PositionError, match="4x3 is larger than the run's edge 3"):
        check_position(wire.StartPosition.from_object(POSITION), 3)


@pytest.mark.parametrize(
    ("board", "at"),
    [
        ("XO../OO../....", "column 1, row 1"),
        ("XXO./OO../....", "column 1, row 1"),
        ("..../.OOO/OXXX", "column 2, row 3"),
        ("XXXX/XXXX/XXXX", "column 1, row 1"),
    ],
)
def test_stones_without_liberties_are_refused(board: str, at: str) -> None:
    with pytest.raises(PositionError, match=f"without liberties at {at}"):
        check_position(wire.StartPosition.from_object(POSITION | {"board": board}), 19)


# -- files --


def write_positions(folder: Path, *positions: dict[str, Any]) -> None:
    folder.mkdir(exist_ok=True)
    lines = [json.dumps(position) for position in positions]
    (folder / "a.hintposes.txt").write_text("\n".join([lines[0], "", *lines[1:]]) + "\n")


def test_positions_are_read_line_by_line(tmp_path: Path) -> None:
    write_positions(tmp_path / "h", POSITION | {"hintLoc": "C1", "weight": 3}, POSITION | {"board": "..../..../...."})
    (tmp_path / "h" / "readme.txt").write_text("no position")
    sources = read_sources(f"hintPosesDir = {tmp_path / 'h'}\nhintPosesProb = 0.4\n", seed=1)
    drawn = [sources.draw(seed) for seed in range(1000)]
    assert sum(each is not None for each in drawn) / 1000 == pytest.approx(0.4, abs=0.06)
    hinted = sum(each is not None and each.hint == "C1" for each in drawn)
    assert hinted / sum(each is not None for each in drawn) == pytest.approx(0.75, abs=0.09)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"board": "XXX"}, r"a\.hintposes\.txt, line 3: .*board"),
        ({"moveLocs": ["Z9"], "movePlas": ["B"]}, "line 3: .*moveLocs"),
        ({"xSize": 20}, "line 3: .*xSize"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    write_positions(tmp_path / "h", POSITION, POSITION | change)
    with pytest.raises(ConfigError, match=problem):
        read_sources(f"hintPosesDir = {tmp_path / 'h'}\nhintPosesProb = 0.4\n", seed=1)


def test_positions_of_files_fit_the_tensors_and_live(tmp_path: Path) -> None:
    write_positions(tmp_path / "h", POSITION, POSITION | {"board": "XO../OO../...."})
    sources = read_sources(f"hintPosesDir = {tmp_path / 'h'}\nhintPosesProb = 0.4\n", seed=1)
    assert sources.longest_side == 4
    with pytest.raises(ConfigError, match="without liberties"):
        sources.check(19)
    with pytest.raises(ConfigError, match="larger than the run's edge 3"):
        sources.check(3)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("hintPosesDir = {0}\n", "hintPosesProb is missing"),
        ("hintPosesDir = {0}\nhintPosesProb = 2\n", "line 2: hintPosesProb"),
        ("hintPosesDir = {0}/no\nhintPosesProb = 1\n", "line 1: .*no is no folder"),
        ("startPosesFromSgfDir = {0}\nstartPosesProb = 1\n", "startPosesLoadProb is missing"),
    ],
)
def test_what_files_need_beside_them_is_asked_for(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        read_sources(text.format(tmp_path), seed=1)


def sgf_text(folder: Path, decay: float = 0.0) -> str:
    return (
        f"startPosesFromSgfDir = {folder}\nstartPosesProb = 1\nstartPosesLoadProb = 1\n"
        f"startPosesTurnWeightLambda = {decay}\n"
    )


def test_records_give_each_position_once_with_the_moves_before_it(tmp_path: Path) -> None:
    moves = ";B[aa];W[bb];B[cc];W[dd];B[ee];W[ab];B[ba]"
    (tmp_path / "one.sgf").write_text(f"(;SZ[5]KM[7]\n{moves})")
    (tmp_path / "two.sgfs").write_text(f"(;SZ[5]KM[7]{moves})\n(;SZ[5]AB[ee]PL[W];W[aa];B[];W[];B[bb])\n")
    (source,) = read_sources(sgf_text(tmp_path), seed=1).sources
    told = [(each.board, each.move_vertices, each.initial_turn_number) for each in source.positions]
    first = told[:7]
    assert [len(vertices) for _, vertices, _ in first] == [1, 2, 3, 4, 5, 5, 5]
    assert [turn for _, _, turn in first] == [0, 0, 0, 0, 0, 1, 2]
    assert first[5][:2] == ("X..../...../...../...../.....", ("B4", "C3", "D2", "E1", "A4"))
    assert first[6][0] == "X..../.O.../...../...../....."
    # then the second game of the other file: its stone, a move, a pass; the second pass ends it
    assert told[7] == ("...../...../...../...../....X", (), 0)
    assert [vertices for _, vertices, _ in told[8:]] == [("A5",), ("A5", "pass")]
    for each in source.positions:
        check_position(each, 5)


def test_late_positions_may_be_rare(tmp_path: Path) -> None:
    (tmp_path / "one.sgf").write_text("(;SZ[5];B[aa];W[bb];B[cc])")
    (source,) = read_sources(sgf_text(tmp_path, decay=0.5), seed=1).sources
    assert np.array(source.weights) == pytest.approx(np.exp(-0.5 * np.array([1, 2, 3])))


def test_files_may_be_left_out_by_their_hash(tmp_path: Path) -> None:
    (tmp_path / "one.sgf").write_text("(;SZ[5];B[aa])")
    (tmp_path / "two.sgf").write_text("(;SZ[5];B[bb])")
    import hashlib

    digest = hashlib.sha256((tmp_path / "one.sgf").read_bytes()).hexdigest()[:32]
    (tmp_path / "excludes.txt").write_text(f"# bad ones\n{digest}  # this\n")
    text = sgf_text(tmp_path) + f"startPosesSgfExcludes = {tmp_path / 'excludes.txt'}\n"
    (source,) = read_sources(text, seed=1).sources
    assert [each.move_vertices for each in source.positions] == [("B4",)]


def test_a_record_that_cannot_be_played_is_named(tmp_path: Path) -> None:
    (tmp_path / "one.sgf").write_text("(;SZ[5];B[aa];W[aa])")
    with pytest.raises(ConfigError, match=r"one\.sgf: move 2, W A5, is illegal"):
        read_sources(sgf_text(tmp_path), seed=1)


def test_no_text_that_was_sent_may_name_files(tmp_path: Path) -> None:
    text = selfplay_text() + sgf_text(tmp_path) + f"hintPosesDir = {tmp_path}\nhintPosesProb = 0.5\n"
    with pytest.raises(ConfigError, match="startPosesFromSgfDir names files of one machine"):
        parse_selfplay(text)
    assert parse_selfplay(without_files(text)) == parse_selfplay(selfplay_text())
