"""The GTP engine: lines, every command with its refusals (engine.md 1, 2), and raw outputs of a real net."""

from __future__ import annotations

import argparse
import gzip
import io
import json
import math
import os
import struct
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from client.commands import gtp
from client.engine.gtp.protocol import MAX_LINE, any_bytes, clean, lines_of, serve
from client.engine.gtp.session import Session
from common.precision import Precision
from nets.evaluation.uniform import UniformEvaluator
from tests import FIXTURES
from tests.client.engine.gtp.talking import Idle, Script, last, make_session, serve_plain, talk
from tests.katago import block
from tests.oracles import oracle_path, records

NETS = FIXTURES / "nets"
NET = "nets/g170-b6c96-s175395328-d26788732.bin.gz"


PAIRS = "Expected a space-separated sequence of <COLOR> <VERTEX> pairs"
SYMMETRY = "Expected a symmetry argument 'all' or index [0-7]"
RAW_ARGUMENTS = (
    "for kata-raw-nn (expected an optional color, a symmetry 'all' or index [0-7], and an optional optimism [0-1])"
)


@pytest.fixture
def engine() -> Iterator[Session]:
    made = make_session()
    yield made
    made.queries.close()


def test_lines() -> None:
    commands = {"echo": lambda words: "|".join(words), "quit": lambda words: "", "fail": lambda words: str(1 // 0)}
    lines = [
        "",
        "  # comment",
        "echo a  b\tc # d",
        "12 echo",
        "7",
        "what",
        "3 what",
        "\x01ec\x7fho \u4e00x",
        "4 quit",
        "echo",
    ]
    assert serve_plain(commands, lines) == (
        "= a|b|c\n\n=12 \n\n?7 empty command\n\n? unknown command\n\n?3 unknown command\n\n= x\n\n=4 \n\n"
    )
    assert clean("a\tb#c") == "a b"


def talk_in_bytes(lines: bytes) -> bytes:
    """Answers of the commands ``echo`` and ``name`` to bytes, over streams as a process has them in an ASCII locale."""
    output = io.BytesIO()
    written = any_bytes(io.TextIOWrapper(output, "ascii", write_through=True))
    commands = {"echo": lambda words: "|".join(words), "name": lambda words: os.fsdecode(b"net\xff")}
    received = list(lines_of(any_bytes(io.TextIOWrapper(io.BytesIO(lines), "ascii"))))
    serve(commands, Script(received), written, Idle())
    return output.getvalue()


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (b"echo caf\xe9 x\n", b"= caf|x\n\n"),
        (b"echo \xc4\xe3\xba\xc3.sgf\n", b"= .sgf\n\n"),
        ("echo 黑.sgf\n".encode(), b"= .sgf\n\n"),
        (b"echo a # \xff\xfe\n", b"= a\n\n"),
        (b"\xef\xbb\xbfecho a\n", b"= a\n\n"),
        (b"echo a\x00b\n", b"= ab\n\n"),
        (b"echo a\r\n", b"= a\n\n"),
        (b"echo a", b"= a\n\n"),
        (b"\x00\n\n\xff\necho a\n", b"= a\n\n"),
        (b"name\n", b"= net\xff\n\n"),
        (
            b"12 echo " + b"a" * 2_500_000 + b"\n13 echo b",
            b"?12 the line has more than 1000000 characters\n\n=13 b\n\n",
        ),
        (b"echo " + b"\xe9" * MAX_LINE, b"? the line has more than 1000000 characters\n\n"),
    ],
    ids=range(12),
)
def test_any_bytes_are_answered(line: bytes, answer: bytes) -> None:
    assert talk_in_bytes(line) == answer


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("kata-set-rules {" + '"ko":[' * 100_000, "the rules are nested too deeply"),
        ("kata-set-rules " + "{" * 1000, "the rules are nested too deeply"),
        ('kata-set-rules {"komi":1' + "0" * 400 + "}", "must be an integer or half-integer"),
        ('kata-set-rules {"ko":{"a":1}}', "must be one of"),
        ("kata-set-rules {", "the rules are not JSON"),
        ("komi nan", "Expected single float argument"),
        ("komi 1_0", "Expected single float argument"),
        ("komi 1e3", "unacceptable komi"),
    ],
    ids=range(8),
)
def test_odd_values_are_refused_without_a_traceback(
    engine: Session, line: str, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = last(engine, line)
    assert found.startswith("? ")
    assert answer in found
    assert len(found) < 1000
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "komi"), [("6,5", "6.5"), ("+6.500", "6.5"), ("-0.0", "0"), ("1e1", "10"), (".5", "0.5")]
)
def test_forms_of_a_komi(engine: Session, text: str, komi: str) -> None:
    assert last(engine, f"komi {text}", "get_komi") == f"= {komi}"


