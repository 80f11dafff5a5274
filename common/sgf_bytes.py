"""From the bytes of an SGF file to its nodes: first the brackets are found, then the text between them is decoded.

In most encodings a byte of a bracket is a bracket. In those of China and Japan it may be the second half of a
character; a file in one of these that names it (``CA``) is decoded before it is parsed, unless that swallows
properties, and one that does not only where its bytes cannot be meant as they stand. So what a name is written in never
takes a property away. Tokens and escapes are sgfmill's. Knows no property but ``CA``.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

from sgfmill import sgf_grammar

Properties = dict[str, list[bytes]]
"""Values of a node by property, still escaped, in UTF-8."""

_UTF8: Final = "utf-8"
_FROM_CHINA: Final = "gb18030"
_WESTERN: Final = ("cp1252", "latin-1")
_ONE_STREAM: Final = (_FROM_CHINA, "cp932", "cp950")
"""Encodings in which a byte of ASCII may be half a character, in the order in which they are tried."""
_NAMES: Final = {
    **dict.fromkeys(("utf8", "unicode"), _UTF8),
    **dict.fromkeys(("gb2312", "gbk", "gb18030", "cp936", "euccn", "windows936"), _FROM_CHINA),
    **dict.fromkeys(("shiftjis", "sjis", "xsjis", "cp932", "windows31j", "mskanji"), "cp932"),
    **dict.fromkeys(("big5", "cp950", "big5hkscs", "windows950"), "cp950"),
    **dict.fromkeys(("eucjp", "xeucjp"), "euc_jp"),
    **dict.fromkeys(("euckr", "ksc56011987", "ksx1001"), "euc_kr"),
    **dict.fromkeys(("cp949", "uhc", "windows949"), "cp949"),
    **dict.fromkeys(("latin1", "ascii", "usascii", "iso88591"), "cp1252"),
    **{f"iso8859{part}": f"iso8859_{part}" for part in (2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15, 16)},
    **{f"{prefix}125{page}": f"cp125{page}" for page in range(9) for prefix in ("windows", "cp")},
    **dict.fromkeys(("koi8r", "koi8"), "koi8_r"),
    "koi8u": "koi8_u",
    "iso2022jp": "iso2022_jp",
    "macroman": "mac_roman",
}
"""Codecs by the names that files use, in small letters and digits. No others are used: some of Python's codecs are no
encodings of text, some raise errors of their own kinds, some take time with the square of the length."""
_WITH_SHIFTS: Final = "iso2022_jp"
"""All of its bytes are ASCII's; what they mean follows from the escapes before them."""
_PARSED_AFTER_DECODING: Final = {*_ONE_STREAM, "cp949", _WITH_SHIFTS}
_DECLARED: Final = re.compile(rb"(?<![A-Za-z])CA\s{0,8}\[([^\]]{1,40})\]")
_SEARCHED: Final = 4096
_MARKS: Final = ((codecs.BOM_UTF8, _UTF8), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DOUBTFUL: Final = re.compile(rb"[\x81-\xfe]\\\]")
"""An escaped bracket, or the second half of a character and the end of a value."""
_PAIR: Final = re.compile(rb"[\x81-\xfe]([\x30-\xfe])")


class TooManyNodes(ValueError):
    """The main line is longer than what was asked for."""


def main_line(data: bytes, max_nodes: int, warnings: list[str]) -> list[Properties]:
    """The nodes of the first game in ``data``, of variations the first. Takes time in proportion to the length.

    Args:
        data: content of a file.
        max_nodes: longer games are refused.
        warnings: gets a sentence for each guess.

    Raises:
        ValueError: no SGF; `TooManyNodes`.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            body = data[len(mark) :]
            data = body if encoding == _UTF8 else body.decode(encoding, "replace").encode(_UTF8, "replace")
            break
    declared = _declared(data, warnings)
    is_ascii_with_shifts = declared == _WITH_SHIFTS and b"\x1b" in data
    if _fits(data, _UTF8) and not is_ascii_with_shifts:
        return _nodes(sgf_grammar.parse_sgf_game(data), max_nodes)
    nodes = _decoded_first(data, (declared,), max_nodes) if declared in _PARSED_AFTER_DECODING else None
    if nodes is not None and (
        declared == _WITH_SHIFTS or _properties(nodes) >= _properties(_parsed(data, max_nodes) or [])
    ):
        return nodes
    try:
        nodes = _nodes(sgf_grammar.parse_sgf_game(data), max_nodes)
    except TooManyNodes:
        raise
    except ValueError:
        nodes = _decoded_first(data, _ONE_STREAM, max_nodes)
        if nodes is None:
            raise
        return nodes
    if declared is None and _DOUBTFUL.search(data):
        other = _decoded_first(data, _ONE_STREAM, max_nodes)
        if other is not None:
            return other
    return _in_utf8(nodes, declared, warnings)


def _declared(data: bytes, warnings: list[str]) -> str | None:
    """The codec that the file names, None if there is none of that name."""
    found = _DECLARED.search(data[:_SEARCHED])
    if found is None:
        return None
    given = found[1].decode("ascii", "replace").strip()
    codec = _NAMES.get(re.sub(r"[^a-z0-9]", "", given.lower()))
    if codec is None and given:
        warnings.append(f"CA[{given}] is not a known encoding; the text was guessed")
    return codec


def _decoded_first(data: bytes, encodings: tuple[str | None, ...], max_nodes: int) -> list[Properties] | None:
    """The nodes by the first of ``encodings`` in which the whole is text and SGF; None if there is none."""
    for encoding in encodings:
        try:
            text = data.decode(encoding or _UTF8)
        except UnicodeDecodeError:
            continue
        nodes = _parsed(text.encode(_UTF8, "replace"), max_nodes)
        if nodes is not None:
            return nodes
    return None


def _parsed(data: bytes, max_nodes: int) -> list[Properties] | None:
    """The nodes of ``data`` as its bytes stand; None if they are no SGF."""
    try:
        return _nodes(sgf_grammar.parse_sgf_game(data), max_nodes)
    except TooManyNodes:
        raise
    except ValueError:
        return None


def _properties(nodes: list[Properties]) -> int:
    """How many properties there are.

    Read in an encoding that is not its own, a text whose last letter is no ASCII swallows the bracket after it, and so
    the next property. In its own encoding a character that has the byte of a bracket leaves no SGF if that is taken for
    one: the bracket that ends the value is then one too many.
    """
    return sum(map(len, nodes))


def _nodes(tree: sgf_grammar.Coarse_game_tree, max_nodes: int) -> list[Properties]:
    nodes: list[Properties] = []
    place = tree
    while len(nodes) <= max_nodes:
        nodes += place.sequence
        if not place.children:
            break
        place = place.children[0]
    # Python frees a tree by recursion, and a file may nest a million variations
    trees = [tree]
    while trees:
        place = trees.pop()
        trees += place.children
        place.children = []
    if len(nodes) > max_nodes:
        raise TooManyNodes
    return nodes


def _in_utf8(nodes: list[Properties], declared: str | None, warnings: list[str]) -> list[Properties]:
    """The nodes with their text in UTF-8: from the declared encoding, or from the one that it looks like."""
    foreign = [value for node in nodes for values in node.values() for value in values if not value.isascii()]
    encoding = _encoding_of(b"\n".join(foreign), declared)
    if declared not in (None, encoding, *_WESTERN):
        warnings.append(f"the text is not in the encoding that CA names; it was read as {encoding.upper()}")
    converted = {value: value.decode(encoding, "replace") for value in foreign}
    if any("\ufffd" in text for text in converted.values()):
        warnings.append(f"the text is not all {encoding.upper()}; characters were replaced")
    return [
        {
            name: [converted[value].encode(_UTF8) if value in converted else value for value in values]
            for name, values in node.items()
        }
        for node in nodes
    ]


def _encoding_of(sample: bytes, declared: str | None) -> str:
    """The codec of a text that is not UTF-8 throughout.

    In Chinese text bytes beyond ASCII come in pairs, in European text they stand alone between letters.
    """
    if declared is not None and declared != _UTF8 and _fits(sample, declared):
        return declared
    lenient = sample.decode(_UTF8, "replace")
    broken = lenient.count("\ufffd")
    if sum(not character.isascii() for character in lenient) > 2 * broken:
        return _UTF8
    if _fits(sample, _FROM_CHINA):
        seconds = b"".join(_PAIR.findall(sample))
        if 2 * sum(byte >= 0x80 for byte in seconds) > len(seconds):
            return _FROM_CHINA
    return next(encoding for encoding in _WESTERN if _fits(sample, encoding))


def _fits(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True
