"""Games as SGF: written exactly as KataGo writes them, read as the world writes them.

A record is text-level: sizes, coordinates and numbers are checked, the legality of moves is not (`common.go.game`,
`common.replay`). Tokens are found by `common.sgf_bytes`; sizes, points, passes and rules are ours, as sgfmill's upper
layers refuse rectangular boards. What a reader has to guess becomes a warning of the record, what it cannot use an
`SgfError` that names the property and the move. Specification: selfplay.md 10, rules.md 1.2, 6.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Final

from sgfmill import sgf_grammar

from common.decimals import real_number
from common.go.basics import BLACK, MAX_LENGTH, MIN_LENGTH, WHITE
from common.go.handicap import fixed_points
from common.go.result import DRAW, VOID
from common.go.rules import MAX_KOMI, Rules, Scoring, komi_text
from common.sgf_bytes import Properties, TooManyNodes, main_line
from common.sgf_record import LETTERS, GameRecord, Move, MoveValues, StartInfo, move_comment, split_comment

__all__ = [
    "MAX_BYTES",
    "MAX_NODES",
    "GameRecord",
    "Move",
    "MoveValues",
    "SgfError",
    "StartInfo",
    "read",
    "read_all",
    "write",
]

MAX_BYTES: Final = 4 * 1024 * 1024
MAX_NODES: Final = 50_000
"""Nodes of a file's main line, and moves of a record."""
_MAX_NAME: Final = 1000
_MOST_POINTS: Final = 99_999
"""Of a result."""
_MAX_SETUP: Final = 10 * MAX_LENGTH**2
"""Points that a file may set up or clear, repeated ones counted."""
TROMP_TAYLOR: Final = Rules()
_COLOURS: Final = {"B": BLACK, "W": WHITE}
_CENTIKOMI: Final = 100.0
"""From here the komi of a foreign file is in hundredths."""
_HALVED_KOMI: Final = ("foxwq", "SGFC:2.0")
"""Programs (``AP``) whose hundredths below `_WHOLE_CENTIKOMI` are of stones, each worth two points."""
_WHOLE_CENTIKOMI: Final = 400.0
_MOST_STONES_OF_KOMI: Final = 5.0
"""Up to here a komi of quarters is in stones, as Chinese counting has it; a stone is worth two points."""


class SgfError(ValueError):
    """A text that is no SGF, or holds a game that cannot be used; says what and where."""


# --------------------------------------------------------------------------------------------------------------------
# Writing
# --------------------------------------------------------------------------------------------------------------------


def write(record: GameRecord, *, plain_rules: bool = False) -> str:
    """One line without its end, in KataGo's order of properties; other programs read it too.

    ``plain_rules``: rules that have a name are told by it, which more programs know.
    """
    rules = record.rules.sgf_name if plain_rules else record.rules.to_short(komi=False)
    size = f"{record.x_size}" if record.x_size == record.y_size else f"{record.x_size}:{record.y_size}"
    parts = [
        f"(;FF[4]GM[1]SZ[{size}]PB[{_escaped(record.black_name)}]PW[{_escaped(record.white_name)}]",
        f"HA[{record.handicap}]KM[{komi_text(record.rules.komi)}]RU[{rules}]",
    ]
    if record.result is not None:
        parts.append(f"RE[{_escaped(record.result)}]")
    for name, colour in (("AB", BLACK), ("AW", WHITE)):
        points = sorted((y, x) for stone, x, y in record.stones if stone == colour)
        if points:
            parts.append(name + "".join(f"[{LETTERS[x]}{LETTERS[y]}]" for y, x in points))
    if not record.moves and record.beginner == WHITE:
        parts.append("PL[W]")
    comment = record.info.to_text() if record.info is not None else record.comment
    if comment:
        parts.append(f"C[{_escaped(comment)}]")
    last = len(record.moves) - 1 if record.resignation is None else None
    parts += [_node(move, record.result if turn == last else None) for turn, move in enumerate(record.moves)]
    if record.resignation is not None:
        parts.append(f";C[{record.resignation.to_text()} result={record.result}]")
    return "".join(parts) + ")"


def _node(move: Move, result: str | None) -> str:
    letter = "B" if move.colour == BLACK else "W"
    point = "" if move.at is None else LETTERS[move.at[0]] + LETTERS[move.at[1]]
    text = f";{letter}[]TR[{point}]" if move.is_pass_for_ko else f";{letter}[{point}]"
    comment = move_comment(move, result)
    return f"{text}C[{_escaped(comment)}]" if comment else text


