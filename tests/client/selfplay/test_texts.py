"""Texts are laid over each other, and where each value comes from is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from client.selfplay.texts import PAPER, shipped_names, text_of
from common.config_text import ConfigError, parse
from common.go.rules import Scoring
from common.parameters import base_text, parse_selfplay


def origins(text: str) -> dict[str, str]:
    """Of each key in an explained text."""
    return {line.partition(" = ")[0]: line.partition("  # ")[2] for line in text.splitlines() if line}


def test_every_text_that_is_shipped_can_be_played() -> None:
    assert {PAPER, "today", "7x7", "9-19", "today_7x7", "today_9x9"} <= set(shipped_names())
    for name in shipped_names():
        text = text_of([name], [], 0)
        assert text.config(None).warnings == ()
        assert text.notes == ()
        effective = parse_selfplay(text.explained())
        assert effective == parse_selfplay(text.text)


def test_silence_is_the_paper() -> None:
    assert text_of([], [], 0).text == text_of([PAPER], [], 0).text == base_text("selfplay")


def test_a_small_board_of_today_lies_over_today() -> None:
    text = text_of(["today_7x7"], [], 0)
    config, today = text.config(None), text_of(["today"], [], 0).config(None)
    assert text.longest_side == 7
    assert config.init.b_sizes == (7,)
    assert config.init.komi_auto
    assert config.init.scoring_rules == today.init.scoring_rules == (Scoring.AREA, Scoring.TERRITORY)
    assert (config.search.max_visits, today.search.max_visits) == (60, 2000)
    assert config.selfplay.estimate_lead_prob == today.selfplay.estimate_lead_prob == 0.5
    told = origins(text.explained())
    assert told["maxVisits"].startswith("today_7x7, line ")
    assert told["komiAuto"].startswith("today, line ")
    assert told["koRules"].startswith("paper, line ")
    assert told["maxRowsPerTrainFile"].startswith("today, line ")
    assert told["scaleDataWeight"] == "default"


def test_files_and_single_values_lie_on_top(tmp_path: Path) -> None:
    file = tmp_path / "mine.cfg"
    file.write_text("# mine\nmaxVisits = 77\ncheapSearchVisits = 17\nforkSidePositionProb = 0.1\nkomiMean = 8\n")
    text = text_of(["today_7x7", str(file)], ["maxVisits=88,bSizes=5"], 0)
    config = text.config(None)
    assert (config.search.max_visits, config.selfplay.cheap_search_visits, config.init.b_sizes) == (88, 17, (5,))
    assert (config.init.komi_mean, config.init.komi_auto) == (8.0, False)
    assert config.selfplay.side_position_prob == 0.1
    told = origins(text.explained())
    assert told["maxVisits"] == told["bSizes"] == "--override"
    assert told["cheapSearchVisits"] == f"{file}, line 3"
    assert told["sidePositionProb"] == f"{file}, line 4"
    assert told["komiMean"] == f"{file}, line 5"
    assert told["komiAuto"] == "default"
    (note,) = text.notes
    assert note.startswith(f"{file} gives what differs from today_7x7: ")


def test_a_whole_file_is_laid_over_nothing(tmp_path: Path) -> None:
    file = tmp_path / "whole.cfg"
    file.write_text(text_of(["9-19"], ["maxVisits=123"], 0).text)
    text = text_of(["today", str(file)], [], 0)
    assert text.text == file.read_text()
    assert set(origins(text.explained()).values()) - {"default"} == {
        f"{file}, {entry.place}" for key, entry in parse(text.text).items() if key in origins(text.explained())
    }


def test_keys_without_a_meaning_in_a_whole_file_are_told(tmp_path: Path) -> None:
    file = tmp_path / "whole.cfg"
    whole = text_of([], [], 0).text
    file.write_text(f"friendlyPassOk = true\nnumGameThreads = 9\n{whole}cheapSearchProp = 0.5\n")
    end = whole.count("\n") + 3
    assert text_of([str(file)], ["maxVisits=200"], 0).notes == (
        f"{file}: line 1: unknown key friendlyPassOk is ignored",
        f"{file}: line {end}: unknown key cheapSearchProp is ignored; is it cheapSearchProb?",
    )
    assert text_of(["today"], [], 0).notes == ()


@pytest.mark.parametrize(
    ("configs", "overrides", "message"),
    [
        (["FILE"], [], "FILE: line 1: unknown key maxVisit; is it maxVisits?"),
        (["7x7"], ["maxVisits=5"], "7x7, maxVisits=5: cheapSearchVisits = 12 is more than maxVisits = 5"),
        ([], ["maxVisits=none"], "--override: line 1: maxVisits: 'none' is not"),
        ([], ["maxVisits"], "override: 'maxVisits' is not of the form key = value"),
    ],
)
def test_what_does_not_hold_is_told_with_its_text(
    tmp_path: Path, configs: list[str], overrides: list[str], message: str
) -> None:
    file = tmp_path / "wrong.cfg"
    file.write_text("maxVisit = 5\n")
    with pytest.raises(ConfigError) as error:
        text_of([name.replace("FILE", str(file)) for name in configs], overrides, 0)
    assert message.replace("FILE", str(file)) in str(error.value)


def test_positions_come_from_files_that_a_text_names(tmp_path: Path) -> None:
    folder = tmp_path / "positions"
    folder.mkdir()
    (folder / "a.sgfs").write_text("(;GM[1]FF[4]SZ[9]KM[7];B[cc];W[dd];B[ee])\n")
    file = tmp_path / "mine.cfg"
    file.write_text(
        f"startPosesFromSgfDir = {folder}\nstartPosesProb = 1\nstartPosesLoadProb = 1\n"
        "startPosesTurnWeightLambda = 0\nbSizes = 7\nbSizeRelProbs = 1\n"
    )
    text = text_of([str(file)], ["maxVisits=700"], 0)
    assert text.longest_side == 9
    assert text.sources.draw(1) is not None
    assert "startPoses" not in "".join(key for key in parse(text.text) if key != "startPosesPolicyInitAreaProp")