def test_a_failure_of_our_own_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    text = serve_plain({"fail": lambda words: str(1 // 0)}, ["fail", "9 fail"])
    assert text.count("internal error: integer division or modulo by zero") == 2
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_the_program(engine: Session) -> None:
    assert talk(engine, "protocol_version", "1 name", "known_command genmove", "known_command dance") == [
        "= 2",
        "=1 Tengen",
        "= true",
        "= false",
    ]
    assert talk(engine, "version")[0].endswith("+random")
    listed = talk(engine, "list_commands")[0].removeprefix("= ").splitlines()
    required = (
        "protocol_version name version list_commands known_command boardsize rectangular_boardsize clear_board komi "
        "kata-set-rules kata-get-rules set_position play undo showboard final_score quit kata-raw-nn genmove"
    )
    assert set(required.split()) <= set(listed)
    assert talk(engine, "known_command a b") == ["? Expected single argument for known_command but got 'a b'"]
    assert talk(make_session(overrides="gtpName=KataGo"), "name") == ["= KataGo"]


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("boardsize 1", "? unacceptable size"),
        ("boardsize 20", "? unacceptable size (sides up to 19 are supported)"),
        ("boardsize 9 25", "? unacceptable size (sides up to 19 are supported)"),
        ("boardsize", "? Expected int argument for boardsize or pair of ints but got ''"),
        ("boardsize nine", "? Expected int argument for boardsize or pair of ints but got 'nine'"),
        ("komi", "? Expected single float argument for komi but got ''"),
        ("komi many", "? Expected single float argument for komi but got 'many'"),
        ("komi nan", "? Expected single float argument for komi but got 'nan'"),
        ("komi 401", "? unacceptable komi"),
        ("komi inf", "? Expected single float argument for komi but got 'inf'"),
        ("komi 7.3", "? komi must be an integer or half-integer"),
        ("play", "? Expected two arguments for play but got ''"),
        ("play green A1", "? Could not parse color: 'green'"),
        ("play b I5", "? Could not parse vertex: 'I5'"),
        ("play b K1", "? Could not parse vertex: 'K1'"),
        ("play b resign", "? Could not parse vertex: 'resign'"),
        ("undo", "? cannot undo"),
        ("set_position b", f"? {PAIRS} but got 'b'"),
        ("set_position b pass", f"? {PAIRS} but got 'b pass': could not parse vertex: 'pass'"),
        ("set_position x A1", f"? {PAIRS} but got 'x A1': could not parse color: 'x'"),
        (
            "set_position b A1 w A1",
            "? Illegal stone placements - overlapping stones or stones with no liberties?",
        ),
        (
            "set_position b A1 w A2 w B1",
            "? Illegal stone placements - overlapping stones or stones with no liberties?",
        ),
        ("kata-set-rule ko", "? Expected two arguments for kata-set-rule but got 'ko'"),
        ("kata-set-rule colour green", "? Unknown rules option: colour"),
        ("genmove", "? Expected one argument for genmove but got ''"),
        ("genmove x", "? Could not parse color: 'x'"),
        ("fixed_handicap", "? Expected one argument for fixed_handicap but got ''"),
        ("fixed_handicap x", "? Could not parse number of handicap stones: 'x'"),
        ("fixed_handicap 1", "? Number of handicap stones less than 2: '1'"),
        ("fixed_handicap 10", "? Fixed handicap > 9 is not allowed, try place_free_handicap"),
        ("set_free_handicap A1 K9", "? Invalid handicap location: K9"),
        ("set_free_handicap A1 pass", "? Invalid handicap location: pass"),
        ("set_free_handicap A1 A1", "? Handicap placement is invalid"),
        ("set_free_handicap A1", "? Handicap placement is invalid"),
        (
            "kata-raw-nn 8",
            f"? {SYMMETRY} but got '8' {RAW_ARGUMENTS}",
        ),
        (
            "kata-raw-nn 0 1.5",
            f"? {SYMMETRY} but got '0 1.5' {RAW_ARGUMENTS}",
        ),
        ("kata-raw-nn green 0", "? Could not parse color: 'green'"),
    ],
)
def test_refusals(engine: Session, line: str, answer: str) -> None:
    before = talk(engine, "showboard")
    assert talk(engine, line) == [answer]
    assert talk(engine, "showboard") == before


def test_rules(engine: Session) -> None:
    assert last(engine, "kata-set-rules japanese", "kata-get-rules") == (
        '= {"friendlyPassOk":false,"hasButton":false,"ko":"SIMPLE","scoring":"TERRITORY","suicide":false,'
        '"tax":"SEKI","whiteHandicapBonus":"0"}'
    )
    assert last(engine, "get_komi") == "= 7.5"  # the rules' own komi is not taken
    assert last(engine, "kata-set-rule tax ALL", 'kata-set-rules {"ko":"SIMPLE","scoring":"AREA"}', "komi 6") == "= "
    assert json.loads(last(engine, "kata-get-rules")[2:])["suicide"] is True
    assert last(engine, "kata-set-rule suicide false", "kata-set-rule whiteHandicapBonus N-1") == "= "
    assert json.loads(last(engine, "kata-get-rules")[2:])["whiteHandicapBonus"] == "N-1"
    assert talk(engine, "kata-set-rules martian")[0].startswith("? Unknown rules 'martian', ")
    assert talk(engine, "kata-set-rule ko SPIGHT")[0].startswith("? Unknown rules ")
    assert talk(engine, "kata-set-rule ko SPIGHT", "get_komi")[1] == "= 6"


def test_showboard(engine: Session) -> None:
    lines = last(
        engine,
        "boardsize 5:3",
        "komi 6",
        "play b A1",
        "play w A2",
        "play b E3",
        "play w B1",
        "play b pass",
        "showboard",
    ).splitlines()
    assert lines[0].startswith("= MoveNum: 5 HASH: ")
    assert lines[1:] == [
        "   A B C D E",
        " 3 . . . . X1",
        " 2 O . . . .",
        " 1 . O2. . .",
        "Next player: White",
        'Rules: {"friendlyPassOk":false,"hasButton":false,"ko":"POSITIONAL","komi":6.0,"scoring":"AREA",'
        '"suicide":true,"tax":"NONE","whiteHandicapBonus":"0"}',
        "B stones captured: 1",
        "W stones captured: 0",
    ]


def test_play_is_tolerant_and_undo_replays(engine: Session) -> None:
    talk(engine, "boardsize 5", "set_position b B1 b A2 w C1 w B2")
    # a ko: White takes at A1, Black may retake at once although the rules forbid it
    assert talk(engine, "play w A1", "play b B1", "play b C1") == ["= ", "= ", "? illegal move"]
    assert [colour for colour, _ in engine.game.moves] == [2, 1]
    assert talk(engine, "undo", "undo", "undo") == ["= ", "= ", "? cannot undo"]
    assert engine.game.rows()[-1] == ".XO.."
    talk(engine, "clear_board", "play b pass", "play w pass")
    assert engine.game.finished
    assert talk(engine, "play b C3", "play b A1") == ["= ", "= "]


def test_the_cleanup_phase_is_prevented_unless_wanted(engine: Session) -> None:
    passes = ["kata-set-rules japanese", "play b C3", "play w pass", "play b pass", "play w pass", "play b pass"]
    talk(engine, *passes)
    assert (engine.game.phase, engine.game.finished) == (0, False)
    assert talk(engine, "undo", "play w C4") == ["= ", "= "]
    assert engine.game.phase == 0
    wanting = make_session(overrides="preventCleanupPhase=false")
    talk(wanting, *passes)
    assert wanting.game.phase == 2


def test_leading_black_moves_as_handicap(engine: Session) -> None:
    moves = ["kata-set-rules chinese", "play b C3", "play b G7", "play w E5"]
    talk(engine, *moves)
    assert "Handicap bonus score: 2" in last(engine, "showboard")
    other = make_session(overrides="assumeMultipleStartingBlackMovesAreHandicap=false")
    talk(other, *moves)
    assert "Handicap bonus" not in last(other, "showboard")


def test_handicap_stones(engine: Session) -> None:
    assert last(engine, "fixed_handicap 4") == "= C7 G7 C3 G3"
    assert "Next player: White" in last(engine, "showboard")
    assert talk(engine, "fixed_handicap 2", "set_free_handicap A1 B2") == ["? Board is not empty"] * 2
    assert last(engine, "clear_board", "set_free_handicap A1 B2") == "= "
    assert engine.game.to_move == 2
    assert last(engine, "boardsize 19", "fixed_handicap 9") == "= D16 K16 Q16 D10 K10 Q10 D4 K4 Q4"


def test_scores(engine: Session) -> None:
    split = "set_position b C1 b C2 b C3 b C4 b C5 w D1 w D2 w D3 w D4 w D5"
    assert last(engine, "boardsize 5", "komi 0.5", split, "play b pass", "play w pass", "final_score") == "= B+4.5"
    assert last(engine, "komi 5", "final_score") == "= 0"
    assert last(engine, "kata-set-rules chinese", "komi 7", "final_score") == "= W+2.0"  # the random net cannot tell
    assert last(engine, "clear_board", "komi 0", "final_score") == "= 0"


def test_genmove_plays(engine: Session) -> None:
    answer = last(engine, "boardsize 5", "genmove b")
    assert answer.startswith("= ")
    assert len(engine.game.moves) == 1
    assert last(engine, "genmove b").startswith("= ")  # out of turn
    assert [colour for colour, _ in engine.game.moves] == [1, 1]
    talk(engine, "clear_board", "play b pass", "play w pass")
    assert last(engine, "genmove b") == "= pass"


def test_a_net_that_cannot_be_evaluated_is_told_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "huge.bin.gz"
    content = bytearray(gzip.decompress((NETS / "mini-v10-fixup.bin.gz").read_bytes()))
    weights = content.index(b"@BIN@") + 5
    content[weights : weights + 400] = struct.pack("<f", 3e38) * 100
    path.write_bytes(gzip.compress(bytes(content)))
    parser, output = argparse.ArgumentParser(), io.StringIO()
    gtp.add_arguments(parser)
    options = ["--model", str(path), "--use-fp16", "false"]
    assert gtp.run(parser.parse_args(options), ["boardsize 7", "genmove b", "kata-raw-nn 0", "name"], output) == 0
    answers = output.getvalue().split("\n\n")
    assert [answer[:1] for answer in answers] == ["=", "?", "?", "=", ""]
    for answer in answers[1:3]:
        assert answer.startswith("? mini-v10-fixup cannot be evaluated on cpu: ")
        assert "something that is not a number" in answer
        assert "useFP16" not in answer
    assert "Traceback" not in capsys.readouterr().err


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    gtp.add_arguments(parser)
    output = io.StringIO()
    assert gtp.run(parser.parse_args(["--model", "random"]), ["boardsize 3", "quit", "name"], output) == 0
    assert output.getvalue() == "= \n\n= \n\n"
    assert gtp.run(parser.parse_args(["--model", "/nowhere.bin.gz"]), [], output) == 2
    assert "there is no network file /nowhere.bin.gz" in capsys.readouterr().err
    net = tmp_path / "truncated.bin.gz"
    net.write_bytes((NETS / "mini-fixup.bin.gz").read_bytes()[:2000])
    for path, told in ((net, "truncated.bin.gz: "), (tmp_path, "is a folder, not a network file")):
        assert gtp.run(parser.parse_args(["--model", str(path)]), [], output) == 2
        error = capsys.readouterr().err
        assert told in error
        assert "Traceback" not in error
    wrong = ["--model", "random", "--override-config", "maxVisits=0,colour=red"]
    assert gtp.run(parser.parse_args(wrong), [], output) == 2
    assert "override: maxVisits: 0 is not within" in capsys.readouterr().err
    unknown = ["--model", "random", "--override-config", "colour=red"]
    assert gtp.run(parser.parse_args(unknown), [], output) == 0
    assert "warning: override: unknown key colour is ignored" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "precision"),
    [
        ([], Precision.FASTEST),
        (["--use-fp16", "false"], Precision.FLOAT32),
        (["--override-config", "useFP16=false"], Precision.FLOAT32),
        (["--override-config", "useFP16=True"], Precision.SIXTEEN_BIT),
        (["--override-config", "useFP16=true", "--use-fp16", "auto"], Precision.FASTEST),
    ],
)
def test_who_runs_the_engine_says_how_exactly(
    monkeypatch: pytest.MonkeyPatch, options: list[str], precision: Precision
) -> None:
    asked = []

    def load(path: object, *, precision: Precision, length: int, **_: object) -> UniformEvaluator:
        asked.append(precision)
        return UniformEvaluator(length)

    monkeypatch.setattr("nets.evaluation.evaluator.load_evaluator", load)
    parser = argparse.ArgumentParser()
    gtp.add_arguments(parser)
    chosen = parser.parse_args(["--model", "random", *options])
    assert gtp.run(chosen, ["boardsize 5\n", "kata-raw-nn 0\n"], io.StringIO()) == 0
    assert asked == [precision]


