"""The analysis engine over whole conversations: answers, order, reports, ends, and what strangers send (engine.md)."""

from __future__ import annotations

import argparse
import io
import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from client.commands import analysis
from client.engine.analysis_engine import AnalysisEngine
from client.engine.analysis_settings import SettingsReader
from client.engine.input_queue import InputQueue
from client.engine.queries import Queries
from client.networks import Network, network_of
from common.config_text import parse_overrides
from nets.evaluation.batch import Batch, Evaluator, Wait
from nets.evaluation.uniform import UniformEvaluator

Answer = dict[str, Any]
QUERY: Answer = {
    "id": "a",
    "moves": [["b", "C3"], ["w", "D3"]],
    "rules": "tromp-taylor",
    "boardXSize": 5,
    "boardYSize": 5,
    "maxVisits": 12,
}
ROOT_KEYS = [
    *("currentPlayer", "rawLead", "rawNoResultProb", "rawScoreSelfplay", "rawScoreSelfplayStdev", "rawStScoreError"),
    *("rawStWrError", "rawVarTimeLeft", "rawWinrate", "scoreLead", "scoreSelfplay", "scoreStdev", "symHash"),
    *("thisHash", "utility", "visits", "weight", "winrate"),
]
MOVE_KEYS = [
    *("edgeVisits", "edgeWeight", "lcb", "move", "order", "playSelectionValue", "prior", "pv", "scoreLead"),
    *("scoreMean", "scoreSelfplay", "scoreStdev", "utility", "utilityLcb", "visits", "weight", "winrate"),
]


