"""Analysis commands: keys, forms of lines, when they come and how they end; read as Sabaki and Lizzie read them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from client.engine.gtp.analyze_words import Wanted, avoided, parse_wanted
from client.engine.gtp.info import Form, info_line
from client.engine.gtp.protocol import GtpError
from client.engine.gtp.session import Session
from client.search.report import MoveReport, Outlook, Ownership, Report, RootReport, Variation
from common.go.points import BLACK, PASS, WHITE, point_at
from tests.client.engine.gtp.talking import Clock, last, make_session, spoken, talk
from tests.client.search.scripted import ScriptedEvaluator, hashed_answer

SIZE = (9, 9)


@pytest.fixture
def session() -> Iterator[Session]:
    made = make_session(
        overrides="maxVisits=20,numSearchThreads=1,analysisWideRootNoise=0",
        length=5,
        load=lambda network, length: ScriptedEvaluator(length, hashed_answer),
        clock=Clock(step=0.01),
    )
    yield made
    made.queries.close()


# -- arguments --


def test_arguments() -> None:
    wanted = parse_wanted(
        ["W", "50", "minmoves", "3", "maxmoves", "7", "rootInfo", "true", "ownership", "TRUE"], SIZE, command="analyze"
    )
    assert (wanted.colour, wanted.interval, wanted.min_moves, wanted.max_moves) == (WHITE, 0.5, 3, 7)
    assert wanted.root_info
    assert wanted.any_ownership
    assert not wanted.any_moves_ownership
    plain = parse_wanted([], SIZE, command="analyze")
    assert (plain.colour, plain.interval) == (None, float("inf"))
    assert parse_wanted(["interval", "12.5"], SIZE, command="analyze").interval == 0.125


def test_moves_to_avoid_and_to_allow() -> None:
    wanted = parse_wanted(["avoid", "b", "A1,pass", "2", "avoid", "w", "C3", "1"], SIZE, command="analyze")
    assert [(each.colour, each.point, each.until_depth) for each in avoided(wanted, SIZE)] == [
        (BLACK, point_at(0, 8), 2),
        (BLACK, PASS, 2),
        (WHITE, point_at(2, 6), 1),
    ]
    allowing = avoided(parse_wanted(["allow", "b", "A1,B2", "4"], SIZE, command="analyze"), SIZE)
    assert len(allowing) == 82 - 2
    assert {each.point for each in allowing}.isdisjoint({point_at(0, 8), point_at(1, 7)})
    assert {(each.colour, each.until_depth) for each in allowing} == {(BLACK, 4)}


@pytest.mark.parametrize(
    "text",
    [
        "green", "b x", "-5", "interval", "interval -1", "minmoves -1", "minmoves 1.5", "maxmoves x", "rootInfo",
        "rootInfo maybe", "ownership 1", "avoid b A1", "avoid b A1 0", "avoid x A1 2", "avoid b Z99 2", "avoid b A1 x",
        "allow b A1 2 allow b B2 2", "allow b A1 2 avoid b B2 2", "10 b", "visits 3",
    ],
)  # fmt: skip
def test_arguments_that_are_refused(text: str) -> None:
    with pytest.raises(GtpError, match=re.escape("Could not parse analyze arguments or arguments out of range: '")):
        parse_wanted(text.split(), SIZE, command="analyze")


def test_keys_that_lz_commands_do_not_know(session: Session) -> None:
    refusal = "? Could not parse {} arguments or arguments out of range: '{}'"
    assert talk(session, "lz-analyze rootInfo true") == [refusal.format("analyze", "rootInfo true")]
    assert talk(session, "lz-genmove_analyze ownership true") == [refusal.format("genmove_analyze", "ownership true")]
    assert talk(session, "kata-search_analyze x") == [refusal.format("genmove_analyze", "x")]


# -- lines --


def outlook(**changes: float) -> Outlook:
    values = {
        "utility": -1.0804123, "winrate": 0.00077360911, "no_result": 0.0, "score_lead": -12.853, "score_selfplay":
        -13.92659, "score_stdev": 6.991262,
    }  # fmt: skip
    return Outlook(**{**values, **changes})


def report() -> Report:
    moves = (
        MoveReport(
            point=point_at(3, 2),
            values=outlook(),
            visits=2,
            edge_visits=2,
            weight=4.906134,
            edge_weight=4.9,
            prior=0.1674603,
            lcb=-0.5606543,
            utility_lcb=-2.652413,
            play_selection_value=2.0,
            symmetry_of=None,
            pv=Variation((point_at(3, 2), PASS), (2, 1), (2, 1)),
            ownership=None,
        ),
        MoveReport(
            point=PASS,
            values=outlook(winrate=0.5, utility=0.0),
            visits=0,
            edge_visits=0,
            weight=0.0,
            edge_weight=0.0,
            prior=1e-5,
            lcb=1.0,
            utility_lcb=0.0,
            play_selection_value=0.0,
            symmetry_of=point_at(0, 0),
            pv=Variation((PASS,), (0,), (0,)),
            ownership=None,
        ),
    )
    root = RootReport(
        to_move=BLACK,
        values=outlook(),
        visits=10,
        weight=20.5,
        win_loss_error=0.1,
        score_error=1.0,
        raw=outlook(),
        raw_win_loss_error=-1.0,
        raw_score_error=-1.0,
        raw_variance_time=-1.0,
        this_hash="",
        symmetric_hash="",
    )
    area = Ownership(np.array([[0.25, -1.0], [-0.0, 1e-5]]), np.array([[0.0, 0.5], [0.25, 0.125]]))
    return Report(x_size=5, y_size=5, root=root, moves=moves, policy=np.zeros(26), ownership=area)


def test_the_lz_form() -> None:
    assert info_line(report(), Wanted(pv_visits=True), Form.LZ) == (
        "info move D3 visits 2 winrate 8 prior 1675 lcb -5607 order 0 pv D3 pass pvVisits 2 1 "
        "info move pass visits 0 winrate 5000 prior 0 lcb 10000 order 1 pv pass pvVisits 0"
    )


def test_the_kata_form() -> None:
    wanted = Wanted(root_info=True, ownership=True, ownership_stdev=True, pv_edge_visits=True, max_moves=1)
    assert info_line(report(), wanted, Form.KATA) == (
        "info move D3 visits 2 edgeVisits 2 utility -1.08041 winrate 0.000773609 scoreMean -12.853 scoreStdev 6.99126 "
        "scoreLead -12.853 scoreSelfplay -13.9266 prior 0.16746 lcb -0.560654 utilityLcb -2.65241 weight 4.90613 "
        "order 0 pv D3 pass pvEdgeVisits 2 1 "
        "rootInfo visits 10 utility -1.08041 winrate 0.000773609 scoreMean -12.853 scoreStdev 6.99126 "
        "scoreLead -12.853 scoreSelfplay -13.9266 weight 20.5 rawStWrError -1 rawStScoreError -1 rawVarTimeLeft -1 "
        "ownership 0.25 -1 0 1e-05 ownershipStdev 0 0.5 0.25 0.125"
    )
    other = info_line(report(), Wanted(no_result_value=True), Form.KATA).split("info ")[2]
    assert other.startswith("move pass visits 0 edgeVisits 0 utility 0 winrate 0.5 ")
    assert (
        " scoreSelfplay -13.9266 noResultValue 0 prior 1e-05 lcb 1 utilityLcb 0 weight 0 isSymmetryOf A5 order 1 "
        in other
    )


def test_every_number_of_the_sabaki_form_has_a_point() -> None:
    line = info_line(report(), Wanted(), Form.SABAKI).split("info ")[2]
    assert line.startswith("move pass visits 0 edgeVisits 0 utility 0.00000 winrate 0.500000 scoreMean -12.8530 ")


# -- as programs read them --


@dataclass
class Told:
    """A move as a program has read it."""

    move: str
    numbers: dict[str, float]
    pv: list[str] = field(default_factory=list)


def as_lizzie_reads(line: str) -> list[Told]:
    """Splits at " info "; key and value alternate until pv; pvVisits ends it."""
    body = line.partition(" ownership ")[0]
    found = []
    for part in body.removeprefix("info ").split(" info "):
        words = part.split(" ")
        told = Told(words[1], {})
        index = 2
        while index < len(words):
            if words[index] == "pv":
                rest = words[index + 1 :]
                told.pv = rest[: rest.index("pvVisits")] if "pvVisits" in rest else rest
                break
            if words[index] != "isSymmetryOf":
                told.numbers[words[index]] = float(words[index + 1])
            index += 2
        found.append(told)
    return found


def as_sabaki_reads(line: str, area: int) -> list[Told]:
    """Cuts ownership off first; a winrate with a point is a share, one without ten thousandths."""
    if "ownership" in line:
        line, _, numbers = line.partition(" ownership ")
        assert len([float(word) for word in numbers.split()]) == area
    found = []
    for part in re.split(r"\s*info\s+", line.strip())[1:]:
        keys = re.match(r"move (\S+) visits (\d+) .*?winrate (\S+) ", part)
        assert keys is not None
        winrate = float(keys[3]) if "." in keys[3] else float(keys[3]) / 10_000
        assert 0.0 <= winrate <= 1.0
        pv = part.partition(" pv ")[2].split()
        assert all(re.fullmatch(r"[A-HJ-T]\d{1,2}|pass", vertex) for vertex in pv)
        found.append(Told(keys[1], {"visits": float(keys[2]), "winrate": winrate}, pv))
    return found


def test_lizzies_conversation(session: Session) -> None:
    lines = ["name", "version", "list_commands", "komi 7.5", "boardsize 5"]
    for answer in talk(session, *lines):
        assert answer.startswith("= ")
    first_analysis = "kata-analyze B 10 ownership true pvVisits true"
    text = spoken(session, first_analysis, 60, "play B C3", "kata-analyze W 10", 60, "stop")
    first, second, third, fourth = text.removesuffix("\n\n").split("\n\n")
    for answer, area in ((first, 25), (third, 0)):
        header, *reports = answer.split("\n")
        assert header == "="
        assert len(reports) > 2
        for line in reports:
            moves = as_lizzie_reads(line)
            assert moves[0].pv[0] == moves[0].move
            keys = set(moves[0].numbers)
            assert {"visits", "lcb", "prior", "winrate", "scoreMean", "scoreStdev", "order"} <= keys
            assert len(line.partition(" ownership ")[2].split()) == area
    assert (second, fourth) == ("= ", "= ")


def test_sabakis_conversation(session: Session) -> None:
    text = spoken(session, "analyze b 10", 40, "genmove_analyze w 10", "lz-analyze 10", 40, "quit")
    analysis, generated, lz, end = text.removesuffix("\n\n").split("\n\n")
    for answer in (analysis, lz):
        for line in answer.split("\n")[1:]:
            assert as_sabaki_reads(line, 25)
    header, *reports, played = generated.split("\n")
    assert header == "="
    assert reports
    assert as_sabaki_reads(reports[-1], 25)
    assert re.fullmatch(r"play ([A-HJ-T]\d|pass|resign)", played)
    assert len(session.game.moves) == 1
    assert end == "= "


# -- in time, and its end --


def test_reports_come_at_the_interval() -> None:
    clock = Clock(step=0.0)
    session = make_session(overrides="maxVisits=20", length=5, clock=clock)
    for interval, most in ((100, 10), (200, 5)):
        before = clock.now
        clock.step = 0.01
        text = spoken(session, f"kata-analyze {interval}", 300, "stop")
        clock.step = 0.0
        seconds = clock.now - before
        reports = text.count("info move") and len([line for line in text.splitlines() if line.startswith("info")])
        assert seconds / (2 * interval / 100) <= reports + 1
        assert reports <= seconds / (interval / 100)
        assert most
    session.queries.close()


def test_any_line_ends_an_analysis(session: Session) -> None:
    for line, answers in (("", 0), ("# comment", 0), ("name", 1), ("7", 1)):
        text = spoken(session, "12 kata-analyze 1", 20, line)
        assert text.startswith("=12\ninfo move ")
        parts = text.removesuffix("\n\n").split("\n\n")
        assert len(parts) == 1 + answers
    text = spoken(session, "kata-analyze 1", 20)  # the end of input
    assert text.endswith("\n\n")


def test_a_full_tree_still_answers(session: Session) -> None:
    small = make_session(overrides="maxVisits=5", length=3, capacity=40, clock=Clock(step=0.01))
    text = spoken(small, "kata-analyze 10 rootInfo true", 200, "name")
    visits = [int(found) for found in re.findall(r"rootInfo visits (\d+)", text)]
    assert visits[-1] == visits[-2] == 40
    assert text.endswith("= Tengen\n\n")
    small.queries.close()


def test_avoided_moves_are_not_told_and_allowed_ones_alone(session: Session) -> None:
    everything = "A1,A2,A3,A4,A5,B1,B2,B3,B4,B5,D1,D2,D3,D4,D5,E1,E2,E3,E4,E5,pass"
    text = spoken(session, f"kata-analyze b 10 minmoves 30 avoid b {everything} 1", 60, "stop")
    assert set(re.findall(r"info move (\S+)", text)) == {"C1", "C2", "C3", "C4", "C5"}
    text = spoken(session, "kata-analyze b 10 minmoves 30 allow b C3,D4 1", 60, "stop")
    assert set(re.findall(r"info move (\S+)", text)) == {"C3", "D4"}


def test_whose_view() -> None:
    found = []
    for perspective in ("BLACK", "WHITE", "SIDETOMOVE"):
        session = make_session(
            overrides=f"maxVisits=9,numSearchThreads=1,reportAnalysisWinratesAs={perspective}",
            length=5,
            load=lambda network, length: ScriptedEvaluator(length, hashed_answer),
        )
        told = last(session, "play b C3", "kata-search_analyze w")
        found.append([as_lizzie_reads(line)[0].numbers for line in told.splitlines() if line.startswith("info")][-1])
        session.queries.close()
    black, white, mover = found
    assert white == mover
    for name in ("winrate", "lcb"):
        assert black[name] == pytest.approx(1 - white[name], abs=1e-5)
    for name in ("utility", "scoreLead", "utilityLcb"):
        assert black[name] == pytest.approx(-white[name], abs=1e-5)


def test_cancellable_searches(session: Session) -> None:
    assert spoken(session, "3 kata-search_cancellable b", 3, "4 name") == "=3 cancelled\n\n=4 Tengen\n\n"
    done = spoken(session, "3 kata-search_cancellable b", 100, "4 name")
    assert re.fullmatch(r"=3 [A-E][1-5]\n\n=4 Tengen\n\n", done)
    talk(session, "clear_cache")
    given_up = spoken(session, "kata-search_analyze_cancellable b", 3, "name")
    assert given_up == "=\nplay cancelled\n\n= Tengen\n\n"
    talk(session, "clear_cache")
    whole = spoken(session, "kata-search_analyze_cancellable b", 100, "name")
    assert re.match(r"=\ninfo move .*\nplay [A-E][1-5]\n\n= Tengen", whole)
    assert session.game.moves == []
