"""Which brackets are brackets, in every encoding: the text never decides how many properties there are."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common import sgf
from common.sgf_bytes import main_line

HEAD = "(;GM[1]SZ[9]KM[7]RU[Chinese]"


def names(data: bytes) -> tuple[str, str, tuple[str, ...]]:
    record = sgf.read(data)
    return record.black_name, record.white_name, record.warnings


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
@pytest.mark.parametrize("black", ["José", "é", "Zoë", "Müller", "ÄÖÜ", "Renée", "Ñandú é", "a\\\\é", "é\\] x"])
def test_western_names_without_a_word_of_their_encoding(encoding: str, black: str) -> None:
    shown = re.sub(r"\\(.)", r"\1", black)
    assert names(f"{HEAD}PB[{black}]PW[x];B[aa])".encode(encoding)) == (shown, "x", ())
    declared = HEAD.replace("(;", "(;CA[ISO-8859-1]")
    assert names(f"{declared}PB[{black}]PW[x];B[aa])".encode(encoding)) == (shown, "x", ())


@pytest.mark.parametrize("declared", ["GB2312", "GBK", "Big5", "Shift_JIS"])
@pytest.mark.parametrize("black", ["José", "é", "Renée é"])
def test_western_names_under_the_name_of_another_encoding(declared: str, black: str) -> None:
    head = HEAD.replace("(;", f"(;CA[{declared}]")
    data = f"{head}PB[{black}]PW[Müller];B[aa]C[{black}];W[bb])".encode("latin-1")
    assert names(data) == (black, "Müller", ("the text is not in the encoding that CA names; it was read as CP1252",))
    assert len(sgf.read(data).moves) == 2


FROM_ASIA = [
    ("GB2312", "gb18030", "黑棋"),
    ("gbk", "gb18030", "嶿"),  # its second byte is a closing bracket
    ("GB18030", "gb18030", "俓x"),  # its second byte is a backslash
    ("Shift_JIS", "cp932", "表"),  # so is this one's
    ("SJIS", "cp932", "ソ本"),
    ("Big5", "cp950", "許功蓋"),  # and these
    ("Big5", "cp950", "因"),  # a closing bracket
    ("EUC-JP", "euc_jp", "本因坊"),
    ("EUC-KR", "euc_kr", "이세돌"),
    ("cp949", "cp949", "이세돌"),
    ("UTF-8", "utf-8", "申眞諝"),
    ("ISO-2022-JP", "iso2022_jp", "本因坊"),
    ("windows-1251", "cp1251", "Иван"),
]


@pytest.mark.parametrize(("declared", "codec", "name"), FROM_ASIA)
def test_a_declared_encoding(declared: str, codec: str, name: str) -> None:
    text = f"{HEAD.replace('(;', f'(;CA[{declared}]')}PB[{name}]PW[{name}y]C[{name}\\]{name}];B[aa])"
    record = sgf.read(text.encode(codec))
    assert (record.black_name, record.white_name, record.comment) == (name, f"{name}y", f"{name}]{name}")
    assert len(record.moves) == 1
    assert record.warnings == ()


@pytest.mark.parametrize("name", ["黑棋", "嶿x", "嶿", "俓", "柯洁 九段", "吴清源"])
def test_chinese_without_a_word_of_its_encoding(name: str) -> None:
    assert names(f"{HEAD}PB[{name}]PW[李世石];B[aa])".encode("gb18030")) == (name, "李世石", ())


@pytest.mark.parametrize(
    ("declared", "actual"),
    [("UTF-8", "gb18030"), ("GB2312", "utf-8"), ("Big5", "utf-8"), ("", "gb18030"), ("Shift_JIS", "utf-8")]
    + [("martian", "utf-8"), ("UTF-8", "utf-8-sig"), ("gb2312", "utf-16"), ("undefined", "gb18030")]
    + [(codec, "gb18030") for codec in ("idna", "punycode", "unicode_escape", "zip", "mbcs", "utf-16", "a\0b", "hex")],
)
def test_a_wrong_word(declared: str, actual: str) -> None:
    text = f"{HEAD.replace('(;', f'(;CA[{declared}]')}PB[黑棋]PW[白方];B[aa])"
    black, white, warnings = names(text.encode(actual))
    assert (black, white) == ("黑棋", "白方")
    known = declared in ("", "UTF-8", "GB2312", "gb2312", "Big5", "Shift_JIS")
    assert known or any("is not a known encoding" in warning for warning in warnings)


def test_broken_utf8_stays_utf8() -> None:
    data = f"{HEAD}PB[申眞諝]PW[이세돌];B[aa])".encode()
    black, white, warnings = names(data.replace("申".encode(), "申".encode()[:2]))
    assert (black, white) == ("\ufffd眞諝", "이세돌")
    assert warnings == ("the text is not all UTF-8; characters were replaced",)


RAW = st.binary(max_size=12).map(lambda raw: re.sub(rb"[\\\[\]]", b"", raw))
ESCAPED = st.lists(RAW | st.sampled_from([b"\\]", b"\\\\", b"\\x", b"["]), max_size=4).map(b" ".join)


@given(st.lists(st.tuples(st.sampled_from(["PB", "PW", "C", "GN", "EV"]), ESCAPED), min_size=1, max_size=8))
def test_the_structure_is_that_of_the_bytes(values: list[tuple[str, bytes]]) -> None:
    nodes = b"".join(b";" + name.encode() + b"[" + value + b"]" for name, value in values)
    found = main_line(b"(" + nodes + b")", 100, [])
    assert [list(node) for node in found] == [[name] for name, _ in values]


@given(st.binary(max_size=200).map(lambda tail: b"(;PB[" + tail))
def test_anything_is_a_game_or_an_error(data: bytes) -> None:
    try:
        record = sgf.read(data)
    except sgf.SgfError:
        return
    sgf.read(sgf.write(record).encode("utf-8"))


@pytest.mark.parametrize(
    "data",
    [
        b"(;PB[" + b"\xe9" * 10**5 + b"]GM[1])",
        b"(;PB[" + b"\\\xe9" * 10**5 + b"])",
        b"(;PB[" + b"\xe9\\]" * 10**5 + b"])",
        b"(;" + b"C[\xe9]" * 50_000 + b")",
        b"(;" + b"CA[" * 10**5,
        b"(;CA[idna]PB[" + b"\xe9.-" * 10**5 + b"])",
        b"(;" * 10**5 + b")" * 10**5,
        b"( " * 10**5,
    ],
    ids=range(8),
)
@pytest.mark.timeout(60)
def test_cost_is_linear(data: bytes) -> None:
    with contextlib.suppress(sgf.SgfError):
        sgf.read(data)