def _escaped(text: str) -> str:
    """Text for a property value: escaped, and on one line."""
    return " ".join(text.splitlines()).replace("\\", "\\\\").replace("]", "\\]")


# --------------------------------------------------------------------------------------------------------------------
# Reading
# --------------------------------------------------------------------------------------------------------------------


def read(
    data: bytes | str, *, usual: Rules = TROMP_TAYLOR, max_bytes: int = MAX_BYTES, max_nodes: int = MAX_NODES
) -> GameRecord:
    """The first game of a file; of variations the main line.

    Args:
        data: content of a file; `common.sgf_bytes` says how bytes are decoded.
        usual: the rules of a file that names none, and its komi if it has none either.
        max_bytes: longer content is refused unread.
        max_nodes: so are longer games.

    Raises:
        SgfError: too large, not SGF, or a property that cannot be used.
    """
    size = len(data) if isinstance(data, bytes) else len(data.encode("utf-8", "surrogatepass"))
    if size > max_bytes:
        raise SgfError(f"the file has {size} bytes, the limit is {max_bytes}")
    warnings: list[str] = []
    try:
        nodes = main_line(data if isinstance(data, bytes) else data.encode("utf-8", "replace"), max_nodes, warnings)
    except TooManyNodes:
        raise SgfError(f"the game has more than {max_nodes} nodes") from None
    except ValueError as error:
        raise SgfError(f"not readable as SGF: {error}") from None
    return _record(nodes, usual, warnings)


def read_all(data: bytes | str, *, max_bytes: int = MAX_BYTES) -> Iterator[GameRecord]:
    """The games of a ``.sgfs`` file, one a line; blank lines are passed over.

    Raises:
        SgfError: as `read`, with the line's number.
    """
    content = data.encode("utf-8", "replace") if isinstance(data, str) else data
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            try:
                yield read(line, max_bytes=max_bytes)
            except SgfError as error:
                raise SgfError(f"line {number}: {error}") from None


def _record(nodes: list[Properties], usual: Rules, warnings: list[str]) -> GameRecord:
    root = nodes[0]
    game = _text(root, "GM")
    if game not in ("", "1"):
        raise SgfError(f"GM[{game[:20]}] is not Go, which is GM[1]")
    x_size, y_size = _size(_text(root, "SZ"))
    info, comment = _root_comment(_text(root, "C"), warnings)
    rules = _rules(root, usual, warnings, is_ours=info is not None)
    body = _Body(x_size, y_size, rules.scoring == Scoring.TERRITORY)
    for number, properties in enumerate(nodes):
        body.add(number, properties)
    handicap = _handicap(_text(root, "HA"), warnings)
    stones = body.sorted_stones()
    if handicap >= 2 and not stones and (not body.moves or body.moves[0].colour == WHITE):
        stones = _missing_handicap_stones(x_size, y_size, handicap, warnings)
        if not body.moves and "PL" not in root:
            body.beginner = WHITE
    return GameRecord(
        x_size=x_size,
        y_size=y_size,
        rules=rules,
        black_name=_simple_text(root, "PB")[:_MAX_NAME],
        white_name=_simple_text(root, "PW")[:_MAX_NAME],
        handicap=handicap,
        stones=stones,
        moves=tuple(body.moves),
        result=_result(_text(root, "RE"), warnings),
        resignation=body.values_without_move,
        info=info,
        comment=comment,
        beginner=BLACK if body.moves else body.beginner,
        warnings=tuple(warnings),
    )


