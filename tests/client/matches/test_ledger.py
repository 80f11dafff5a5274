"""The folder of a match: games that count, what a killed process leaves, other matches."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from client.matches.ledger import Ledger, LedgerError, MatchResult

DESCRIPTION = {"players": ["a", "b"], "seed": 1, "boards": (9, 9)}


def result(number: int) -> MatchResult:
    return MatchResult(number, number % 2 == 0, 0.5, "0", 7 + number, (1.5, 2.25), f"(;GM[1]C[game {number} ü])")


def test_games_of_several_players_are_kept_and_lines_of_before_are_of_two(tmp_path: Path) -> None:
    games = [result(0), replace(result(1), players=(2, 0))]
    ledger = Ledger(tmp_path, DESCRIPTION)
    for each in games:
        ledger.add(each)
    assert Ledger(tmp_path, DESCRIPTION).results == games
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    (tmp_path / "results.jsonl").write_text(lines[0].replace('"players": [0, 1], ', "") + "\n")
    assert "players" not in (tmp_path / "results.jsonl").read_text()
    assert Ledger(tmp_path, DESCRIPTION).results == games[:1]


def test_a_match_goes_on(tmp_path: Path) -> None:
    played = [result(number) for number in (0, 1, 5)]
    for each in played:
        ledger = Ledger(tmp_path, DESCRIPTION)
        ledger.add(each)
    assert Ledger(tmp_path, DESCRIPTION).results == played
    records = (tmp_path / "games.sgfs").read_text(encoding="utf-8")
    assert records == "".join(f"{each.sgf}\n" for each in played)


@pytest.mark.parametrize("cut", [1, 20, 60])
@pytest.mark.parametrize("name", ["results.jsonl", "games.sgfs"])
def test_half_a_game_is_played_again(tmp_path: Path, name: str, cut: int) -> None:
    ledger = Ledger(tmp_path, DESCRIPTION)
    ledger.add(result(0))
    before = {each: (tmp_path / each).read_bytes() for each in ("results.jsonl", "games.sgfs")}
    ledger.add(result(1))
    after = {each: (tmp_path / each).read_bytes() for each in before}
    # killed while it wrote the record, or when that was whole and the line was not
    grown = {"games.sgfs": (before["results.jsonl"], after["games.sgfs"][: len(before["games.sgfs"]) + cut])}
    grown["results.jsonl"] = (after["results.jsonl"][: len(before["results.jsonl"]) + cut], after["games.sgfs"])
    for path, data in zip(("results.jsonl", "games.sgfs"), grown[name], strict=True):
        (tmp_path / path).write_bytes(data)
    ledger = Ledger(tmp_path, DESCRIPTION)
    assert ledger.results == [result(0)]
    ledger.add(result(1))
    assert {each: (tmp_path / each).read_bytes() for each in before} == after


def test_another_match_is_left_alone(tmp_path: Path) -> None:
    Ledger(tmp_path, DESCRIPTION).add(result(0))
    with pytest.raises(LedgerError, match=r'holds another match \(players, 2: "b" there, "c" here\)'):
        Ledger(tmp_path, DESCRIPTION | {"players": ["a", "c"]})
    with pytest.raises(LedgerError, match="komi: none there, 7 here"):
        Ledger(tmp_path, DESCRIPTION | {"komi": 7})
    (tmp_path / "match.json").unlink()
    with pytest.raises(LedgerError, match=r"has games but no match\.json"):
        Ledger(tmp_path, DESCRIPTION)


def test_where_no_game_is_over_another_match_may_begin(tmp_path: Path) -> None:
    """A program that could not be started, or a network that was mistyped, claims no folder."""
    Ledger(tmp_path, DESCRIPTION)
    (tmp_path / "games.sgfs").write_bytes(b"(;")  # killed while it wrote its first record
    Ledger(tmp_path, DESCRIPTION | {"komi": 7}).add(result(0))
    assert Ledger(tmp_path, DESCRIPTION | {"komi": 7}).results == [result(0)]


def broken(line: bytes, change: str) -> bytes:
    if change == "no JSON":
        return b"x" + line
    fields = json.loads(line)
    if change == "a field less":
        del fields["points"]
    elif change == "a field more":
        fields["handicap"] = 2
    elif change == "one time":
        fields["seconds"] = [1]
    else:
        fields["record_end"] = 10**9
    return json.dumps(fields).encode() + b"\n"


@pytest.mark.parametrize("change", ["no JSON", "a field less", "a field more", "one time", "no record"])
def test_damage_in_the_middle_is_told(tmp_path: Path, change: str) -> None:
    ledger = Ledger(tmp_path, DESCRIPTION)
    ledger.add(result(0))
    ledger.add(result(1))
    path = tmp_path / "results.jsonl"
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(broken(first, change) + second)
    with pytest.raises(LedgerError, match=r"results\.jsonl, line 1, is damaged"):
        Ledger(tmp_path, DESCRIPTION)


@pytest.mark.parametrize("written", [0, 1])
def test_a_full_disk_is_told_and_leaves_whole_games(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    ledger = Ledger(tmp_path, DESCRIPTION)
    ledger.add(result(0))
    left = written  # files that still find room

    def fsync(_file: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(os, "fsync", fsync)
        with pytest.raises(OSError, match="No space left on device") as error:
            ledger.add(result(1))
    assert str(error.value) == (
        f"a finished game cannot be written to {tmp_path} (No space left on device): make room; the same command goes"
        " on after the 1 games that are there"
    )
    for game in (1, 2):
        ledger.add(result(game))
    played = [result(number) for number in range(3)]
    assert ledger.results == Ledger(tmp_path, DESCRIPTION).results == played
    assert (tmp_path / "games.sgfs").read_text(encoding="utf-8") == "".join(f"{each.sgf}\n" for each in played)
