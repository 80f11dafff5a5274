"""Start positions and overrides: how they come to a run, go out in tasks, and are held against games."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from django.test import Client

from common import wire
from common.parameters import parse_selfplay
from server.accounts.models import Contributor
from server.accounts.roles import Role, role_set
from server.errors import InvalidSettings
from server.jobs.models import Job
from server.jobs.selectors import positions_of_game
from server.positions.models import Position
from server.positions.selectors import position_keys_drawn
from server.positions.services import positions_enable
from server.runs.models import Run
from server.runs.overrides import Variant, drawn_overrides, parse_variants
from server.runs.services import run_save
from tests.server.factories import KATAGO, ask, login, make_contributor, make_network, make_run

pytestmark = pytest.mark.django_db

POSITION: dict[str, Any] = {
    "xSize": 7,
    "ySize": 7,
    "board": "......./.X...../...O.../......./......./......./.......",
    "nextPla": "B",
    "moveLocs": ["C3"],
    "movePlas": ["B"],
    "initialTurnNumber": 2,
    "hintLoc": "D3",
    "metadata": "book",
}


@pytest.fixture
def staff(db: None) -> Contributor:
    """Somebody who may give positions."""
    contributor = make_contributor("staff")
    role_set(contributor.user, Role.OPERATOR)
    return contributor


def given(run: str = "seven", weight: float = 1.0, notes: str = "", **changes: Any) -> dict[str, Any]:
    """One element of a request."""
    return {
        "run": f"http://testserver/api/runs/{run}/",
        "weight": weight,
        "data": POSITION | changes,
        "notes": notes,
    }


def send(client: Client, who: Contributor | None, body: object) -> Any:
    return client.post(wire.PATH_START_POSITIONS, body, content_type="application/json", headers=login(who))


def test_positions_are_added_once(client: Client, staff: Contributor, run: Run) -> None:
    body = [given(weight=2.0, notes="by hand"), given(initialTurnNumber=8, weight=0.5)]
    answer = send(client, staff, body)
    assert (answer.status_code, answer.json()) == (201, {"added": 2, "known": 0})
    answer = send(client, staff, [*body, given(initialTurnNumber=10, weight=4.0), body[0]])
    assert answer.json() == {"added": 1, "known": 3}
    rows = list(Position.objects.order_by("pk").values_list("weight", "upto", "notes"))
    assert rows == [(2.0, 2.0, "by hand"), (0.5, 2.5, ""), (4.0, 6.5, "")]
    told = client.get(wire.PATH_START_POSITIONS, headers=login(staff)).json()
    assert told["count"] == 3
    assert told["results"][0]["data"]["initialTurnNumber"] == 10


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "a JSON array"),
        ([], "a JSON array"),
        ([given()] * 5001, "a JSON array of 1 to 5000"),
        ([given(), {"run": 3}], "position 2: run"),
        ([given(weight=0.0)], "position 1: weight"),
        ([given(weight=1e201)], "weight"),
        ([given(weight=1e200)] * 1 + [given(notes="x" * 1025)], "notes"),
        ([given(run="other")], "no run of this server"),
        ([given(board="......./" * 6 + "......Q")], "board"),
        ([given(board="XO...../OO...../......./......./......./......./.......")], "stone without liberties"),
        ([given(xSize=8, board="/".join(["." * 8] * 7))], "larger than the run's edge 7"),
        ([given(moveLocs=["J1"])], "moveLocs"),
        ([given(trainingWeight=7)], "trainingWeight"),
        ("[", "malformed"),
        ("[" * 100_000, "malformed"),
    ],
)
def test_what_cannot_be_played_is_refused_and_nothing_added(
    client: Client, staff: Contributor, run: Run, body: object, words: str
) -> None:
    answer = send(client, staff, body)
    assert answer.status_code == 400
    if words != "malformed":
        assert words in wire.ErrorAnswer.from_json(answer.content).detail
    assert not Position.objects.exists()


def test_only_staff_gives_and_sees_positions(client: Client, anna: Contributor, run: Run) -> None:
    assert send(client, anna, [given()]).status_code == 403
    assert send(client, None, [given()]).status_code == 401
    assert client.get(wire.PATH_START_POSITIONS, headers=login(anna)).status_code == 403


def test_positions_are_drawn_by_their_weights(client: Client, staff: Contributor, run: Run) -> None:
    assert position_keys_drawn(run, [0.5]) == []
    send(client, staff, [given(initialTurnNumber=turn, weight=weight) for turn, weight in ((2, 1), (4, 6), (6, 3))])
    first, second, third = Position.objects.order_by("pk").values_list("pk", flat=True)
    drawn = position_keys_drawn(run, list((np.arange(1000) + 0.5) / 1000))
    assert [drawn.count(key) for key in (first, second, third)] == [100, 600, 300]
    positions_enable([second], enabled=False)
    drawn = position_keys_drawn(run, list((np.arange(1000) + 0.5) / 1000))
    assert [drawn.count(key) for key in (first, second, third)] == [250, 0, 750]
    positions_enable([second], enabled=True)
    send(client, staff, [given(initialTurnNumber=8, weight=10)])
    drawn = position_keys_drawn(run, list((np.arange(1000) + 0.5) / 1000))
    assert [drawn.count(key) for key in (first, second, third)] == [50, 300, 150]
    assert position_keys_drawn(make_run("other"), [0.5]) == []


def test_tasks_bring_positions_for_their_first_games(client: Client, staff: Contributor, run: Run) -> None:
    send(client, staff, [given()])
    assert ask(client, staff).json().get("start_poses") is None
    Run.objects.update(start_position_prob=1.0)
    task = wire.read_task(ask(client, staff).content)
    assert [position.metadata for position in task.start_poses] == ["book"] * 4
    assert task.start_poses[0].to_object() == POSITION
    job = Job.objects.get(pk=str(task.job_id))
    assert job.start_positions == [Position.objects.get().pk] * 4
    assert positions_of_game(job, is_named=True) == [task.start_poses[0]]
    Run.objects.update(start_position_prob=0.5)
    counts = {len(wire.read_task(ask(client, staff).content).start_poses) for _ in range(40)}
    assert len(counts) > 2, "chance decides how many"


def test_katagos_games_may_begin_where_any_of_its_jobs_let_them(
    client: Client, anna: Contributor, staff: Contributor, run: Run, tmp_path: Any
) -> None:
    make_network(run, tmp_path, is_candidate=False, suits_katago_client=True)
    send(client, staff, [given()])
    Run.objects.update(start_position_prob=1.0)
    ask(client, anna, agent=KATAGO)
    Run.objects.update(start_position_prob=0.0)
    job = Job.objects.get(pk=ask(client, anna, agent=KATAGO).json()["job_id"])
    assert job.start_positions == []
    assert len(positions_of_game(job, is_named=False)) == 1
    assert positions_of_game(job, is_named=True) == []
    assert positions_of_game(Job.objects.get(pk=ask(client, staff).json()["job_id"]), is_named=False) == []


# ----------------------------------------------------------------------------------------------------------- overrides


def test_lines_of_overrides() -> None:
    text = "# two\n0.1 cpuctExploration=1.2,rootNoiseEnabled=false  # less\n\n0.25 maxVisits=90\n"
    variants = parse_variants(text)
    assert variants == [Variant(0.1, "cpuctExploration=1.2,rootNoiseEnabled=false"), Variant(0.25, "maxVisits=90")]
    drawn = [drawn_overrides(variants, draw) for draw in (0.0, 0.09, 0.11, 0.34, 0.36, 0.99)]
    assert drawn == [variants[0].overrides] * 2 + [variants[1].overrides] * 2 + [""] * 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cpuctExploration=1.2", "line 1: expected"),
        ("0.1", "line 1: expected"),
        ("0 a=1", "line 1: expected"),
        ("1.5 a=1", "line 1: expected"),
        ("nan a=1", "line 1: expected"),
        ("0.6 maxVisits=90\n0.6 maxVisits=80", "more than 1"),
        ("0.1 maxVisits", "line 1"),
        ("0.1 maxVisits=many", "maxVisits"),
        ("0.1 maxVisitz=90", "maxVisitz"),
        ("0.1 numSearchThreads=99", "numSearchThreads"),
        ("0.1 bSizes=9", "bSizes"),
        ("0.1 a=" + "1" * 1100, "1024 bytes"),
    ],
)
def test_overrides_that_could_not_be_played_are_not_saved(run: Run, text: str, words: str) -> None:
    run.selfplay_overrides = text
    with pytest.raises(InvalidSettings, match=words):
        run_save(run)


def test_tasks_bring_overrides_for_their_share(client: Client, anna: Contributor, run: Run) -> None:
    run.selfplay_overrides = "0.5 maxVisits=90"
    run_save(run)
    tasks = [wire.read_task(ask(client, anna, task_rep_factor="8").content) for _ in range(10)]
    drawn = [override for task in tasks for override in task.overrides]
    assert {"maxVisits=90", ""} == set(drawn)
    assert all(len(task.overrides) in (0, 8) for task in tasks)
    job = Job.objects.get(pk=str(next(task.job_id for task in tasks if task.overrides)))
    texts = [parse_selfplay(job.configs_of(number)[0]).search.max_visits for number in range(8)]
    plain = parse_selfplay(job.config).search.max_visits
    assert [visits == 90 for visits in texts] == [override != "" for override in job.overrides]
    assert plain != 90
    assert {parse_selfplay(text).search.max_visits for text in job.configs_of(None)} == {90, plain}
