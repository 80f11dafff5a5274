"""A request for an analysis: one JSON object, checked field by field in KataGo's order and refused in its words.

Knows what fields mean, and no search. Lines and what else they may ask are in `client.engine.analysis_lines`.
Specification: engine.md 10.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from client.engine.analysis_lines import SHOWN, to_json
from client.engine.analysis_settings import AnalysisConfig, AnalysisSettings, SettingsReader, with_root_temperature
from client.engine.position import IllegalMoveError, game_after
from common.config_text import ConfigError
from common.go.game import Game
from common.go.points import BLACK, MAX_LENGTH, MIN_LENGTH, PASS, WHITE, from_vertex, to_vertex
from common.go.rules import MAX_KOMI, Rules
from common.go.start import GameStart, Stone
from common.parameters import SearchParameters

MAX_VISITS: Final = 2**50
MAX_PRIORITY: Final = 2**62
MAX_PV_LENGTH: Final = 1000
MAX_DEPTH: Final = 10**9
COLOURS: Final[Mapping[str, int]] = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}

_PAIRS: Final = "Must specify an array of [player,location] pairs"
_PAIR: Final = 'Must be an array of pairs of the form: ["b" or "w", GTP board vertex]'
_TURNS: Final = "Must specify an array of integers indicating turns to analyze"
_RULES: Final = (
    'Must specify rules string, such as "chinese" or "tromp-taylor", or a JSON object with detailed rules parameters.'
)
_KOMI: Final = f"Must be a integer or half-integer from {-MAX_KOMI} to {MAX_KOMI}"
_MOVE_LISTS: Final = "Must be a list of dicts with subfields 'player', 'moves', 'untilDepth'"
_UNUSED: Final = (
    "Unexpected or unused field, do you have a typo? (set warnUnusedFields=false in the config to disable this warning)"
)


class QueryError(ValueError):
    """Why a request is refused; ``field`` is the one that is wrong."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(text)
        self.field = field


@dataclass(frozen=True, slots=True)
class QueryWarning:
    """What was ignored in a request that is answered all the same."""

    field: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Include:
    """What the answer holds beyond moves and values, each asked for by the field of its name (`_INCLUDED`)."""

    ownership: bool = False
    ownership_stdev: bool = False
    moves_ownership: bool = False
    moves_ownership_stdev: bool = False
    policy: bool = False
    pv_visits: bool = False
    no_result_value: bool = False


_INCLUDED: Final[Mapping[str, str]] = {
    "includeOwnership": "ownership",
    "includeOwnershipStdev": "ownership_stdev",
    "includeMovesOwnership": "moves_ownership",
    "includeMovesOwnershipStdev": "moves_ownership_stdev",
    "includePolicy": "policy",
    "includePVVisits": "pv_visits",
    "includeNoResultValue": "no_result_value",
}


@dataclass(frozen=True, slots=True)
class MoveList:
    """Moves that ``colour`` may not play, or the only ones it may, in the first ``depth`` turns from the root."""

    colour: int
    points: tuple[int, ...]
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisQuery:
    """What is to be analysed, and how."""

    id: str
    start: GameStart
    moves: tuple[Stone, ...]  # all of them can be played
    turns: tuple[tuple[int, int], ...]  # (number of moves before the position, its priority)
    search: SearchParameters
    settings: AnalysisSettings
    include: Include
    avoid: tuple[MoveList, ...] = ()
    allow: tuple[MoveList, ...] = ()
    report_every: float | None = None  # seconds, as the next
    first_report: float | None = None
    warnings: tuple[QueryWarning, ...] = ()

    def game(self, turn: int) -> Game:
        """The game before move ``turn``."""
        return game_after(self.start, self.moves[:turn], prevents_cleanup=self.settings.prevent_cleanup_phase)


