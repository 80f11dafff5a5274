"""SGF: KataGo's form exactly, and what the world writes (selfplay.md 10)."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common import sgf
from common.go.basics import BLACK, WHITE
from common.go.rules import NAMED_RULES, HandicapBonus, Ko, Rules, Scoring, Tax
from common.sgf import GameRecord, Move, MoveValues, SgfError, StartInfo
from common.sgf_record import GAME_TYPES
from tests.oracles import oracle_path

HASH = "0E37A1B2C3D4E5F60718293A4B5C6D7E"

# Written by hand from the format of selfplay.md 10.
RESIGNED = (
    "(;FF[4]GM[1]SZ[9:7]PB[main-s1-d2]PW[main-s3-d4]HA[0]KM[-3.5]RU[koSIMPLEscoreAREAtaxALLsui0button1]RE[W+R]"
    f"C[startTurnIdx=1,initTurnNum=0,gameHash={HASH},gtype=normal,bTimeUsed=1.5,wTimeUsed=2]"
    ";B[ee];W[]C[0.52 0.48 0.00 0.2 v=4];C[0.96 0.04 0.00 -0.0 v=8 result=W+R])"
)
CLEANUP = (
    "(;FF[4]GM[1]SZ[9]PB[a]PW[a]HA[0]KM[6]RU[koSIMPLEscoreTERRITORYtaxSEKIsui0]RE[0]AB[ca][ab][bb]AW[cb][dc]"
    f"C[startTurnIdx=0,initTurnNum=30,gameHash={HASH},gtype=cleanuptraining,beganInEncorePhase=2,pdaWhite=-1.37869,"
    "newNeuralNetTurn5=b,newNeuralNetTurn9=c]"
    ";W[]TR[ba]C[Pass for ko 0.50 0.50 0.00 1.1 v=24 rv=48 weight=0.94];B[]C[0.50 0.50 0.01 0.0 v=24 weight=1.00]"
    ";W[]C[0.50 0.50 0.00 0.0 v=24 weight=1.00 result=0])"
)


def test_top_moves_of_a_search() -> None:
    text = "0.50 0.50 0.00 1.1 v=24 rv=48 weight=0.94 top=dd:40:0.31,pass:3:-0.20,aB:0:1.00"
    values = MoveValues.from_text(text)
    assert values is not None
    assert values.top == (((3, 3), 40, 0.31), (None, 3, -0.2), ((0, 27), 0, 1.0))
    assert values.to_text() == text
    for wrong in ("top=", "top=dd:40", "top=dd:40:0.31,", "top=d1:40:0.31", "top=dd:40:0.3"):
        assert MoveValues.from_text("0.50 0.50 0.00 1.1 v=24 " + wrong) is None


def test_hand_written_games_in_katagos_form() -> None:
    resigned = sgf.read(RESIGNED)
    assert sgf.write(resigned) == RESIGNED
    assert resigned.warnings == ()
    assert (resigned.x_size, resigned.y_size, resigned.result) == (9, 7, "W+R")
    assert resigned.rules == Rules(Ko.SIMPLE, Scoring.AREA, Tax.ALL, False, True, komi=-3.5)
    assert resigned.moves == (Move(BLACK, (4, 4)), Move(WHITE, None, values=MoveValues(0.52, 0.48, 0.0, 0.2, 4)))
    assert resigned.resignation == MoveValues(0.96, 0.04, 0.0, 0.0, 8)
    assert resigned.info == StartInfo(start_turn=1, game_hash=HASH, seconds=(1.5, 2.0))

    cleanup = sgf.read(CLEANUP)
    assert sgf.write(cleanup) == CLEANUP
    assert cleanup.first_player == WHITE
    assert cleanup.stones == ((BLACK, 2, 0), (BLACK, 0, 1), (BLACK, 1, 1), (WHITE, 2, 1), (WHITE, 3, 2))
    assert cleanup.moves[0].is_pass_for_ko
    assert cleanup.moves[0].at == (1, 0)
    assert cleanup.moves[0].values == MoveValues(0.5, 0.5, 0.0, 1.1, 24, 48, 0.94)
    assert cleanup.info is not None
    assert (cleanup.info.began_in_phase, cleanup.info.first_turn, cleanup.info.white_doublings) == (2, 30, -1.37869)
    assert cleanup.info.new_networks == ((5, "b"), (9, "c"))


@pytest.mark.parametrize("name", ["clean/2815F1F8D49191CC.sgfs", "full/5FD50813C1D65817.sgfs"])
def test_katagos_games_are_read_and_written_to_the_letter(name: str) -> None:
    text = oracle_path(f"vectors/selfplay/{name}").read_text(encoding="utf-8")
    lines = text.splitlines()
    records = list(sgf.read_all(text.encode()))
    assert [sgf.write(record) for record in records] == lines
    assert all(record.warnings == () for record in records)
    assert [record.counted_handicap() for record in records] == [record.handicap for record in records]
    turns = sum(len(record.moves) for record in records)
    print(f"{name}: {len(records)} games, {turns} moves")
    assert turns == text.count(";B[") + text.count(";W[")
    assert len(records) == {"clean": 12, "full": 14}[name.partition("/")[0]]


# -- what the world writes --


def world(properties: str, moves: str = ";B[dd];W[pp]") -> GameRecord:
    return sgf.read(f"(;GM[1]FF[4]{properties}{moves})")


def test_missing_properties() -> None:
    record = world("")
    assert (record.x_size, record.y_size, record.rules) == (19, 19, Rules())
    assert record.warnings == (
        "RU is missing; Tromp-Taylor rules were taken",
        "KM is missing; the usual komi of the rules, 7.5, was taken",
    )
    assert sgf.read(sgf.write(record)) == record


@pytest.mark.parametrize(
    ("properties", "komi", "warned"),
    [
        ("RU[Chinese]KM[375]", 7.5, "KM[375] was read as 7.5 points"),
        ("RU[Chinese]KM[650]", 6.5, "KM[650] was read as 6.5 points"),
        ("RU[Japanese]KM[650]", 6.5, "KM[650] was read as 6.5 points"),
        ("RU[Chinese]KM[750]", 7.5, "KM[750] was read as 7.5 points"),
        ("RU[Chinese]KM[3.75]", 7.5, "KM[3.75] was read as 7.5 points"),
        ("RU[Chinese]KM[2.75]", 5.5, "KM[2.75] was read as 5.5 points"),
        ("RU[Chinese]KM[0]", 0.0, "KM[0] was kept"),
        ("RU[Japanese]KM[6.50]", 6.5, None),
        ("RU[Japanese]KM[6.500000]", 6.5, None),
        ("RU[Japanese]KM[+6.5]", 6.5, None),
        ("RU[Japanese]KM[6,5]", 6.5, None),
        ("RU[Japanese]KM[ 6.5 ]", 6.5, None),
        ("RU[Chinese]KM[7e0]", 7.0, None),
        ("RU[Chinese]KM[7.50000000000000000000]", 7.5, None),
        ("RU[Chinese]KM[375.000]", 7.5, "KM[375.000] was read as 7.5 points"),
        ("AP[foxwq]RU[Chinese]KM[350]", 7.0, "KM[350] was read as 7 points"),
        ("AP[foxwq]RU[Chinese]KM[375]", 7.5, "KM[375] was read as 7.5 points"),
        ("AP[foxwq]RU[Chinese]KM[325]", 6.5, "KM[325] was read as 6.5 points"),
        ("AP[foxwq]RU[Chinese]KM[275]", 5.5, "KM[275] was read as 5.5 points"),
        ("AP[foxwq]RU[Japanese]KM[650]", 6.5, "KM[650] was read as 6.5 points"),
        ("AP[foxwq]RU[Chinese]KM[750]", 7.5, "KM[750] was read as 7.5 points"),
        ("AP[foxwq]RU[Chinese]KM[700]", 7.0, "KM[700] was read as 7 points"),
        ("AP[foxwq]RU[Chinese]KM[550]", 5.5, "KM[550] was read as 5.5 points"),
        ("AP[foxwq]RU[Japanese]KM[6.5]", 6.5, None),
        ("AP[foxwq]RU[Chinese]KM[0]", 0.0, "KM[0] was kept"),
        ("AP[SGFC:2.0]RU[Chinese]KM[350]", 7.0, "KM[350] was read as 7 points"),
        ("AP[CGoban:3]RU[Chinese]KM[350]", 3.5, "KM[350] was read as 3.5 points"),
        ("RU[Japanese]KM[-5]", -5.0, None),
        ("RU[AGA]KM[7.]", 7.0, None),
        ("RU[Japanese]", 6.5, "KM is missing; the usual komi of the rules, 6.5, was taken"),
    ],
)
def test_komi_of_the_servers(properties: str, komi: float, warned: str | None) -> None:
    record = world(properties)
    assert record.rules.komi == komi
    assert [text for text in record.warnings if warned is None or warned not in text] == []
    assert len(record.warnings) == (warned is not None)


def test_our_own_large_komi_is_taken_as_it_stands() -> None:
    line = RESIGNED.replace("KM[-3.5]", "KM[150]")
    assert sgf.read(line).rules.komi == 150
    assert sgf.read(line).warnings == ()


def test_rules_by_name() -> None:
    assert world("RU[Japanese]KM[6.5]").rules.scoring == Scoring.TERRITORY
    assert world("RU[Chinese]KM[7.5]").rules.white_handicap_bonus == HandicapBonus.N
    unknown = world("RU[Martian]KM[7.5]")
    assert unknown.rules == Rules()
    assert unknown.warnings == ("RU[Martian] is not a known rule set; Tromp-Taylor rules were taken",)
    usual = NAMED_RULES["aga"].with_komi(3.5)
    for text, warning in (("RU[Martian]", "RU[Martian] is not a known rule set"), ("", "RU is missing")):
        other = sgf.read(f"(;GM[1]SZ[9]{text};B[cc])", usual=usual)
        assert other.rules == usual
        assert other.warnings[0] == f"{warning}; the rules AGA were taken"


def test_handicap_without_stones_gets_the_fixed_points() -> None:
    record = world("RU[Japanese]KM[0.5]HA[4]", ";W[cc]")
    assert record.stones == ((BLACK, 3, 3), (BLACK, 15, 3), (BLACK, 3, 15), (BLACK, 15, 15))
    assert "HA[4] has no stones" in record.warnings[0]
    assert record.first_player == WHITE
    assert world("RU[Japanese]KM[0.5]HA[2]", "").first_player == WHITE
    assert world("RU[Japanese]KM[0.5]HA[2]", ";B[dd];B[pp];W[cc]").stones == ()
    assert world("SZ[9]HA[2]KM[0.5]", ";W[cc]").stones == ((BLACK, 6, 2), (BLACK, 2, 6))
    assert world("HA[zwei]KM[0.5]RU[Japanese]").warnings == ("HA[zwei] is not a number of stones; 0 was taken",)
    with pytest.raises(SgfError, match=r"HA\[5\] without stones: 5 fixed handicap stones on 8x8: from 2 to 4"):
        world("SZ[8]HA[5]", ";W[cc]")


def test_counting_handicap_stones() -> None:
    assert world("AB[dd][pp]", ";W[cc]").counted_handicap() == 2
    assert world("", ";B[dd];B[pp];W[cc]").counted_handicap() == 2
    assert world("", ";B[dd];W[];B[pp];W[cc]").counted_handicap() == 2
    assert world("", ";B[dd];B[dq];W[];W[]").counted_handicap() == 0
    assert world("AB[dd]AW[pp]", ";B[cc];W[cd]").counted_handicap() == 0
    assert world("AB[dd]AW[pp]", ";B[cc];W[];B[dc];W[cd]").counted_handicap() == 0
    assert world("", ";B[dd];W[cc]").counted_handicap() == 0


def test_variations_setup_and_odd_nodes() -> None:
    record = sgf.read("junk (;SZ[5]AB[aa:bb]AW[ee] ; PL[W] ;W[cc](;B[dd];W[];B[tt])(;B[ed])) trailing")
    assert [move.at for move in record.moves] == [(2, 2), (3, 3), None, None]
    assert len(record.stones) == 5
    erased = sgf.read("(;SZ[5]AB[aa:cc];AE[bb]PL[W])")
    assert len(erased.stones) == 8
    assert erased.first_player == WHITE
    assert sgf.read(sgf.write(erased)) == erased
    commented = sgf.read("(;SZ[5]C[Hello\\] there];B[aa]C[nice\nmove];N[empty];W[bb]C[ok result=B+R])")
    assert commented.comment == "Hello] there"
    assert [move.comment for move in commented.moves] == ["nice\nmove", "ok"]
    assert commented.resignation is None


def test_a_mark_on_a_pass_means_something_only_in_cleanup() -> None:
    assert world("SZ[5]RU[Chinese]KM[7]", ";B[]TR[aa]").moves[0] == Move(BLACK, None)
    assert world("SZ[5]RU[Japanese]KM[7]", ";B[]TR[aa]").moves[0] == Move(BLACK, (0, 0), is_pass_for_ko=True)
    assert world("SZ[5]RU[Japanese]KM[7]", ";B[]TR[aa][bb]").moves[0] == Move(BLACK, None)


def test_encodings_and_line_ends() -> None:
    text = "(;GM[1]SZ[9]KM[7]RU[Chinese]\r\nPB[黑棋]PW[白]C[乗];B[aa]\r\n;W[bb])"
    plain = sgf.read(text.encode("utf-8"))
    assert plain.black_name == "黑棋"
    # in GB18030 the second byte of this character is a closing bracket
    brackets = "(;GM[1]SZ[9]KM[7]RU[Chinese]PB[嶿x]CA[gb2312];B[aa])"
    assert "嶿".encode("gb18030")[1:] == b"]"
    assert sgf.read(brackets.encode("gb18030")).black_name == "嶿x"
    assert sgf.read(text.encode("gb18030")) == plain
    assert sgf.read(b"\xef\xbb\xbf" + text.encode("utf-8")) == plain
    assert sgf.read(text.replace("(;", "(;CA[Big5]", 1).encode("big5", "ignore")).white_name == "白"


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r", "\n\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030", "cp932"])
def test_line_ends_and_escapes_within_values(line_end: str, encoding: str) -> None:
    """FF[4]: an escaped line break is none; one of Text stays, whatever it is written as; of SimpleText it is a blank.

    The second byte of ソ and 表 is a backslash in Shift_JIS.
    """
    charset = {"cp932": "CA[Shift_JIS]", "gb18030": "CA[GB18030]"}.get(encoding, "")
    text = (
        f"(;GM[1]{charset}SZ[9]KM[7]RU[Chinese{line_end}]PB[ソ\\]{line_end}表]PW[a\\{line_end}b\\\\]"
        f"C[one\\]\\:{line_end}two\\{line_end}three{line_end}{line_end}ソ\\\\];{line_end}B[aa]{line_end};W[bb])"
    )
    record = sgf.read(text.encode(encoding))
    assert (record.black_name, record.white_name) == ("ソ] 表", "ab\\")
    assert record.comment == "one]:\ntwothree\n\nソ\\"
    assert (len(record.moves), record.rules.with_komi(7.5), record.warnings) == (2, Rules.parse("chinese"), ())


def test_a_byte_order_mark_before_western_text() -> None:
    assert sgf.read("(;GM[1]SZ[9]KM[7]RU[Chinese]PB[Müller\\]é];B[aa])".encode("latin-1")).black_name == "Müller]é"
    marked = b"\xef\xbb\xbf" + "(;GM[1]SZ[9]KM[7]RU[Chinese]PB[Müller];B[aa])".encode("latin-1")
    assert sgf.read(marked).black_name == "Müller"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B+R", "B+R"),
        ("W+Resign", "W+R"),
        ("W+6.50", "W+6.5"),
        ("W+6.500000", "W+6.5"),
        ("W+ 6,5", "W+6.5"),
        ("W+12", "W+12"),
        ("W+.5", "W+0.5"),
        ("B+120", "B+120"),
        ("B+3.75", "B+3.75"),
        ("B+-3", None),
        ("B+1e9", None),
        ("B+nan", None),
        ("B6.5", None),
        ("b+12.50", "B+12.5"),
        ("W+Time", "W+T"),
        ("B+F", "B+F"),
        ("W+", "W+"),
        ("Draw", "0"),
        ("0", "0"),
        ("0.0", "0"),
        ("0,00", "0"),
        ("1.5", None),
        ("0x", None),
        ("Void", "Void"),
        ("?", None),
        ("", None),
        ("black wins", None),
    ],
)
def test_results(text: str, expected: str | None) -> None:
    record = world(f"KM[7]RU[Chinese]RE[{text}]")
    assert record.result == expected
    assert len(record.warnings) == (expected is None and text not in ("", "?"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not readable as SGF: no SGF data found"),
        ("hello", "no SGF data found"),
        ("(;GM[1]", "unexpected end"),
        ("(;GM[1];B[aa]", "unexpected end"),
        ("(;GM[3])", r"GM\[3\] is not Go"),
        ("(;SZ[1])", r"SZ\[1\]: sides from 2 to 19"),
        ("(;SZ[19:20])", r"SZ\[19:20\]: sides from 2 to 19"),
        ("(;SZ[big])", r"SZ\[big\] is not a board size"),
        ("(;KM[lots])", r"KM\[lots\] is not a number"),
        ("(;KM[7.3])", r"KM\[7.3\] is not a komi"),
        ("(;KM[7.25])", r"KM\[7.25\] is not a komi"),
        ("(;KM[99999])", r"KM\[99999\] is not a komi"),
        ("(;SZ[9];B[aa];W[jj])", r"move 2: W\[jj\] lies outside the board of 9x9"),
        ("(;SZ[9];B[a])", r"move 1: B\[a\] is not a point"),
        ("(;SZ[9];B[a1])", r"move 1: B\[a1\] is not a point"),
        ("(;SZ[9];B[aa]W[bb])", "node 1, after move 0: both B and W"),
        ("(;SZ[9];B[aa];AB[cc])", "node 2, after move 1: AB changes the board in the middle"),
        ("(;SZ[9]AB[aa]AW[aa])", "the root: AW: both colours at aa"),
        ("(;SZ[9]AB[zz])", r"the root: AB\[zz\] lies outside"),
        ("(;SZ[9]RU[Japanese];B[]TR[zz])", r"move 1: B\[\] with TR\[zz\] lies outside"),
    ],
)
def test_what_cannot_be_used_is_said_with_its_place(text: str, message: str) -> None:
    with pytest.raises(SgfError, match=message):
        sgf.read(text)


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("gtype=normal", "gtype=strange", "gtype=strange in the root comment is none of normal, "),
        (",gtype=normal", "", "the root comment lacks gtype"),
        (HASH, "0E37", "gameHash in the root comment is not 32 hexadecimal digits"),
        ("startTurnIdx=1", "startTurnIdx=-1", "startTurnIdx=-1 in the root comment is not an integer from 0"),
        ("initTurnNum=0", "initTurnNum", "'initTurnNum' in the root comment is not key=value, or given twice"),
        ("bTimeUsed=1.5", "bTimeUsed=1.5,bTimeUsed=1", "is not key=value, or given twice"),
        ("bTimeUsed=1.5", "bTimeUsed=fast", "bTimeUsed=fast in the root comment is not a number"),
    ],
)
def test_a_broken_root_comment_is_a_warning(right: str, wrong: str, message: str) -> None:
    record = sgf.read(RESIGNED.replace(right, wrong))
    assert record.info is None
    assert record.comment.startswith("startTurnIdx=")
    assert message in record.warnings[0]


def test_unknown_keys_of_the_root_comment_are_passed_over() -> None:
    assert sgf.read(RESIGNED.replace("gtype=normal", "gtype=normal,mood=good")).info == sgf.read(RESIGNED).info


def test_limits() -> None:
    with pytest.raises(SgfError, match="the file has 60 bytes, the limit is 50"):
        sgf.read("(;SZ[9]" + " " * 52 + ")", max_bytes=50)
    with pytest.raises(SgfError, match="more than 10 nodes"):
        sgf.read("(;SZ[9]" + ";B[aa]" * 20 + ")", max_nodes=10)
    with pytest.raises(SgfError, match="the root: AB: more than 3610 points are set up"):
        sgf.read("(;AB" + "[aa:ss]" * 11 + ")")
    deep = "(;SZ[9]" + "(;B[aa]" * 5000 + ")" * 5001
    assert len(sgf.read(deep).moves) == 5000
    with pytest.raises(SgfError, match="line 3: "):
        list(sgf.read_all("(;SZ[9])\n\n(;SZ[99])\n"))


# -- the law: what is written reads back --

_HUNDREDTHS = st.integers(0, 100).map(lambda value: value / 100)
_VALUES = st.builds(
    MoveValues,
    _HUNDREDTHS,
    _HUNDREDTHS,
    _HUNDREDTHS,
    st.integers(-9999, 9999).map(lambda value: value / 10),
    st.integers(1, 10**6),
    st.none() | st.integers(1, 10**6),
    st.none() | st.integers(0, 9999).map(lambda value: value / 100),
)
_WORD = st.text(st.characters(exclude_categories=["Z", "C"]), max_size=12)
_INFO = st.builds(
    StartInfo,
    start_turn=st.integers(0, 1000),
    first_turn=st.integers(0, 1000),
    game_hash=st.integers(0, 2**128 - 1).map(lambda value: f"{value:032X}"),
    game_type=st.sampled_from(GAME_TYPES),
    began_in_phase=st.integers(0, 2),
    used_initial_position=st.booleans(),
    white_doublings=st.none() | st.integers(-300, 300).map(lambda value: value / 100),
    new_networks=st.dictionaries(
        st.integers(0, 1000), st.from_regex(r"[a-z0-9-]{1,9}", fullmatch=True), max_size=2
    ).map(lambda networks: tuple(networks.items())),
    seconds=st.none() | st.tuples(st.integers(0, 9999).map(float), st.integers(0, 9999).map(float)),
)


@st.composite
def _rules(draw: st.DrawFn) -> Rules:
    scoring = draw(st.sampled_from(Scoring))
    return Rules(
        draw(st.sampled_from(Ko)),
        scoring,
        draw(st.sampled_from(Tax)),
        draw(st.booleans()),
        scoring == Scoring.AREA and draw(st.booleans()),
        draw(st.sampled_from(HandicapBonus)),
        draw(st.booleans()),
        draw(st.integers(-199, 199)) / 2,
    )


@st.composite
def game_records(draw: st.DrawFn) -> GameRecord:
    x_size, y_size = draw(st.integers(2, 19)), draw(st.integers(2, 19))
    rules = draw(_rules())
    points = st.tuples(st.integers(0, x_size - 1), st.integers(0, y_size - 1))
    colours = st.sampled_from((BLACK, WHITE))
    stones = draw(st.dictionaries(points, colours, max_size=8))
    moves = draw(st.lists(st.builds(Move, colours, st.none() | points, values=st.none() | _VALUES), max_size=8))
    for index, move in enumerate(moves):
        if rules.scoring == Scoring.TERRITORY and move.at is not None and draw(st.booleans()):
            moves[index] = replace(move, is_pass_for_ko=True)
        elif move.values is None:
            moves[index] = replace(move, comment=draw(_WORD))
    result = draw(st.sampled_from((None, "B+R", "W+12.5", "B+3", "0", "Void", "W+R")))
    resigned = moves and result is not None and result.endswith("R") and draw(st.booleans())
    info = draw(st.none() | _INFO)
    return GameRecord(
        x_size=x_size,
        y_size=y_size,
        rules=rules,
        black_name=draw(_WORD),
        white_name=draw(_WORD),
        handicap=0 if not stones else draw(st.sampled_from((0, 2, 3, 9))),
        stones=tuple((colour, x, y) for colour, y, x in sorted((c, y, x) for (x, y), c in stones.items())),
        moves=tuple(moves),
        result=result,
        resignation=draw(_VALUES) if resigned else None,
        info=info,
        comment="" if info is not None else draw(_WORD),
        beginner=BLACK if moves else draw(colours),
    )


@settings(deadline=None)
@given(game_records())
def test_what_is_written_reads_back(record: GameRecord) -> None:
    line = sgf.write(record)
    assert "\n" not in line
    again = sgf.read(line)
    assert again == record
    assert sgf.write(again) == line
    assert sgf.read(line.encode("utf-8")) == record


@settings(deadline=None)
@given(
    st.text(max_size=300) | st.binary(max_size=300) | st.from_regex(r"\(;(SZ\[..?\]|B\[..\]|;|\(|\)|C\[.*\]){0,9}\)")
)
def test_no_text_does_more_than_an_error(data: str | bytes) -> None:
    with contextlib.suppress(SgfError):
        sgf.read(data)
