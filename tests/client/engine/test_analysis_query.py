"""Requests of the analysis engine: fields, defaults, warnings, and each refusal in KataGo's words (engine.md 10)."""

from __future__ import annotations

import io
from typing import Any

import pytest

from client.engine.analysis_lines import (
    MAX_LINE,
    Action,
    LineError,
    error_object,
    lines_of,
    read_action,
    read_object,
    to_json,
)
from client.engine.analysis_query import AnalysisQuery, QueryError, QueryWarning, parse_query
from client.engine.analysis_settings import Perspective, SettingsReader
from common.config_text import ConfigError, parse, parse_overrides
from common.go.points import BLACK, PASS, WHITE, from_vertex, to_vertex
from common.go.rules import HandicapBonus

READER = SettingsReader()
REQUEST: dict[str, Any] = {
    "id": "a",
    "moves": [["b", "C3"], ["W", "pass"]],
    "rules": "japanese",
    "boardXSize": 9,
    "boardYSize": 9,
}
ENTRY: dict[str, Any] = {"player": "b", "moves": ["C4"], "untilDepth": 1}
PAIRS = "Must specify an array of [player,location] pairs"
PAIR = 'Must be an array of pairs of the form: ["b" or "w", GTP board vertex]'
LISTS = "Must be a list of dicts with subfields 'player', 'moves', 'untilDepth'"
SIZE = "Must provide an integer from 2 to 19"


def query(**changes: Any) -> AnalysisQuery:
    """The request with ``changes``; None leaves a field out."""
    return parse_query({name: value for name, value in (REQUEST | changes).items() if value is not None}, READER)


def point(vertex: str) -> int:
    return from_vertex(vertex, 9, 9)


def test_the_defaults() -> None:
    found = query()
    assert (found.start.x_size, found.start.y_size, found.start.to_move, found.start.stones) == (9, 9, BLACK, ())
    assert found.start.rules.komi == 6.5
    assert found.moves == ((BLACK, point("C3")), (WHITE, PASS))
    assert found.turns == ((2, 0),)
    assert found.search == READER.config.search
    assert found.settings == READER.config.settings
    assert (found.report_every, found.first_report, found.warnings) == (None, None, ())
    assert not found.include.any_ownership
    assert found.game(1).to_move == WHITE


def test_every_field_is_heard() -> None:
    found = query(
        initialStones=[["b", "A1"], ["w", "A1"], ["b", "B9"]],
        moves=[["w", "C3"]],
        rules={"ko": "SITUATIONAL", "scoring": "AREA", "tax": "ALL", "suicide": True},
        komi=-3,
        whiteHandicapBonus="N-1",
        analyzeTurns=[1, 0],
        priorities=[5, -7],
        maxVisits=10**7,
        rootPolicyTemperature=1.5,
        rootFpuReductionMax=0.5,
        analysisPVLen=3,
        includePolicy=True,
        includeMovesOwnership=True,
        allowMoves=[{"player": "W", "moves": ["pass", "C4", "c4"], "untilDepth": 3}],
        overrideSettings={"reportAnalysisWinratesAs": "BLACK", "cpuctExploration": 2, "nnRandomize": "false"},
        reportDuringSearchEvery=0.5,
    )
    assert dict(found.start.stones) == {WHITE: point("A1"), BLACK: point("B9")}
    assert found.start.to_move == WHITE
    assert (found.start.rules.komi, found.start.rules.white_handicap_bonus) == (-3.0, HandicapBonus.N_MINUS_1)
    assert found.turns == ((0, -7), (1, 5))
    assert found.search.max_visits == 10**7
    assert (found.search.root_policy_temperature, found.search.root_policy_temperature_early) == (1.5, 1.5)
    assert (found.search.root_fpu_reduction_max, found.search.cpuct_exploration) == (0.5, 2.0)
    assert found.search.nn_randomize is False
    assert (found.settings.pv_length, found.settings.perspective) == (3, Perspective.BLACK)
    assert found.include.policy
    assert found.include.any_ownership
    assert len(found.avoid) == 80  # all of 9x9 and the pass, but for two
    assert {(each.colour, each.until_depth) for each in found.avoid} == {(WHITE, 3)}
    assert not {PASS, point("C4")} & {each.point for each in found.avoid}
    assert (found.report_every, found.first_report) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("stones", "moves", "player"),
    [
        ([], [], BLACK),
        ([["b", "A1"], ["b", "B1"]], [], WHITE),
        ([["b", "A1"], ["b", "A1"]], [], BLACK),
        ([["b", "A1"], ["b", "B1"], ["w", "C1"]], [], BLACK),
        ([], [["w", "A1"]], WHITE),
    ],
)
def test_who_moves_first(stones: Any, moves: Any, player: int) -> None:
    assert query(initialStones=stones, moves=moves).start.to_move == player
    assert query(initialStones=stones, moves=moves, initialPlayer="w").start.to_move == WHITE