def parse_query(fields: Mapping[str, Any], reader: SettingsReader) -> AnalysisQuery:
    """Read a request whose ``id`` is a text.

    Raises:
        QueryError: the first field that is missing or wrong.
    """
    given = _Fields(fields)
    size = given.size("boardXSize"), given.size("boardYSize")
    stones = given.stones("initialStones", *size, passes=False) if given.has("initialStones") else ()
    moves = given.stones("moves", *size, passes=True)
    to_move = given.colour("initialPlayer") if given.has("initialPlayer") else _first_player(stones, moves)
    turns = _read_turns(given, len(moves))
    rules = _read_rules(given)
    config, warnings = _read_settings(given, reader)
    search, settings = _read_search(given, config)
    include = Include(**{name: given.boolean(field) for field, name in _INCLUDED.items()})
    report_every = given.seconds("reportDuringSearchEvery")
    first_report = given.seconds("firstReportDuringSearchAfter")
    avoid, allow = _read_move_lists(given, *size)
    start = GameStart(
        *size,
        rules=rules,
        stones=tuple({point: (colour, point) for colour, point in stones}.values()),
        to_move=to_move,
        leading_moves_are_handicap=settings.assume_black_moves_are_handicap,
    )
    if settings.warn_unused_fields:
        warnings += [QueryWarning(name[:SHOWN], _UNUSED) for name in given.unused()]
    query = AnalysisQuery(
        id=fields["id"],
        start=start,
        moves=moves,
        turns=turns,
        search=search,
        settings=settings,
        include=include,
        avoid=avoid,
        allow=allow,
        report_every=report_every,
        first_report=first_report if first_report is not None else report_every,
        warnings=tuple(warnings),
    )
    _check_moves(query)
    return query


def _check_moves(query: AnalysisQuery) -> None:
    """QueryError if stones cannot stand so, or at the first move that cannot be played at all."""
    try:
        query.game(len(query.moves))
    except IllegalMoveError as error:
        vertex = to_vertex(query.moves[error.index][1], query.start.y_size)
        raise QueryError("moves", f"Illegal move {error.index}: {vertex}") from None
    except ValueError:
        text = "Illegal stone placements - overlapping stones or stones with no liberties?"
        raise QueryError("initialStones", text) from None


def _first_player(stones: Sequence[Stone], moves: Sequence[Stone]) -> int:
    if moves:
        return moves[0][0]
    colours = list({point: colour for colour, point in stones}.values())
    return WHITE if colours.count(BLACK) >= 2 and WHITE not in colours else BLACK


def _read_turns(given: _Fields, num_moves: int) -> tuple[tuple[int, int], ...]:
    """Which positions are analysed, each with its priority."""
    turns = [num_moves]
    if given.has("analyzeTurns"):
        turns = given.integers("analyzeTurns", _TURNS)
        for turn in turns:
            if not 0 <= turn <= num_moves:
                raise QueryError("analyzeTurns", f"Invalid turn number: {turn}")
    priorities = [0] * len(turns)
    if given.has("priority"):
        text = "Must be an integer from -2^62 to 2^62"
        priorities = [given.integer("priority", -MAX_PRIORITY, MAX_PRIORITY, text)] * len(turns)
    if given.has("priorities"):
        if given.has("priority"):
            raise QueryError("priorities", "Cannot specify both priority and priorities")
        if not given.has("analyzeTurns"):
            raise QueryError("priorities", "Can only specify when also specifying analyzeTurns")
        priorities = given.integers("priorities", "Must specify an array of integers indicating priorities")
        if len(priorities) != len(turns):
            raise QueryError("priorities", "Must be of matching length to analyzeTurns")
        if any(abs(priority) > MAX_PRIORITY for priority in priorities):
            raise QueryError("priorities", "Must be integers from -2^62 to 2^62")
    return tuple(sorted(dict(zip(turns, priorities, strict=True)).items()))