# -- with a real net --


@pytest.fixture(scope="module")
def strong() -> Iterator[Session]:
    from nets.evaluation.evaluator import load_evaluator

    made = make_session(
        str(oracle_path(NET)),
        # as the vectors were recorded
        "maxVisits=60,preventCleanupPhase=false,assumeMultipleStartingBlackMovesAreHandicap=false",
        load=lambda network, length: load_evaluator(
            network.path, length=length, device="cpu", threads=1, precision=Precision.FLOAT32
        ),
    )
    yield made
    made.queries.close()


def test_raw_outputs_are_those_of_katago(strong: Session) -> None:
    compared = 0
    for record in records("rawnet"):
        if (record["xSize"], record["ySize"]) != (9, 9) or record["pda"] or record["initialStones"]:
            continue
        rules = json.dumps(record["rules"], separators=(",", ":"))
        moves = [f"play {colour} {vertex}" for colour, vertex in record["moves"]]
        set_up = ["boardsize 9", f"kata-set-rules {rules}", f"komi {record['komi']}"]
        found, expected = block(last(strong, *set_up, *moves, "kata-raw-nn 0")), record["nn"]
        maps = [(found.pop(name), expected[name]) for name in ("policy", "whiteOwnership")]
        for own, recorded in maps:
            assert [len(row) for row in own] == [9] * 9
            for value, wanted in zip(chain(*own), chain(*recorded), strict=True):
                assert math.isnan(value) if wanted is None else value == pytest.approx(wanted, abs=2e-5)
        assert found.pop("symmetry") == 0
        for name, value in found.items():
            tolerance = 2e-3 if "Score" in name or "Lead" in name else 2e-5
            assert value == pytest.approx(expected[name], abs=tolerance + 1e-5 * abs(expected[name])), name
        compared += 1
        if compared == 12:
            break
    assert compared == 12