@pytest.mark.parametrize(
    ("placed", "standing"),
    [
        ("bA1 wA1", {"A1": WHITE}),
        ("wA1 bA2 bB1", {"A2": BLACK, "B1": BLACK}),  # the last one takes the corner
        ("wA2 wB1 bA1", {"A2": WHITE, "B1": WHITE}),  # and here it takes nothing, not even its own point
        ("bA1 bA2 bB1 bB2", {}),
    ],
)
def test_stones_are_placed_as_katago_places_them(placed: str, standing: dict[str, int]) -> None:
    size = 2 if "bB2" in placed else 9
    stones = [[word[0], word[1:]] for word in placed.split()]
    found = query(initialStones=stones, moves=[], boardXSize=size, boardYSize=size).start
    assert {to_vertex(point, size): colour for colour, point in found.stones} == standing


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    *(({"boardXSize": size}, "boardXSize", SIZE) for size in (None, 1, 20, "9", 9.5, True, 10**30)),
    ({"boardYSize": None}, "boardYSize", SIZE),
    ({"moves": None}, "moves", PAIRS),
    ({"moves": {}}, "moves", PAIR),
    ({"moves": [["b"]]}, "moves", PAIR),
    ({"moves": [["b", 3]]}, "moves", PAIR),
    ({"moves": [["x", "C3"]]}, "moves", "Could not parse player: x"),
    ({"moves": [["b", "Z3"]]}, "moves", "Could not parse board location: Z3"),
    ({"moves": [["b", "C3"], ["w", "C3"]]}, "moves", "Illegal move 1: C3"),
    ({"initialStones": 1}, "initialStones", PAIR),
    ({"initialStones": [["b", "pass"]]}, "initialStones", "Could not parse board location: pass"),
    ({"initialPlayer": "x"}, "initialPlayer", 'Must be "b" or "w"'),
    ({"analyzeTurns": "x"}, "analyzeTurns", "Must specify an array of integers indicating turns to analyze"),
    ({"analyzeTurns": [3]}, "analyzeTurns", "Invalid turn number: 3"),
    ({"priorities": [1]}, "priorities", "Can only specify when also specifying analyzeTurns"),
    ({"priorities": [1], "analyzeTurns": [0, 1]}, "priorities", "Must be of matching length to analyzeTurns"),
    ({"rules": "foo"}, "rules", "Could not parse rules: foo"),
    ({"rules": {"ko": "x"}}, "rules", 'Could not parse rules: {"ko":"x"}'),
    ({"priority": 2**62}, "priority", "Must be a number between -2^62 and 2^62"),
    (
        {"priority": 1, "priorities": [1], "analyzeTurns": [0]},
        "priority",
        "Cannot specify both priority and priorities",
    ),
    ({"priorities": [2**63], "analyzeTurns": [0]}, "priorities", f"Invalid priority: {2**63}"),
    ({"whiteHandicapBonus": 3}, "whiteHandicapBonus", "Must be a string"),
    ({"whiteHandicapBonus": "x"}, "whiteHandicapBonus", "Invalid whiteHandicapBonus rule: x"),
    ({"avoidMoves": [ENTRY | {"player": "x"}]}, "player", 'Must be "b" or "w"'),
    ({"avoidMoves": [ENTRY | {"moves": "C4"}]}, "moves", "Must be an array of GTP board vertices"),
    ({"allowMoves": [ENTRY | {"moves": ["Z9"]}]}, "moves", "Could not parse board location: Z9"),
    ({"avoidMoves": [ENTRY | {"untilDepth": 0}]}, "untilDepth", "Must be a positive integer"),
    (
        {"allowMoves": [ENTRY, ENTRY]},
        "allowMoves",
        "Cannot specify allowMoves more than once for the same player",
    ),
    ({"avoidMoves": [], "allowMoves": []}, "allowMoves", "Cannot specify both allowMoves and avoidMoves"),
    ({"komi": 6.25}, "komi", "Must be a integer or half-integer from -400.0 to 400.0"),
    ({"overrideSettings": 3}, "overrideSettings", "Must be an object"),
    ({"maxVisits": 0}, "maxVisits", "Must be an integer from 1 to 2^50"),
    ({"includePolicy": 1}, "includePolicy", "Must be a boolean"),
    ({"avoidMoves": 3}, "avoidMoves", LISTS),
    ({"avoidMoves": [{"player": "b"}]}, "avoidMoves", LISTS),
    ({"avoidMoves": [ENTRY], "allowMoves": [ENTRY]}, "allowMoves", "Cannot specify both allowMoves and avoidMoves"),
    # the first of several, in KataGo's order
    ({"boardYSize": 1, "moves": 1}, "boardYSize", SIZE),
    ({"moves": 1, "rules": 1, "maxVisits": 0}, "moves", PAIR),
    ({"moves": [["b", "C3"], ["w", "C3"]], "includePolicy": 3}, "includePolicy", "Must be a boolean"),
    ({"priority": "x", "maxVisits": "x"}, "maxVisits", "Must be an integer from 1 to 2^50"),
    ({"priority": "x", "avoidMoves": 3}, "priority", "Must be a number between -2^62 and 2^62"),
    ({"analyzeTurns": [9], "rules": "x"}, "analyzeTurns", "Invalid turn number: 9"),
]