class _Body:
    """Collects stones and moves from the nodes, in their order."""

    def __init__(self, x_size: int, y_size: int, may_pass_for_ko: bool) -> None:
        self.x_size, self.y_size = x_size, y_size
        self.may_pass_for_ko = may_pass_for_ko
        self.stones: dict[tuple[int, int], int] = {}
        self.set_up = 0
        self.moves: list[Move] = []
        self.beginner = BLACK
        self.values_without_move: MoveValues | None = None

    def add(self, number: int, properties: Properties) -> None:
        """Take in one node; ``number`` 0 is the root."""
        place = "the root" if number == 0 else f"node {number}, after move {len(self.moves)}"
        self._add_setup(place, properties)
        colours = [name for name in ("B", "W") if name in properties]
        if len(colours) == 2:
            raise SgfError(f"{place}: both B and W in one node")
        if colours:
            self._add_move(colours[0], properties)
        elif number > 0 and self.moves and "C" in properties:
            self.values_without_move = split_comment(_text(properties, "C"))[0]

    def _add_setup(self, place: str, properties: Properties) -> None:
        for name, colour in (("AE", None), ("AB", BLACK), ("AW", WHITE)):
            for value in properties.get(name, ()):
                if self.moves:
                    raise SgfError(f"{place}: {name} changes the board in the middle of the game")
                for point in self._points(f"{place}: {name}", value.decode("utf-8", "replace")):
                    self.set_up += 1
                    if self.set_up > _MAX_SETUP:
                        raise SgfError(f"{place}: {name}: more than {_MAX_SETUP} points are set up")
                    if colour is None:
                        self.stones.pop(point, None)
                    elif self.stones.get(point, colour) != colour:
                        raise SgfError(f"{place}: {name}: both colours at {LETTERS[point[0]]}{LETTERS[point[1]]}")
                    else:
                        self.stones[point] = colour
        player = _text(properties, "PL").strip()[:1].upper()
        if player in _COLOURS and not self.moves:
            self.beginner = _COLOURS[player]

    def _add_move(self, name: str, properties: Properties) -> None:
        place = f"move {len(self.moves) + 1}: {name}"
        self.values_without_move = None
        at = self._move_point(place, _text(properties, name).strip())
        values, comment = split_comment(_text(properties, "C"))
        marks = properties.get("TR", [])
        is_pass_for_ko = at is None and len(marks) == 1 and self.may_pass_for_ko
        if is_pass_for_ko:
            at = self._point(f"{place}[] with TR", marks[0].decode("utf-8", "replace").strip())
        self.moves.append(Move(_COLOURS[name], at, is_pass_for_ko, values, comment))

    def _move_point(self, place: str, text: str) -> tuple[int, int] | None:
        """None for a pass: an empty value or, as older programs write it, ``tt``."""
        if text in ("", "tt") or text.lower() == "pass":
            return None
        return self._point(place, text)

    def _point(self, place: str, text: str) -> tuple[int, int]:
        x, y = (LETTERS.find(text[0]), LETTERS.find(text[1])) if len(text) == 2 else (-1, -1)
        if x < 0 or y < 0:
            raise SgfError(f"{place}[{text[:10]}] is not a point")
        if x >= self.x_size or y >= self.y_size:
            raise SgfError(f"{place}[{text}] lies outside the board of {self.x_size}x{self.y_size}")
        return x, y

    def _points(self, place: str, text: str) -> Iterator[tuple[int, int]]:
        """One point, or all of a rectangle ``aa:cc``."""
        first, colon, last = text.strip().partition(":")
        left, top = self._point(place, first)
        right, bottom = self._point(place, last) if colon else (left, top)
        yield from ((x, y) for y in range(top, bottom + 1) for x in range(left, right + 1))

    def sorted_stones(self) -> tuple[tuple[int, int, int], ...]:
        """``(colour, x, y)``, Black's first, row by row."""
        stones = sorted((colour, y, x) for (x, y), colour in self.stones.items())
        return tuple((colour, x, y) for colour, y, x in stones)


def _text(properties: Properties, name: str) -> str:
    """Value of a property without its escapes; empty if absent."""
    values = properties.get(name)
    return sgf_grammar.text_value(values[0]).decode("utf-8", "replace") if values else ""


def _simple_text(properties: Properties, name: str) -> str:
    """As `_text`, of a value of one line (FF[4] SimpleText): its line breaks are blanks."""
    values = properties.get(name)
    return sgf_grammar.simpletext_value(values[0]).decode("utf-8", "replace") if values else ""


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"\s*(\d{1,3})\s*(?:[:x]\s*(\d{1,3})\s*)?", text or "19")
    if found is None:
        raise SgfError(f"SZ[{text[:20]}] is not a board size such as 19 or 9:7")
    x_size, y_size = int(found[1]), int(found[2] or found[1])
    if not (MIN_LENGTH <= x_size <= MAX_LENGTH and MIN_LENGTH <= y_size <= MAX_LENGTH):
        raise SgfError(f"SZ[{text[:20]}]: sides from {MIN_LENGTH} to {MAX_LENGTH} can be played")
    return x_size, y_size