def test_form_of_the_raw_outputs(strong: Session) -> None:
    text = last(strong, "clear_board", "boardsize 9 5", "komi 7.5", "play b E5", "kata-raw-nn 0")
    lines = text.splitlines()
    assert lines[0] == "= symmetry 0"
    assert [line.split()[0] for line in lines[1:11]] == [
        "whiteWin", "whiteLoss", "noResult", "whiteLead", "whiteScoreSelfplay", "whiteScoreSelfplaySq",
        "varTimeLeft", "shorttermWinlossError", "shorttermScoreError", "policy",
    ]  # fmt: skip
    assert [len(line) for line in lines[11:16]] == [80, 81, 81, 81, 81]  # "    NAN " is a character shorter
    assert lines[11][4 * 9 : 4 * 9 + 8] == "    NAN "
    assert lines[16].startswith("policyPass 0.0")
    assert lines[17] == "whiteOwnership"
    assert [len(line.split()) for line in lines[18:]] == [9] * 5
    everything = last(strong, "kata-raw-nn all").split("symmetry ")[1:]
    assert [each[0] for each in everything] == list("01234567")
    assert last(strong, "kata-raw-nn b 0") != text


def test_the_real_net_chooses_and_estimates(strong: Session) -> None:
    talk(strong, "clear_board", "boardsize 9", "komi 7.5")
    assert last(strong, "play b E5", "play w C5", "play b G4", "genmove w") in ("= D7", "= D3", "= E7", "= E6")
    estimate = last(strong, "kata-set-rules chinese", "final_score")
    assert estimate[:4] in ("= B+", "= W+")
    assert estimate.endswith(".5")


def test_a_lost_engine_resigns(strong: Session) -> None:
    # a stone of White makes it no handicap game, in which White would wait
    lost = " ".join(f"b {column}{row}" for row in (3, 5, 7) for column in "ABCDEFGHJ")
    talk(strong, "clear_board", "boardsize 9", "komi 7.5", f"set_position {lost} w A1")
    answers = [last(strong, "genmove w") for _ in range(3)]
    assert answers[-1] == "= resign"
    assert "= resign" not in answers[:2]