@pytest.mark.parametrize(("changes", "field", "text"), REFUSED, ids=range(len(REFUSED)))
def test_refusals(changes: dict[str, Any], field: str, text: str) -> None:
    with pytest.raises(QueryError) as refused:
        query(**changes)
    assert (refused.value.field, str(refused.value)) == (field, text)


def test_settings_that_do_not_hold_are_refused_and_unknown_ones_told() -> None:
    with pytest.raises(QueryError, match=r"Could not set settings: .*wideRootNoise: 99 is not within") as refused:
        query(overrideSettings={"wideRootNoise": 99})
    assert refused.value.field == "overrideSettings"
    unknown = query(overrideSettings={"foo": 1, "maxTime": 8.0, "bar": "x"})
    assert unknown.warnings == (QueryWarning("overrideSettings", "Unknown config params: bar,foo"),)
    assert unknown.search.max_time == 8.0
    fixed = query(overrideSettings={"numAnalysisThreads": 3, "analysisPVLen": 2})
    assert fixed.warnings == (
        QueryWarning("overrideSettings", "Unknown config params: analysisPVLen,numAnalysisThreads"),
    )
    assert fixed.settings == READER.config.settings
    with pytest.raises(QueryError, match="Could not set settings: Cannot change useEvalCache after initialization"):
        query(overrideSettings={"useEvalCache": True})


def test_unknown_fields_are_told_unless_nobody_wants_to_know() -> None:
    text = "Unexpected or unused field, do you have a typo? (set warnUnusedFields=false in the config to disable this"
    (warning,) = query(foo=1).warnings
    assert (warning.field, warning.text) == ("foo", f"{text} warning)")
    silent = SettingsReader(parse_overrides("warnUnusedFields=false"))
    assert parse_query(REQUEST | {"foo": 1}, silent).warnings == ()


