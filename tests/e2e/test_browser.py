"""The pages in a real browser: charts are drawn, a game is stepped through, files arrive whole, nothing is refused.

Needs Debian's Chromium (``apt-get install chromium``); left out without it.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from common.parameters import default_text
from server.games.models import Game
from server.jobs.models import Job
from server.networks.models import Network
from server.networks.services import run_create
from server.ratings.models import Rating
from server.runs.models import Run
from server.training.models import TrainingMetric
from tests.server.factories import ask, game_form, make_contributor, make_network, npz_bytes, upload_training

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (Debian: apt-get install chromium)"),
]

SGF = (
    b"(;FF[4]GM[1]SZ[7]PB[x]PW[x]HA[0]KM[7.5]RU[koPOSITIONALscoreAREAtaxNONEsui1]RE[W+7.5]"
    b";B[ba];W[aa]C[0.25 0.75 0.00 -2.5 v=8];B[ab];W[];B[])"
)
"""Black's third stone takes one of White's in the corner."""
PHONE: ViewportSize = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright, pytest.MonkeyPatch.context() as patch:
        # Playwright's own event loop runs in this thread and makes Django think that it is used from asyncio
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page on which nothing may be refused or fail: no message of a script, of the policy or of the network."""
    complaints: list[str] = []
    page = browser.new_page()
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(f"{request.url}: {request.failure}"))
    yield page
    page.close()
    assert complaints == []


@pytest.fixture
def run(tmp_path: Path, settings: Settings) -> Run:
    """A run with two networks, ratings, losses and one game."""
    settings.MEDIA_ROOT = tmp_path / "files"
    run = run_create(
        name="web7",
        selfplay_config=default_text("selfplay", "7x7"),
        gating_config=default_text("gating", "7x7"),
        data_board_len=7,
        architecture="b2c32",
    )
    anna, client = make_contributor("anna"), Client()
    job = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    form = game_form(job, game_length="5")
    assert upload_training(client, anna, form, sgf=SGF, rows=npz_bytes()).status_code == 201
    make_network(run, tmp_path, name="web7-s128-d3")
    for number, network in enumerate(Network.objects.filter(run=run).order_by("pk")):
        Rating.objects.create(network=network, run=run, log_gamma=float(number), error=0.1, games=10)
    for samples in (128, 256):
        losses = {"policy": 400.0 / samples, "value": 1.0, "total": 5.0}
        values = {"rows": 50, "losses": losses, "samples_per_second": 9, "waiting_share": 0}
        TrainingMetric.objects.create(run=run, architecture="b2c32", samples=samples, **values)
    return run


PATHS = ["/", "/runs/", "/runs/web7/", "/networks/web7/", "/games/web7/", "/contributors/"]


def game_path() -> str:
    game = Game.objects.get()
    return f"/game/{game.kind}/{game.uid}/"


def test_every_page_fits_a_phone(page: Page, live_server: LiveServer, run: Run) -> None:
    page.set_viewport_size(PHONE)
    for path in [*PATHS, game_path()]:
        answer = page.goto(live_server.url + path, wait_until="networkidle")
        assert answer is not None
        assert answer.ok, path
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], f"{path} scrolls sideways"


def test_charts_show_every_network_and_a_loss_on_demand(page: Page, live_server: LiveServer, run: Run) -> None:
    page.goto(live_server.url + "/runs/web7/")
    ratings, losses = page.locator("[data-chart=ratings]"), page.locator("[data-chart=losses]")
    expect(ratings.locator("path.point")).to_have_count(2)
    expect(losses.locator(".scatterlayer path.js-line")).to_have_count(2)
    losses.locator(".legendtoggle").nth(1).click()  # the names are sorted: policy, total, value
    expect(losses.locator(".scatterlayer path.js-line")).to_have_count(3)


@pytest.mark.parametrize("width", [360, 900, 1200, 1600])
def test_a_legend_of_many_losses_covers_no_title(page: Page, live_server: LiveServer, run: Run, width: int) -> None:
    """As many losses as the trainer tells."""
    losses = {f"{kind} of the {time} term": 1.0 for kind in ("policy", "value", "score") for time in range(8)}
    values = {"rows": 50, "losses": losses, "samples_per_second": 9, "waiting_share": 0}
    TrainingMetric.objects.create(run=run, architecture="b2c32", samples=512, **values)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(live_server.url + "/runs/web7/")
    for chart in page.locator("[data-chart]").all():
        expect(chart.locator(".xtitle")).to_be_visible()
        title, legend, plot = (chart.locator(part).bounding_box() for part in (".xtitle", ".legend .bg", ".nsewdrag"))
        assert title is not None
        assert plot is not None
        assert plot["height"] > 100
        if legend is not None:  # a chart of one line has none
            assert legend["y"] + legend["height"] <= plot["y"] + 1 or legend["y"] >= title["y"] + title["height"]


