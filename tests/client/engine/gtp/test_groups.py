"""Commands group by group: time, settings, files, handicap, statuses, moves (engine.md 2, 3, 5, 6)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from client.engine.allotment import allot
from client.engine.gtp.session import Session
from client.engine.gtp.table import LISTED
from client.networks import Network
from common.go.points import BLACK, WHITE
from tests.client.engine.gtp.talking import Clock, last, make_session, spoken, talk
from tests.client.search.scripted import ScriptedEvaluator, hashed_answer


@pytest.fixture
def session() -> Iterator[Session]:
    made = make_session(
        overrides="maxVisits=12,numSearchThreads=1",
        length=5,
        load=lambda network, length: ScriptedEvaluator(length, hashed_answer),
    )
    yield made
    made.queries.close()


def test_the_list_is_that_of_katago(session: Session) -> None:
    order = (
        "protocol_version name version known_command list_commands quit boardsize rectangular_boardsize clear_board "
        "set_position komi get_komi play undo kata-get-rules kata-set-rule kata-set-rules kata-get-models "
        "kata-get-param kata-set-param kata-list-params kgs-rules genmove kata-search kata-search_cancellable "
        "genmove_debug kata-search_debug clear_cache showboard fixed_handicap place_free_handicap set_free_handicap "
        "time_settings kgs-time_settings time_left kata-list_time_settings kata-time_settings final_score "
        "final_status_list loadsgf printsgf lz-genmove_analyze kata-genmove_analyze kata-search_analyze "
        "kata-search_analyze_cancellable lz-analyze kata-analyze kata-raw-nn kata-raw-human-nn cputime "
        "gomill-cpu_time kata-benchmark kata-debug-print-tc debug_moves stop"
    )
    assert last(session, "list_commands") == "= " + order.replace(" ", "\n")
    assert list(LISTED) == order.split()
    for hidden in ("analyze", "genmove_analyze", "kata-get-params", "kata-set-params"):
        assert last(session, f"known_command {hidden}") == "= false"


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("kgs-rules", "? Expected one argument kgs-rules"),
        ("kgs-rules martian", "? Unknown rules 'martian'"),
        ("kata-search", "? Expected one argument for kata-search but got ''"),
        ("kata-search_cancellable b w", "? Expected one argument for kata-search_cancellable but got 'b w'"),
        ("genmove_debug", "? Expected one argument for genmove_debug but got ''"),
        ("place_free_handicap", "? Expected one argument for place_free_handicap but got ''"),
        ("place_free_handicap 1", "? Number of handicap stones less than 2: '1'"),
        ("fixed_handicap 2", "? Board is too small for fixed handicap, try place_free_handicap"),
        ("final_status_list", "? Expected one argument for final_status_list but got ''"),
        ("final_status_list all", "? Argument to final_status_list must be 'alive' or 'seki' or 'dead'"),
        ("kata-raw-human-nn 0", "? Cannot run kata-raw-human-nn, -human-model was not provided"),
        ("kata-get-param x", "? Invalid parameter: x"),
        ("kata-get-param gtpName", "? Invalid parameter: gtpName"),
        (
            "kata-set-param x 1",
            "? Could not set params: Unrecognized or non-overridable parameter in kata-set-params: x",
        ),
        (
            "kata-set-param dynamicPlayoutDoublingAdvantageCapPerOppLead 0.1",
            "? Could not set params: Unrecognized or non-overridable parameter in kata-set-params: "
            "dynamicPlayoutDoublingAdvantageCapPerOppLead",
        ),
        ("loadsgf", "? Expected one or two arguments for loadsgf but got ''"),
        ("loadsgf /nowhere.sgf", "? Could not load sgf: /nowhere.sgf: No such file or directory"),
        ("loadsgf /nowhere.sgf x", "? Invalid value for moveNumber for loadsgf"),
        ("loadsgf /nowhere.sgf 0", "? Invalid value for moveNumber for loadsgf"),
        ("loadsgf /nowhere.sgf -1", "? Invalid value for moveNumber for loadsgf"),
        ("printsgf /nowhere/game.sgf", "? Could not open or write to file: /nowhere/game.sgf"),
        ("time_settings 1 2", "? Expected int for byo-yomi overtime stones as argument 2"),
        ("time_settings 1 x 2", "? Expected float for byo-yomi per-period time as argument 1"),
        ("time_settings 1 2 -2", "? byo-yomi overtime stones is an invalid value: -2"),
        ("time_left b 10", "? Expected player and float time and int stones for time_left but got 'b 10'"),
        ("time_left x 10 0", "? Expected player and float time and int stones for time_left but got 'x 10 0'"),
        ("time_left b -11 0", "? invalid time"),
        (
            "time_left b 10 3",
            "? stones left in period is > 0 but the time control used does not have any overtime periods",
        ),
        ("kata-time_settings fischer 10", "? Expected float for increment time as argument 2"),
        ("kata-benchmark", "? Expected one argument for kata-benchmark but got ''"),
    ],
)
def test_refusals(session: Session, line: str, answer: str) -> None:
    assert talk(session, line) == [answer]


def test_kgs_rules_and_time_by_name_only(session: Session) -> None:
    assert last(session, "kgs-rules new_zealand", "kata-get-rules").count("SITUATIONAL") == 1
    assert '"ko":"POSITIONAL"' in last(session, "kgs-rules chinese", "kata-get-rules")
    assert talk(session, "kgs-time_settings fischer 10 1") == [
        "? Expected 'none', 'absolute', 'byoyomi', or 'canadian' as first argument for kgs-time_settings"
    ]


# -- time --


def test_clocks(session: Session) -> None:
    lines = ["time_settings 600 30 5", "kata-debug-print-tc"]
    assert last(session, *lines).splitlines()[0] == (
        "= B main time: 600 s left of 600 s, then 1 periods of 30 s, 5 stones each"
    )
    assert talk(session, "time_left w 12.5 3", "kata-debug-print-tc")[1].splitlines()[1] == (
        "W overtime: 12.5 s left of a period of 30 s, periods left 1, stones left 3"
    )
    assert last(session, "kgs-time_settings byoyomi 0 30 5", "time_left b 20 4", "kata-debug-print-tc") == (
        "= B overtime: 20 s left of a period of 30 s, periods left 4, stones left 1\n"
        "W overtime: 30 s left of a period of 30 s, periods left 5, stones left 1"
    )
    assert last(session, "kata-time_settings fischer-capped 60 5 90 -1", "kata-debug-print-tc").endswith(
        "main time: 60 s left of 60 s, increment 5 s"
    )
    assert talk(session, "kata-time_settings fischer-capped 60 5 30 -1") == [
        "? TimeControls: mainTimeLimit is smaller than mainTime"
    ]
    assert last(session, "time_settings 0 1 0", "kata-debug-print-tc") == "= B no limit\nW no limit"
    listed = last(session, "kata-list_time_settings")
    assert listed == "= none absolute byoyomi canadian fischer fischer-capped"


def test_clocks_run_on_until_they_are_told() -> None:
    session = make_session(overrides="maxVisits=20,numSearchThreads=1", length=5, clock=Clock(step=0.02))
    talk(session, "time_settings 60 0 0", "kata-search b")
    assert session.clocks[BLACK].main_left == 60.0  # nothing was played
    left = 60.0
    for _ in range(3):
        talk(session, "genmove b", "genmove w")
        assert session.clocks[BLACK].main_left < left
        left = session.clocks[BLACK].main_left
    assert 50.0 < session.clocks[WHITE].main_left < 60.0
    talk(session, "time_left b 12.5 0")
    assert session.clocks[BLACK].main_left == 12.5
    talk(session, "clear_board")
    assert {clock.main_left for clock in session.clocks.values()} == {60.0}
    # each period has one stone: a turn within it leaves all periods
    talk(session, "kgs-time_settings byoyomi 0 30 3", "genmove b")
    assert (session.clocks[BLACK].periods_left, session.clocks[BLACK].period_left) == (3, 30.0)


def test_moves_are_made_in_time() -> None:
    clock = Clock(step=0.02)
    session = make_session(overrides="maxTime=1e9,numSearchThreads=1", length=5, clock=clock, capacity=5000)
    before = clock.now
    assert last(session, "time_settings 0 2 1", "genmove b").startswith("= ")
    assert 1.0 < clock.now - before < 3.0
    seconds = float(last(session, "cputime").removeprefix("= "))
    assert 1.0 < seconds < 3.0
    before = clock.now
    talk(session, "time_settings 0 1 0", "kata-set-param maxTime 0.5", "genmove w")
    assert 0.4 < clock.now - before < 1.0
    session.queries.close()


# -- settings --


def test_settings_are_told_and_changed(session: Session) -> None:
    names = last(session, "kata-list-params").removeprefix("= ").split()
    assert {"maxVisits", "analysisWideRootNoise", "ponderingEnabled", "lagBuffer", "chosenMoveTemperature"} <= set(
        names
    )
    assert not {"gtpName", "useFP16", "dynamicPlayoutDoublingAdvantageCapPerOppLead"} & set(names)
    assert last(session, "kata-get-param maxVisits") == "= 12"
    assert last(session, "kata-get-param analysisWideRootNoise") == "= 0.04"
    assert last(session, "kata-get-param allowResignation") == "= true"
    assert last(session, "kata-get-param humanSLProfile") == "= "
    assert last(session, "kata-set-param maxVisits 30", "kata-get-param maxVisits") == "= 30"
    assert last(session, "kata-set-param humanSLProfile", "kata-get-param humanSLProfile") == "= "
    assert talk(session, "kata-set-param humanSLProfile rank_9d")[0].startswith("? Could not set params: ")
    values = json.loads(last(session, "kata-get-params").removeprefix("= "))
    assert values["maxVisits"] == 30
    assert set(values) == set(names)


def test_changes_are_made_all_or_none(session: Session) -> None:
    assert talk(session, 'kata-set-params {"maxVisits":40,"lagBuffer":-1}')[0].startswith("? Could not set params: ")
    assert talk(session, 'kata-set-params {"maxVisits":40,"nothing":1}')[0].startswith("? Could not set params: ")
    assert talk(session, 'kata-set-params {"maxVisits":[]}')[0].startswith("? Could not set params: ")
    assert talk(session, "kata-set-params [1]", "kata-set-params {")[0].startswith("? Could not set params: ")
    assert last(session, "kata-get-param maxVisits") == "= 12"
    assert last(session, 'kata-set-params {"maxVisits":40,"allowResignation":false,"lagBuffer":"0.5"}') == "= "
    assert last(session, "kata-get-param lagBuffer") == "= 0.5"
    assert last(session, "kata-set-param numSearchThreads 3", "genmove b").startswith("= ")


def test_models(session: Session) -> None:
    assert last(session, "kata-get-models") == '= [{"name":"random"}]'


# -- files --


def test_games_are_written_and_read_again(session: Session, tmp_path: Path) -> None:
    file = tmp_path / "game.sgf"
    moves = ["komi 6.5", "kata-set-rules japanese", "play b C3", "play w D4", "play b pass"]
    written = last(session, *moves, "printsgf")
    assert written == "= (;FF[4]GM[1]SZ[5]PB[]PW[]HA[0]KM[6.5]RU[Japanese];B[cc];W[db];B[])"
    assert last(session, "printsgf -") == written
    assert last(session, f"printsgf {file}") == "= "
    assert talk(session, "boardsize 7", "kata-set-rules aga", f"loadsgf {file}")[-1] == "= "
    assert last(session, "printsgf") == written
    assert last(session, f"loadsgf {file} 2", "debug_moves") == "= B C3"
    assert last(session, f"loadsgf {file} 99", "debug_moves") == "= B C3 W D4 B pass"
    file.write_text("no game", encoding="utf-8")
    before = last(session, "showboard")
    assert talk(session, f"loadsgf {file}")[0].startswith("? Could not load sgf: ")
    assert last(session, "showboard") == before


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("", "KM[3.5]RU[AGA]"),
        ("KM[6.5]", "KM[6.5]RU[AGA]"),
        ("RU[Foo]", "KM[3.5]RU[AGA]"),
        ("RU[Chinese]", "KM[7.5]RU[Chinese]"),
        ("RU[Japanese]", "KM[6.5]RU[Japanese]"),
        ("RU[Japanese]KM[0.5]", "KM[0.5]RU[Japanese]"),
    ],
)
def test_rules_that_a_file_does_not_name_stay(named: str, told: str, session: Session, tmp_path: Path) -> None:
    """As a real KataGo 1.17.2 answers."""
    file = tmp_path / "game.sgf"
    file.write_bytes(f"\r\n(;GM[1]FF[4]SZ[5]\r\n{named};B[cc]\r\n(;W[bb])(;W[dd]))\n]".encode())
    written = last(session, "kata-set-rules aga", "komi 3.5", f"loadsgf {file}", "printsgf")
    assert written == f"= (;FF[4]GM[1]SZ[5]PB[]PW[]HA[0]{told};B[cc];W[bb])"


def test_the_result_in_a_file_is_the_final_score(session: Session) -> None:
    """Where dead stones are left to agreement, those on the board would count (a report on KataGo, number 596)."""
    session.queries.network = Network("scripted", None)  # that named random has no idea of a score
    ended = ["set_position b C1 b C2 b C3 b C4 b C5 w D1 w D2 w D3 w D4 w D5 w A1", "play b pass", "play w pass"]
    exact = last(session, "kata-set-rules tromp-taylor", "komi 7.5", *ended, "printsgf")
    # A1 is White's, and the empty points beside it nobody's: 5 + 1 stones and 5 points against 5 stones
    assert "RE[W+13.5]" in exact
    score = last(session, "kata-set-rules chinese", "final_score").removeprefix("= ")
    assert f"RE[{score}]" in last(session, "printsgf")
    assert score != "W+13.5"


# -- rules --


@pytest.mark.parametrize("text", ['{"ko":"SIMPLE","komi":3.5}', "koSIMPLEscoreAREAtaxNONEsui0komi3.5"])
def test_komi_does_not_come_with_rules(text: str, session: Session) -> None:
    rules = last(session, "kata-get-rules")
    assert talk(session, f"kata-set-rules {text}") == [f"? Unknown rules '{text}', Unknown rules option: komi"]
    assert last(session, "kata-get-rules") == rules


def test_a_rule_may_be_written_small(session: Session) -> None:
    words = ("ko simple", "scoring territory", "tax all", "whiteHandicapBonus n-1", "suicide FALSE")
    talk(session, *(f"kata-set-rule {word}" for word in words))
    assert json.loads(last(session, "kata-get-rules").removeprefix("= ")) == {
        "friendlyPassOk": False,
        "hasButton": False,
        "ko": "SIMPLE",
        "scoring": "TERRITORY",
        "suicide": False,
        "tax": "ALL",
        "whiteHandicapBonus": "N-1",
    }


# -- reports on other engines --


def test_allowed_moves_of_the_other_colour(session: Session) -> None:
    """In Black's turn White is asked about, and at once (a report on KataGo, number 602)."""
    for _ in range(2):
        answer = talk(session, "kata-analyze W interval 1 allow W E5 1", 30, "name")[0]
        assert set(re.findall(r"info move (\w+)", answer)) <= {"E5"}
    answer = last(session, "kata-search_analyze w allow w E5 1")
    assert re.findall(r"info move (\w+)", answer) == ["E5"]