class Clock:
    """Seconds that pass at each look."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


class Conversation:
    """An engine with the network without knowledge, and what it has said."""

    def __init__(
        self,
        settings: str = "numAnalysisThreads=2",
        evaluator: type[UniformEvaluator] = UniformEvaluator,
        capacity: int = 300,
    ) -> None:
        reader = SettingsReader(parse_overrides("numSearchThreads=1," + settings))
        slots = reader.config.settings.num_analysis_threads

        def load(network: Network, length: int) -> Evaluator:
            return evaluator(length)

        self.clock = Clock()
        queries = Queries(network_of("random"), load, slots=slots, leaves=1, capacity=capacity, clock=self.clock)
        self.lines: list[str] = []
        self.log: list[str] = []
        self.engine = AnalysisEngine(
            reader,
            queries,
            models=[{"name": "random"}],
            write=self.lines.append,
            seed=1,
            log=self.log.append,
            clock=self.clock,
        )

    def send(self, *requests: Answer) -> None:
        for request in requests:
            self.engine.take(json.dumps(request).encode())

    def work(self, rounds: int | None = None) -> None:
        """So many rounds, or all there are."""
        for _ in itertools.count() if rounds is None else range(rounds):
            if not self.engine.is_busy:
                return
            self.engine.work()

    def answers(self) -> list[Answer]:
        """What was said since the last look; every line is an object with sorted keys at every level."""
        said, self.lines[:] = list(self.lines), []
        for line in said:
            assert line == json.dumps(json.loads(line), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return [json.loads(line) for line in said]

    def ask(self, *requests: Answer) -> list[Answer]:
        self.send(*requests)
        self.work()
        return self.answers()


@pytest.fixture
def conversation() -> Conversation:
    return Conversation()


def test_an_answer_has_every_key(conversation: Conversation) -> None:
    wanted = [
        "includeOwnership",
        "includeOwnershipStdev",
        "includeMovesOwnership",
        "includeMovesOwnershipStdev",
        "includePolicy",
        "includePVVisits",
        "includeNoResultValue",
    ]
    plain, full = conversation.ask(QUERY, QUERY | dict.fromkeys(wanted, True))
    assert list(plain) == ["id", "isDuringSearch", "moveInfos", "rootInfo", "turnNumber"]
    assert (plain["id"], plain["isDuringSearch"], plain["turnNumber"]) == ("a", False, 2)
    assert list(plain["rootInfo"]) == ROOT_KEYS
    searched = [move for move in plain["moveInfos"] if "isSymmetryOf" not in move]
    assert len(searched) < len(plain["moveInfos"])  # the board is its own mirror image
    assert all(list(move) == MOVE_KEYS for move in searched)
    assert sum(move["edgeVisits"] for move in searched) == plain["rootInfo"]["visits"] - 1 == 11
    assert [move["order"] for move in plain["moveInfos"]] == list(range(len(plain["moveInfos"])))
    assert plain["rootInfo"]["rawStWrError"] == -0.5
    assert len(plain["rootInfo"]["thisHash"]) == len(plain["rootInfo"]["symHash"]) == 32
    assert {key: len(full[key]) for key in ("ownership", "ownershipStdev", "policy")} == {
        "ownership": 25,
        "ownershipStdev": 25,
        "policy": 26,
    }
    assert [i for i, value in enumerate(full["policy"]) if value == -1] == [12, 13]  # C3 and D3
    for move in full["moveInfos"]:
        extra = ["noResultValue", "ownership", "ownershipStdev", "pvEdgeVisits", "pvVisits"]
        assert [key for key in move if key != "isSymmetryOf"] == sorted(MOVE_KEYS + extra)
        assert len(move["pv"]) == len(move["pvVisits"]) == len(move["pvEdgeVisits"]) <= 16


def test_every_turn_is_answered_and_the_more_urgent_first() -> None:
    conversation = Conversation("numAnalysisThreads=1")
    answers = conversation.ask(
        QUERY | {"id": "low", "priority": -1},
        QUERY | {"id": "turns", "analyzeTurns": [2, 0, 1]},
        QUERY | {"id": "mixed", "analyzeTurns": [0, 2], "priorities": [0, 9]},
        QUERY | {"id": "high", "priority": 5},
    )
    order = [(answer["id"], answer["turnNumber"]) for answer in answers]
    assert order == [
        ("mixed", 2),
        ("high", 2),
        ("turns", 0),
        ("turns", 1),
        ("turns", 2),
        ("mixed", 0),
        ("low", 2),
    ]
    players = [answer["rootInfo"]["currentPlayer"] for answer in answers[2:5]]
    assert players == ["B", "W", "B"]


def test_boards_of_any_size_are_searched_together(conversation: Conversation) -> None:
    sizes = [(2, 2), (3, 7), (7, 3), (5, 5), (9, 9)]
    queries = [
        QUERY | {"id": f"{x}x{y}", "boardXSize": x, "boardYSize": y, "moves": [], "includePolicy": True}
        for x, y in sizes
    ]
    answers = {answer["id"]: answer for answer in conversation.ask(*queries)}
    assert {name: len(answer["policy"]) for name, answer in answers.items()} == {
        f"{x}x{y}": x * y + 1 for x, y in sizes
    }


def test_views_mirror_each_other(conversation: Conversation) -> None:
    views = ("BLACK", "WHITE", "SIDETOMOVE")
    queries = [QUERY | {"id": view, "overrideSettings": {"reportAnalysisWinratesAs": view}} for view in views]
    seen = {}
    for query in queries:
        fresh = Conversation()
        (seen[query["id"]],) = fresh.ask(query | {"moves": QUERY["moves"], "includeOwnership": True, "komi": 3.5})
    black, white, mover = (seen[view] for view in views)
    assert {**mover, "id": ""} == {**black, "id": ""}  # Black is to move
    for one, other in zip(
        [black["rootInfo"], *black["moveInfos"]], [white["rootInfo"], *white["moveInfos"]], strict=True
    ):
        assert one["winrate"] + other["winrate"] == pytest.approx(1.0, abs=1e-8)
        for key in {"utility", "scoreLead", "scoreSelfplay", "utilityLcb"} & one.keys():
            assert one[key] == -other[key]
        if "lcb" in one:
            assert one["lcb"] + other["lcb"] == pytest.approx(1.0, abs=1e-8)
    assert black["ownership"] == [-value for value in white["ownership"]]


def test_reports_come_in_time_and_the_last_is_whole(conversation: Conversation) -> None:
    conversation.send(QUERY | {"maxVisits": 200, "firstReportDuringSearchAfter": 0.05, "reportDuringSearchEvery": 0.1})
    conversation.work()
    *during, last = conversation.answers()
    assert len(during) >= 3
    assert all(report["isDuringSearch"] for report in during)
    assert not last["isDuringSearch"]
    visits = [report["rootInfo"]["visits"] for report in [*during, last]]
    assert visits == sorted(set(visits))
    assert visits[-1] == 200
    gaps = [after - before for before, after in itertools.pairwise(visits[:-1])]
    assert max(gaps) <= 2 * min(gaps)  # the clock goes on by the same at each round


def test_a_first_report_alone(conversation: Conversation) -> None:
    during, last = conversation.ask(QUERY | {"maxVisits": 100, "firstReportDuringSearchAfter": 0.05})
    assert (during["isDuringSearch"], last["isDuringSearch"]) == (True, False)


def test_terminating_ends_what_runs_and_drops_what_waits() -> None:
    conversation = Conversation("numAnalysisThreads=1")
    conversation.send(
        QUERY | {"id": "x", "maxVisits": 250, "analyzeTurns": [0, 1, 2]}, QUERY | {"id": "y", "maxVisits": 3}
    )
    conversation.work(20)
    terminate = {"id": "t", "action": "terminate", "terminateId": "x", "turnNumbers": [0, 2]}
    conversation.send(terminate)
    nothing = {"id": "x", "isDuringSearch": False, "noResults": True, "turnNumber": 2}
    assert conversation.answers() == [nothing, terminate]
    conversation.work(3)
    (ended,) = conversation.answers()
    assert (ended["turnNumber"], ended["isDuringSearch"]) == (0, False)
    assert 0 < ended["rootInfo"]["visits"] < 30
    everything = {"id": "t", "action": "terminate_all"}
    dropped, echo, ended = conversation.ask(everything)
    assert dropped == {"id": "y", "isDuringSearch": False, "noResults": True, "turnNumber": 2}
    assert (echo, ended["id"], ended["turnNumber"]) == (everything, "x", 1)


def test_searches_end_by_time_and_by_playouts(conversation: Conversation) -> None:
    (timed,) = conversation.ask(QUERY | {"maxVisits": 10**7, "overrideSettings": {"maxTime": 0.05}})
    assert 2 <= timed["rootInfo"]["visits"] < 100
    (counted,) = conversation.ask(QUERY | {"maxVisits": 10**7, "overrideSettings": {"maxPlayouts": 20}})
    assert counted["rootInfo"]["visits"] == 20


def test_a_search_ends_when_its_tree_is_full(conversation: Conversation) -> None:
    (answer,) = conversation.ask(QUERY | {"maxVisits": 2**50})
    assert answer["rootInfo"]["visits"] == 300


def test_actions_are_echoed(conversation: Conversation) -> None:
    extra = {"z": [{"b": 1, "a": "\u9ed2"}], "id": "t"}
    names = ["query_version", "query_models", "clear_cache", "terminate_all"]
    version, models, *others = conversation.ask(*(extra | {"action": name} for name in names))
    assert version.pop("version")
    assert version.pop("git_hash")
    assert models.pop("models") == [{"name": "random"}]
    assert [version, models, *others] == [extra | {"action": name} for name in names]


def test_errors_and_warnings_name_id_and_field(conversation: Conversation) -> None:
    refused, warned, answered = conversation.ask(QUERY | {"rules": "x"}, QUERY | {"foo": 1})
    assert refused == {"error": "Could not parse rules: x", "field": "rules", "id": "a"}
    assert (warned["field"], warned["id"], warned["warning"][:27]) == ("foo", "a", "Unexpected or unused field,")
    assert answered["rootInfo"]["visits"] == 12
    assert len(conversation.log) == 2
    quiet = Conversation("numAnalysisThreads=2,logErrorsAndWarnings=false,logAllRequests=true,logAllResponses=true")
    quiet.ask(QUERY | {"rules": "x"}, QUERY)
    assert [line.split(":")[0] for line in quiet.log] == ["Request", "Response"] * 2


class Broken(UniformEvaluator):
    """Fails at its third batch."""

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.left = 2

    def submit(self, batch: Batch, count: int) -> Wait:
        self.left -= 1
        if self.left == 0:
            raise RuntimeError("out of\nmemory")
        return super().submit(batch, count)


def test_a_search_that_fails_is_told_and_the_engine_goes_on() -> None:
    conversation = Conversation("numAnalysisThreads=1", Broken)
    failed, answered = conversation.ask(QUERY | {"id": "x"}, QUERY | {"id": "y"})
    assert failed == {"error": "the search of turn 2 failed: out of memory", "id": "x"}
    assert answered["rootInfo"]["visits"] == 12


STRANGE: list[bytes] = [
    b"\xff\xfe\x00",
    b"{" * 10_000,
    b'{"id":"a","id":"b","boardXSize":5}',
    json.dumps(QUERY | {"moves": [["b", "C3"], ["w", "D3"]] * 100_000}).encode(),
    json.dumps(QUERY | {"moves": [["b", "pass"], ["w", "pass"]] * 100_000}).encode(),
    json.dumps(QUERY | {"analyzeTurns": [0] * 100_000 + [-1]}).encode(),
    json.dumps(QUERY | {"maxVisits": 10**400}).encode(),
    json.dumps(QUERY | {"rules": "ko" * 100_000}).encode(),
    json.dumps(QUERY | {"overrideSettings": {"x" * 100_000: ["y" * 100_000]}, "maxVisits": "x"}).encode(),
    json.dumps(QUERY | {"komi": "\ud800"}).encode(),
    json.dumps(QUERY | {"komi": 1e308}).encode(),
    json.dumps(QUERY | {"initialStones": [["b", "A1"]] * 100_000 + [["w", "A9"]]}).encode(),
]


@pytest.mark.parametrize("line", STRANGE, ids=range(len(STRANGE)))
def test_what_strangers_send_is_refused_in_one_short_line(line: bytes, conversation: Conversation) -> None:
    conversation.engine.take(line)
    (refused,) = conversation.answers()
    assert refused["error"]
    assert len(json.dumps(refused)) < 3000
    assert not conversation.engine.is_busy


def run(*words: str, requests: Iterable[bytes]) -> tuple[int, list[Answer]]:
    """The command with these words; its exit code and answers."""
    parser = argparse.ArgumentParser()
    analysis.add_arguments(parser)
    output = io.StringIO()
    code = analysis.run(parser.parse_args(words), requests, output)
    return code, [json.loads(line) for line in output.getvalue().splitlines()]


def endless() -> Iterator[bytes]:
    """A request that takes long, then the end of input."""
    yield json.dumps(QUERY | {"maxVisits": 10**6}).encode()


def test_the_command_takes_katagos_options_and_finishes_what_was_asked(tmp_path: Any, capsys: Any) -> None:
    text = "reportAnalysisWinratesAs = WHITE\nnnMaxBatchSize = 96\nnnCacheSizePowerOfTwo = 20\nfooBar = 1\n"
    (tmp_path / "a.cfg").write_text(text, encoding="utf-8")
    words = ["-model", "random", "-config", str(tmp_path / "a.cfg"), "-override-config", "homeDataDir=/x,maxVisits=3"]
    queries = [json.dumps({**QUERY, "id": str(i), "maxVisits": 3 + i}).encode() for i in range(5)]
    code, answers = run(*words, "-analysis-threads", "2", "--seed", "1", requests=queries)
    assert code == 0
    assert {answer["id"]: answer["rootInfo"]["visits"] for answer in answers} == {str(i): 3 + i for i in range(5)}
    told = capsys.readouterr().err
    assert told.count("unknown key") == 1
    assert "fooBar" in told
    assert "2 positions at once" in told


def test_the_command_leaves_at_the_end_of_input_if_told_to() -> None:
    assert run("-model", "random", "-quit-without-waiting", requests=endless()) == (0, [])


@pytest.mark.parametrize(
    "words",
    [
        ("-model", "/nowhere"),
        ("-model", "random", "-config", "/nowhere"),
        ("-model", "random", "-override-config", "a"),
    ],
)
def test_the_command_says_what_is_wrong_at_its_start(words: tuple[str, ...], capsys: Any) -> None:
    assert run(*words, requests=[]) == (2, [])
    assert len(capsys.readouterr().err.splitlines()) == 1


KATRAIN: Answer = {
    "rules": "japanese",
    "priority": 0,
    "analyzeTurns": [2],
    "maxVisits": 40,
    "komi": 6.5,
    "boardXSize": 5,
    "boardYSize": 5,
    "includeOwnership": True,
    "includeMovesOwnership": True,
    "includePolicy": True,
    "initialStones": [],
    "initialPlayer": "B",
    "moves": [["B", "C3"], ["W", "D3"]],
    "overrideSettings": {"reportAnalysisWinratesAs": "BLACK", "maxTime": 8.0},
    "id": "QUERY:1",
}


def test_the_sequence_of_katrain() -> None:
    """A query, pondering that a move replaces, an illegal move, rules that are none (engine.md 12)."""
    conversation = Conversation("reportAnalysisWinratesAs=BLACK,numAnalysisThreads=12,nnMaxBatchSize=96,maxVisits=500")
    (answer,) = conversation.ask(KATRAIN)
    read = {"move", "order", "visits", "scoreLead", "winrate", "prior", "pv", "ownership"}
    assert read <= answer["moveInfos"][0].keys()
    assert len(answer["ownership"]) == len(answer["policy"]) - 1 == 25
    ponder = KATRAIN | {"id": "QUERY:2", "maxVisits": 10_000_000, "reportDuringSearchEvery": 0.05, "priority": 1}
    conversation.send(ponder)
    conversation.work(100)
    reports = conversation.answers()
    assert all(report["isDuringSearch"] for report in reports)
    assert len(reports) >= 2
    conversation.send({"action": "terminate", "terminateId": "QUERY:2", "id": "QUERY:3"})
    conversation.work(2)
    echo, last = conversation.answers()
    assert (echo["terminateId"], last["id"], last["isDuringSearch"]) == ("QUERY:2", "QUERY:2", False)
    illegal = KATRAIN | {"id": "QUERY:4", "moves": [*KATRAIN["moves"], ["B", "D3"]], "analyzeTurns": [3]}
    rules = KATRAIN | {"id": "QUERY:5", "rules": "none such"}
    errors = conversation.ask(illegal, rules)
    assert [(error["id"], error["error"]) for error in errors] == [
        ("QUERY:4", "Illegal move 2: D3"),
        ("QUERY:5", "Could not parse rules: none such"),
    ]


def test_lines_are_taken_while_a_search_runs(conversation: Conversation) -> None:
    requests = [QUERY | {"maxVisits": 10**6}, {"id": "t", "action": "terminate_all"}, QUERY | {"id": "b"}]
    analysis.serve(conversation.engine, InputQueue(json.dumps(request).encode() for request in requests), False)
    assert {answer["id"] for answer in conversation.answers()} == {"a", "t", "b"}