def test_the_layers_of_settings_lie_over_each_other() -> None:
    text = "maxVisits = 100\nnumSearchThreadsPerAnalysisThread = 3\nhomeDataDir = x\nwhatIsThis = 1\n"
    reader = SettingsReader(parse(text), parse_overrides("maxVisits=70,playoutDoublingAdvantagePla=WHITE"))
    assert (reader.config.search.max_visits, reader.config.search.num_search_threads) == (70, 3)
    assert reader.config.search.playout_doubling_advantage_pla == WHITE
    assert [warning.split(": ", 1)[1] for warning in reader.config.warnings] == ["unknown key whatIsThis is ignored"]
    assert reader.overridden({"foo": "1"}).unknown == ("foo",)
    with pytest.raises(ConfigError, match="override: maxVisits: 'x' is not an integer"):
        SettingsReader(parse_overrides("maxVisits=x"))


NOT_JSON = "could not parse input line as json request: "
NOT_OBJECT = "Request line was valid json but was not an object, ignoring: "


@pytest.mark.parametrize(
    ("line", "end"),
    [
        (b"foo bar", f" - {NOT_JSON}foo bar"),
        (b'{"id":"a"', f' - {NOT_JSON}{{"id":"a"'),
        (b'{"komi":NaN}', f'NaN is no number of JSON - {NOT_JSON}{{"komi":NaN}}'),
        (b'{"komi":1e999}', f"number overflow parsing '1e999' - {NOT_JSON}{{\"komi\":1e999}}"),
        (b'{"komi":' + b"9" * 5000 + b"}", f'{NOT_JSON}{{"komi":{"9" * 192}…'),
        (b'{"id":"\\ud800"}', f'half of a surrogate pair - {NOT_JSON}{{"id":"\\ud800"}}'),
        (b'{"id":"\xff"}', f'{NOT_JSON}{{"id":"\ufffd"}}'),
        (b"[" * 100_000, f"{NOT_JSON}{'[' * 200}…"),
        (b"[1,2]", f"{NOT_OBJECT}[1,2]"),
        (b'"x"', f'{NOT_OBJECT}"x"'),
        (b"x" * (MAX_LINE + 1), f"more than 4000000 bytes - {NOT_JSON}{'x' * 200}…"),
    ],
    ids=range(11),
)
def test_lines_that_hold_no_object(line: bytes, end: str) -> None:
    with pytest.raises(LineError) as refused:
        read_object(line)
    assert str(refused.value).endswith(end)
    assert error_object(str(refused.value)).keys() == {"error"}
    assert to_json(error_object(str(refused.value))).encode()


def test_lines_are_cut_where_they_get_too_long() -> None:
    stream = io.BytesIO(b"a\n\n  \r\n" + b"x" * (3 * MAX_LINE) + b"\nb")
    lengths = [len(line) for line in lines_of(stream)]
    assert lengths == [2, MAX_LINE + 1, 1]


@pytest.mark.parametrize(
    ("fields", "text", "named"),
    [
        ({"a": 1}, 'Request must have a string "id" field', (None, None)),
        ({"id": 3}, 'Request must have a string "id" field', (3, None)),
        ({"id": True}, 'Request must have a string "id" field', (None, None)),
        ({"id": ["a"]}, 'Request must have a string "id" field', (None, None)),
        (
            {"id": "a", "action": "dance"},
            "'action' field must be 'query_version' or 'query_models' or 'clear_cache' or 'terminate' or "
            "'terminate_all'",
            ("a", None),
        ),
        (
            {"id": "a", "action": "terminate", "terminateId": 3},
            'Requests for a terminate action must have a string "terminateId" field',
            ("a", "terminateId"),
        ),
    ],
)
def test_actions_that_are_none(fields: dict[str, Any], text: str, named: tuple[object, str | None]) -> None:
    with pytest.raises(LineError) as refused:
        read_action(fields)
    assert (str(refused.value), (refused.value.id, refused.value.field)) == (text, named)


def test_actions() -> None:
    assert read_action({"id": "a"}) is None
    fields = {"id": "a", "action": "terminate", "terminateId": "b", "turnNumbers": [2, 2]}
    assert read_action(fields) == Action("terminate", fields, "b", frozenset({2}))
    fields = {"id": "a", "action": "terminate_all"}
    assert read_action(fields) == Action("terminate_all", fields)
