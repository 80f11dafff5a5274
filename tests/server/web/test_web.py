"""The pages: they answer, show what is in the database, and work without scripts."""

from __future__ import annotations

import json
import re

import pytest
from django.test import Client

from server.networks.models import Network
from server.networks.services import run_create
from server.ratings.models import Rating
from server.runs.models import Run
from server.training.models import TrainingMetric
from server.web import viewer
from server.web.board import frames, position

pytestmark = pytest.mark.django_db

SGF = (
    "(;FF[4]GM[1]SZ[3:2]PB[a]PW[b]HA[0]KM[0.5]RU[koSIMPLEscoreAREAtaxNONEsui0]RE[B+5.5]"
    ";B[ba];W[aa];B[ab]C[0.25 0.75 0.00 -2.5 v=8];W[];B[])"
)


@pytest.fixture
def run() -> Run:
    from common.parameters import default_text

    return run_create(
        name="web7",
        selfplay_config=default_text("selfplay", "7x7"),
        gating_config=default_text("gating", "7x7"),
        data_board_len=7,
        architecture="b2c32",
    )


def test_home_without_a_run_is_a_plain_200(client: Client) -> None:
    answer = client.get("/")
    assert answer.status_code == 200
    assert b"There is no run yet" in answer.content


@pytest.mark.parametrize("path", ["/", "/runs/", "/runs/web7/", "/networks/web7/", "/games/web7/", "/contributors/"])
def test_pages_answer_with_the_policy_and_without_inline_scripts(client: Client, run: Run, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    text = answer.content.decode()
    for attributes, body in re.findall(r"<script([^>]*)>(.*?)</script>", text, re.S):
        assert "src=" in attributes or "application/json" in attributes, body
    assert not re.search(r"\son\w+=", text), "an inline handler would be refused by the policy"


@pytest.mark.parametrize(
    "path", ["/runs/none/", "/networks/none/", "/games/web7/?network=none", "/game/training/00/", "/nowhere"]
)
def test_what_is_not_there_is_a_404_of_the_site(client: Client, run: Run, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert b"There is nothing at this address" in answer.content
    assert b'href="/"' in answer.content
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("path", ["/runs/%00/", "/games/%00/", "/game/training/%00/", "/games/web7/?network=zz%00"])
def test_an_address_with_a_nul_is_refused(client: Client, run: Run, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.content) == (400, b"the address holds a NUL character")


def test_run_page_shows_strengths_and_losses(client: Client, run: Run) -> None:
    first = Network.objects.get(run=run)
    Rating.objects.create(network=first, run=run, log_gamma=0.0, error=0.0, games=10)
    values = {"rows": 50, "losses": {"policy": 3.5, "value": 1.0}, "samples_per_second": 9, "waiting_share": 0}
    TrainingMetric.objects.create(run=run, architecture="b2c32", samples=128, **values)
    text = client.get("/runs/web7/").content.decode()
    found = re.search(r'<script id="rating-data" type="application/json">(.*?)</script>', text)
    assert found
    assert json.loads(found[1])["networks"] == [
        {"name": "web7-random", "state": "seed", "rows": 0, "elo": 0.0, "error": 0.0}
    ]
    assert "3.5000" in text


def test_static_files_of_charts_and_board_are_there(client: Client) -> None:
    from django.contrib.staticfiles import finders

    for name in ("plotly/plotly.min.js", "web/board.js", "web/charts.js", "web/site.css", "web/icon.svg"):
        assert finders.find(name), name


def test_captures_and_suicide_on_a_rectangle() -> None:
    played = frames(3, 2, [], [("B", (1, 0)), ("W", (0, 0)), ("B", (0, 1)), ("W", None)])
    assert [frame.removed for frame in played] == [(), (), ((0, 0),), ()]
    assert position([], played) == {(1, 0): "B", (0, 1): "B"}
    suicide = frames(2, 2, [("B", (1, 0)), ("B", (0, 1))], [("W", (0, 0))])
    assert suicide[0].removed == ((0, 0),)


def test_viewer_reads_a_record() -> None:
    game = viewer.read(SGF.encode())
    view = game.view(3)
    assert (view["number"], view["count"], view["previous"], view["next"]) == (3, 5, 2, 4)
    assert [(x - viewer.MARGIN, y - viewer.MARGIN, colour) for x, y, colour in view["stones"]] == [
        (0, 1, "B"),
        (1, 0, "B"),
    ]
    assert view["comment"].startswith("0.25 0.75")
    assert game.view(99)["number"] == 5
    assert len(game.data(0)["moves"]) == 5