def _root_comment(text: str, warnings: list[str]) -> tuple[StartInfo | None, str]:
    try:
        info = StartInfo.from_text(text)
    except ValueError as error:
        warnings.append(str(error))
        return None, text
    return info, "" if info is not None else text


def _rules(root: Properties, usual: Rules, warnings: list[str], *, is_ours: bool) -> Rules:
    name = _simple_text(root, "RU").strip()
    rules, taken = usual, "Tromp-Taylor rules" if usual == TROMP_TAYLOR else f"the rules {usual.sgf_name}"
    if name:
        try:
            rules = Rules.parse(name)
        except ValueError:
            warnings.append(f"RU[{name[:60]}] is not a known rule set; {taken} were taken")
    else:
        warnings.append(f"RU is missing; {taken} were taken")
    text = _text(root, "KM").strip()
    if not text:
        warnings.append(f"KM is missing; the usual komi of the rules, {komi_text(rules.komi)}, was taken")
        return rules
    komi = _komi(text, warnings, program="" if is_ours else _text(root, "AP"), is_ours=is_ours)
    if komi == 0 and not is_ours:
        warnings.append("KM[0] was kept; some servers write it where the komi is unknown")
    return rules.with_komi(komi)


def _komi(text: str, warnings: list[str], *, program: str, is_ours: bool) -> float:
    """A komi in points, also where a server wrote hundredths, or Chinese counting in stones (3.75 is 7.5 points)."""
    try:
        komi = real_number(text)
    except ValueError as error:
        raise SgfError(f"KM[{text[:20]}] {error}") from None
    scaled = komi if is_ours or abs(komi) < _CENTIKOMI else komi / _CENTIKOMI
    stones = [2 * scaled]
    if scaled != komi and abs(komi) < _WHOLE_CENTIKOMI and any(name in program for name in _HALVED_KOMI):
        candidates = stones
    else:
        candidates = [scaled, *(stones if abs(scaled) < _MOST_STONES_OF_KOMI else []), komi]
    points = next((points for points in candidates if (2 * points).is_integer() and abs(points) <= MAX_KOMI), None)
    if points is None:
        raise SgfError(f"KM[{text[:20]}] is not a komi: an integer or half-integer within ±{MAX_KOMI:g}")
    if points != komi:
        warnings.append(f"KM[{text[:20]}] was read as {komi_text(points)} points")
    return points


def _handicap(text: str, warnings: list[str]) -> int:
    try:
        stones = real_number(text or "0")
    except ValueError:
        stones = -1.0
    if 0 <= stones <= MAX_LENGTH**2 and stones.is_integer():
        return int(stones)
    warnings.append(f"HA[{text[:20]}] is not a number of stones; 0 was taken")
    return 0


def _missing_handicap_stones(
    x_size: int, y_size: int, handicap: int, warnings: list[str]
) -> tuple[tuple[int, int, int], ...]:
    try:
        points = fixed_points(x_size, y_size, handicap)
    except ValueError as error:
        raise SgfError(f"HA[{handicap}] without stones: {error}") from None
    warnings.append(f"HA[{handicap}] has no stones; they were put on the fixed handicap points")
    return tuple((BLACK, x, y) for x, y in points)


def _result(text: str, warnings: list[str]) -> str | None:
    text = text.strip()
    if text in ("", "?"):
        return None
    if text.lower() in ("draw", "jigo"):
        return DRAW
    with contextlib.suppress(ValueError):
        if real_number(text) == 0:
            return DRAW
    if text.lower() == "void":
        return VOID
    colour, plus, amount = text[:1].upper(), text[1:2], text[2:].strip()
    if colour in _COLOURS and plus == "+":
        if re.fullmatch(r"(?:[RrTtFf][A-Za-z]*)?", amount):
            return f"{colour}+{amount[:1].upper()}"
        with contextlib.suppress(ValueError):
            points = real_number(amount)
            if 0 <= points <= _MOST_POINTS and amount[0] not in "+-":
                return f"{colour}+{_points_text(points)}"
    warnings.append(f"RE[{text[:30]}] is not a known result; it was passed over")
    return None


def _points_text(points: float) -> str:
    """At most three decimals, without needless ones."""
    return f"{points:.3f}".rstrip("0").rstrip(".")