def _read_rules(given: _Fields) -> Rules:
    """With komi."""
    value = given.take("rules")
    if isinstance(value, str):
        rules = _parsed_rules(value, value)
    elif isinstance(value, dict):
        rules = _parsed_rules(value, to_json(value))
    else:
        raise QueryError("rules", _RULES)
    if given.has("komi"):
        komi = given.take("komi")
        if not _is_number(komi) or not abs(komi) <= MAX_KOMI or not float(2 * komi).is_integer():
            raise QueryError("komi", _KOMI)
        rules = rules.with_komi(komi)
    if given.has("whiteHandicapBonus"):
        bonus = given.take("whiteHandicapBonus")
        try:
            changed = Rules.from_json({"whiteHandicapBonus": bonus}).white_handicap_bonus
        except ValueError:
            raise QueryError("whiteHandicapBonus", 'Must be a string equal to "0", "N", or "N-1"') from None
        rules = dataclasses.replace(rules, white_handicap_bonus=changed)
    return rules


def _parsed_rules(value: str | Mapping[str, Any], shown: str) -> Rules:
    try:
        return Rules.parse(value) if isinstance(value, str) else Rules.from_json(value)
    except ValueError:
        raise QueryError("rules", f"Could not parse rules: {shown[:SHOWN]}") from None


def _read_settings(given: _Fields, reader: SettingsReader) -> tuple[AnalysisConfig, list[QueryWarning]]:
    field = "overrideSettings"
    if not given.has(field):
        return reader.config, []
    changes = given.take(field)
    if not isinstance(changes, dict):
        raise QueryError(field, "Must be an object")
    if not changes:
        return reader.config, []
    texts = {key: value if isinstance(value, str) else to_json(value) for key, value in changes.items()}
    try:
        config = reader.overridden(texts)
    except ConfigError as error:
        raise QueryError(field, f"Could not set settings: {' - '.join(str(error).splitlines())}") from None
    unknown = [key[:SHOWN] for key in config.unknown]
    return config, [QueryWarning(field, f"Unknown config params: {','.join(unknown)}")] if unknown else []


def _read_search(given: _Fields, config: AnalysisConfig) -> tuple[SearchParameters, AnalysisSettings]:
    """The settings with what the request's own fields say of the search."""
    search, settings = config.search, config.settings
    if given.has("maxVisits"):
        visits = given.integer("maxVisits", 1, MAX_VISITS, "Must be an integer from 1 to 2^50")
        search = dataclasses.replace(search, max_visits=visits)
    if given.has("analysisPVLen"):
        length = given.integer("analysisPVLen", 1, MAX_PV_LENGTH, f"Must be an integer from 1 to {MAX_PV_LENGTH}")
        settings = dataclasses.replace(settings, pv_length=length)
    if given.has("rootFpuReductionMax"):
        reduction = given.number("rootFpuReductionMax", 0.0, 2.0, "Must be a number from 0.0 to 2.0")
        search = dataclasses.replace(search, root_fpu_reduction_max=reduction)
    if given.has("rootPolicyTemperature"):
        temperature = given.number("rootPolicyTemperature", 0.01, 100.0, "Must be a number from 0.01 to 100.0")
        search = with_root_temperature(search, temperature)
    return search, settings


def _read_move_lists(given: _Fields, x_size: int, y_size: int) -> tuple[tuple[MoveList, ...], tuple[MoveList, ...]]:
    """``avoidMoves`` and ``allowMoves``."""
    avoid = given.move_lists("avoidMoves", x_size, y_size)
    allow = given.move_lists("allowMoves", x_size, y_size)
    if avoid and allow:
        raise QueryError("allowMoves", "Cannot specify both allowMoves and avoidMoves")
    if len({entry.colour for entry in allow}) < len(allow):
        raise QueryError("allowMoves", "Cannot specify allowMoves for a player more than once")
    return avoid, allow