def test_a_clock_that_is_set_anew_at_every_turn(session: Session) -> None:
    """As bots of online-go.com do, with more left than a period has (a report on Leela Zero, number 691)."""
    for period, left in ((19, 20), (4, 24)):
        talk(session, f"kgs-time_settings byoyomi 0 {period} 10", f"time_left b {left} 9")
        clock = session.clocks[BLACK]
        assert (clock.in_overtime, clock.period_left, clock.periods_left) == (True, left, 9)
        assert allot(clock, 361, 0, 0.0).recommended > period


# -- handicap --


def test_free_handicap_is_placed_by_the_net(session: Session) -> None:
    placed = last(session, "place_free_handicap 4").removeprefix("= ").split()
    assert len(set(placed)) == 4
    assert session.game.to_move == WHITE
    assert sum(row.count("X") for row in session.game.rows()) == 4
    assert talk(session, "place_free_handicap 2") == ["? Board is not empty"]


# -- who lives --


def test_statuses_of_a_finished_game(session: Session) -> None:
    walls = "set_position b C1 b C2 b C3 b C4 b C5 w D1 w D2 w D3 w D4 w D5"
    ended = [walls, "play b pass", "play w pass"]
    assert last(session, *ended, "final_status_list seki") == "= "
    alive = last(session, "final_status_list alive").removeprefix("= ").split()
    assert sorted(alive) == sorted(f"{column}{row}" for column in "CD" for row in range(1, 6))
    assert last(session, "final_status_list dead") == "= "