def test_a_game_is_stepped_through_by_keys_and_by_clicks(page: Page, live_server: LiveServer, run: Run) -> None:
    page.goto(live_server.url + game_path() + "?move=0")
    stones, number = page.locator(".stones circle:not(.mark)"), page.locator(".viewer output")
    expect(stones).to_have_count(0)
    for count in (1, 2, 2):  # the third stone takes the second
        page.keyboard.press("ArrowRight")
        expect(stones).to_have_count(count)
    expect(number).to_have_text("3 / 5")
    assert page.url.endswith("?move=3")
    page.reload()
    expect(stones).to_have_count(2)
    page.locator("[data-step=previous]").click()
    expect(page.locator(".comment")).to_have_text("0.25 0.75 0.00 -2.5 v=8")
    page.locator("[data-step=last]").click()
    expect(number).to_have_text("5 / 5")


def test_a_game_is_stepped_through_without_scripts(browser: Browser, live_server: LiveServer, run: Run) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(live_server.url + game_path() + "?move=2")
    page.locator("[data-step=next]").click()
    expect(page.locator(".stones circle:not(.mark)")).to_have_count(2)
    expect(page.locator(".viewer output")).to_have_text("3 / 5")
    context.close()


def test_a_network_arrives_as_its_sum_says(page: Page, live_server: LiveServer, run: Run) -> None:
    page.goto(live_server.url + "/networks/web7/")
    with page.expect_download() as download:
        page.get_by_role("link", name="web7-s128-d3.bin.gz").click()
    content = Path(download.value.path()).read_bytes()
    expect(page.locator(".hash")).to_have_text(f"sha256 {hashlib.sha256(content).hexdigest()}")


def test_a_maintainer_logs_in_and_pauses_a_run(page: Page, live_server: LiveServer, run: Run) -> None:
    get_user_model().objects.create_superuser("maintainer", password="a long enough password")
    page.goto(live_server.url + "/admin/")
    page.get_by_label("Username").fill("maintainer")
    page.get_by_label("Password").fill("a long enough password")
    page.get_by_role("button", name="Log in").click()
    page.locator(".model-run").get_by_role("link", name="Runs").click()
    page.get_by_role("link", name="web7").click()
    page.get_by_label("State").select_option("paused")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".success")).to_be_visible()
    run.refresh_from_db()
    assert run.state == "paused"


def test_a_chart_has_nothing_on_its_legend(page: Page, live_server: LiveServer, run: Run) -> None:
    page.goto(live_server.url + "/runs/web7/")
    for chart in page.locator("[data-chart]").all():
        chart.hover()
        expect(chart.locator(".xtitle")).to_be_visible()
        expect(chart.locator(".modebar-btn")).to_have_count(0)


@pytest.mark.parametrize("size", [2, 9, 19])
def test_coordinates_stand_beside_the_stones(page: Page, live_server: LiveServer, run: Run, size: int) -> None:
    """Stones on every point of the edge."""
    letters = "abcdefghijklmnopqrs"[:size]
    edge = [x + y for x in letters for y in letters if {x, y} & {"a", letters[-1]} and (x, y) != ("a", "a")]
    stones = "".join(f"[{point}]" for point in edge[: 2 * size - 2])
    text = f"(;FF[4]GM[1]SZ[{size}]PB[x]PW[x]HA[0]KM[7.5]RU[Japanese]AB{stones})"
    game = Game.objects.get()
    default_storage.save(game.sgf_file, ContentFile(text.encode()))
    page.goto(live_server.url + game_path())
    expect(page.locator(".stones circle")).to_have_count(len(edge[: 2 * size - 2]))
    expect(page.locator(".facts")).to_contain_text("Japanese: simple ko, territory scoring")
    circles = [box for circle in page.locator(".stones circle").all() if (box := circle.bounding_box())]
    board = page.locator(".goban").bounding_box()
    assert board is not None
    for label in page.locator(".goban text").all():
        box = label.bounding_box()
        assert box is not None
        assert board["x"] <= box["x"]
        assert box["x"] + box["width"] <= board["x"] + board["width"]
        assert box["y"] + box["height"] <= board["y"] + board["height"]
        for circle in circles:
            apart_x = box["x"] + box["width"] <= circle["x"] or circle["x"] + circle["width"] <= box["x"]
            apart_y = box["y"] + box["height"] <= circle["y"] or circle["y"] + circle["height"] <= box["y"]
            assert apart_x or apart_y, label.text_content()


@pytest.mark.parametrize(
    "path", ["/runs", "/runs/web7", "/networks/web7", "/games/web7?page=1", "/contributors", "/admin"]
)
def test_a_forgotten_slash(page: Page, live_server: LiveServer, run: Run, path: str) -> None:
    answer = page.goto(live_server.url + path)
    assert answer is not None
    assert answer.ok
    assert page.url.partition("?")[0].endswith("/")


def test_a_network_that_has_not_played_has_no_elo(page: Page, live_server: LiveServer, run: Run) -> None:
    Rating.objects.filter(network__is_random=False).update(games=0)
    for path in ("/runs/web7/", "/networks/web7/"):
        page.goto(live_server.url + path)
        expect(page.get_by_text("not played yet")).to_have_count(1)
    page.goto(live_server.url + "/runs/web7/")
    expect(page.locator("[data-chart=ratings] path.point")).to_have_count(1)