class _Fields:
    """The fields of one request, and which of them were asked for."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields
        self._known = {"id"}

    def has(self, name: str) -> bool:
        self._known.add(name)
        return name in self._fields

    def take(self, name: str) -> Any:
        """The value of a field, None if it is not there."""
        self._known.add(name)
        return self._fields.get(name)

    def unused(self) -> list[str]:
        return [name for name in self._fields if name not in self._known]

    def size(self, name: str) -> int:
        return self.integer(name, MIN_LENGTH, MAX_LENGTH, f"Must provide an integer from {MIN_LENGTH} to {MAX_LENGTH}")

    def integer(self, name: str, low: int, high: int, refusal: str) -> int:
        value = self.take(name)
        if not _is_integer(value) or not low <= value <= high:
            raise QueryError(name, refusal)
        return int(value)

    def integers(self, name: str, refusal: str) -> list[int]:
        values = self.take(name)
        if not isinstance(values, list) or not all(_is_integer(value) for value in values):
            raise QueryError(name, refusal)
        return values

    def number(self, name: str, low: float, high: float, refusal: str) -> float:
        value = self.take(name)
        if not _is_number(value) or not low <= value <= high:
            raise QueryError(name, refusal)
        return float(value)

    def seconds(self, name: str) -> float | None:
        """A number of seconds; None if the field is not there."""
        if not self.has(name):
            return None
        return self.number(name, 0.001, 1_000_000.0, "Must be number of seconds from 0.001 to 1000000.0")

    def boolean(self, name: str) -> bool:
        """False if the field is not there."""
        value = self.take(name) if self.has(name) else False
        if not isinstance(value, bool):
            raise QueryError(name, "Must be a boolean")
        return value

    def colour(self, name: str) -> int:
        value = self.take(name)
        if not isinstance(value, str) or value.lower() not in COLOURS:
            raise QueryError(name, 'Must be "b" or "w"')
        return COLOURS[value.lower()]

    def stones(self, name: str, x_size: int, y_size: int, *, passes: bool) -> tuple[Stone, ...]:
        """Pairs of colour and vertex."""
        pairs = self.take(name)
        if not isinstance(pairs, list):
            raise QueryError(name, _PAIRS)
        return tuple(self._stone(name, pair, x_size, y_size, passes) for pair in pairs)

    def _stone(self, name: str, pair: object, x_size: int, y_size: int, passes: bool) -> Stone:
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)):
            raise QueryError(name, _PAIR)
        colour = COLOURS.get(pair[0].lower())
        if colour is None:
            raise QueryError(name, f"Could not parse player: {pair[0][:SHOWN]}")
        return colour, self._point(name, pair[1], x_size, y_size, passes)

    def _point(self, name: str, vertex: str, x_size: int, y_size: int, passes: bool = True) -> int:
        try:
            point = from_vertex(vertex[:SHOWN], x_size, y_size)
        except ValueError:
            point = None
        if point is None or (point == PASS and not passes):
            raise QueryError(name, f"Could not parse board location: {vertex[:SHOWN]}")
        return point

    def move_lists(self, name: str, x_size: int, y_size: int) -> tuple[MoveList, ...]:
        """``avoidMoves`` or ``allowMoves``; empty if the field is not there."""
        entries = self.take(name) if self.has(name) else []
        if not isinstance(entries, list):
            raise QueryError(name, _MOVE_LISTS)
        return tuple(self._move_list(name, entry, x_size, y_size) for entry in entries)

    def _move_list(self, name: str, entry: object, x_size: int, y_size: int) -> MoveList:
        if not isinstance(entry, dict) or not {"player", "moves", "untilDepth"} <= entry.keys():
            raise QueryError(name, _MOVE_LISTS)
        player, moves, depth = entry["player"], entry["moves"], entry["untilDepth"]
        if not isinstance(player, str) or player.lower() not in COLOURS:
            raise QueryError(name, 'Must be "b" or "w"')
        if not isinstance(moves, list) or not all(isinstance(move, str) for move in moves):
            raise QueryError(name, "Must specify an array of moves")
        if not _is_integer(depth) or not 1 <= depth <= MAX_DEPTH:
            raise QueryError(name, f"Must be an integer from 1 to {MAX_DEPTH}")
        points = tuple(dict.fromkeys(self._point(name, move, x_size, y_size) for move in moves))
        return MoveList(COLOURS[player.lower()], points, depth)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