def test_statuses_by_search_name_every_stone(session: Session) -> None:
    talk(session, "kata-set-rules chinese", "set_position b C3 b C4 w A1")
    lists = [last(session, f"final_status_list {status}").removeprefix("= ").split() for status in ("alive", "dead")]
    assert sorted(lists[0] + lists[1]) == ["A1", "C3", "C4"]


# -- moves --


def test_searches_that_are_not_played(session: Session) -> None:
    answer = last(session, "kata-search b")
    assert re.fullmatch(r"= ([A-E][1-5]|pass)", answer)
    assert session.game.moves == []
    assert last(session, "kata-search_debug b").startswith("= ")


def test_the_log_of_a_search_goes_to_stderr(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    assert last(session, "genmove_debug b").startswith("= ")
    told = capsys.readouterr().err
    assert re.search(r"^info move [A-E][1-5] visits", told)
    assert "\nrootInfo visits 12 " in told


def test_the_tree_goes_on_with_the_game(session: Session) -> None:
    evaluator = session.queries.evaluator(5)
    assert isinstance(evaluator, ScriptedEvaluator)
    talk(session, "kata-set-param maxVisits 100", "genmove b")
    before = sum(evaluator.batch_sizes)
    talk(session, "kata-search w")
    kept = 100 - (sum(evaluator.batch_sizes) - before)
    assert kept > 10
    before = sum(evaluator.batch_sizes)
    talk(session, "clear_cache", "kata-search w")
    assert sum(evaluator.batch_sizes) - before > 90


def test_pondering(session: Session) -> None:
    evaluator = session.queries.evaluator(5)
    assert isinstance(evaluator, ScriptedEvaluator)
    talk(session, "kata-set-param ponderingEnabled true", "genmove b")
    before = sum(evaluator.batch_sizes)
    text = spoken(session, "play w pass", 50, "name", 50, "protocol_version")
    assert text == "= \n\n= Tengen\n\n= 2\n\n"
    assert 45 <= sum(evaluator.batch_sizes) - before <= 60  # until the first line, and no longer
    assert not session.is_busy


def test_cleaning_up_before_a_pass() -> None:
    # White's stone at B5 is dead inside Black's area; a pass would leave it on the board
    session = make_session(overrides="maxVisits=2,cleanupBeforePass=true", length=5)
    from client.engine.gtp.passing import friendly_or_cleaning
    from common.go.points import PASS, to_vertex

    wall = "set_position b C1 b C2 b C3 b C4 b C5 b A2 b B2 b A4 b B4 w B5 w E1"
    talk(session, wall, "play b pass", "play w pass")
    chosen = friendly_or_cleaning(session, BLACK, PASS)
    assert to_vertex(chosen, 5) == "A5"
    talk(session, "clear_board")
    assert friendly_or_cleaning(session, BLACK, PASS) == PASS
    session.queries.close()
