"""Pages by key against the plain list, from every cursor; and lists that are paged so, over HTTP."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from server.games import blocks
from server.games.models import Game, GameKind, GameState
from server.networks.models import Network
from server.paging import Cursor, key_page
from server.runs.models import Run
from server.upkeep.synthetic import Amounts, synthetic_seed

pytestmark = pytest.mark.django_db

SIZE = 7


@pytest.fixture
def big(run: Run) -> Run:
    """A run of 230 games, a third of them matches."""
    synthetic_seed(run, Amounts(games=230, networks=3, contributors=2, match_every=3, waiting=4))
    return run


def follow(parts: list[Any], start: Cursor, way: str) -> list[list[int]]:
    """The keys of all pages from ``start`` on, by the links ``newer`` or ``older``."""
    pages = []
    page = key_page(parts, start, SIZE)
    while True:
        pages.append([row.pk for row in page.object_list])
        link = getattr(page, way)
        if link is None:
            return pages
        name, key = link.split("=")
        page = key_page(parts, Cursor.of({name: key}), SIZE)


def test_links_lead_through_the_whole_list_both_ways(big: Run) -> None:
    expected = list(Game.objects.order_by("-pk").values_list("pk", flat=True))
    down = follow([Game.objects.all()], Cursor(), "older")
    assert [key for page in down for key in page] == expected
    assert {len(page) for page in down[:-1]} == {SIZE}
    up = follow([Game.objects.all()], Cursor(oldest=True), "newer")
    assert [key for page in reversed(up) for key in page] == expected


def test_keys_are_looked_for_in_an_index_alone(big: Run) -> None:
    """Where most games are of the run, PostgreSQL would pass over all that are not, to have whole rows at once."""
    part = Game.objects.filter(run=big).select_related("run").only("uid", "run__name")
    with CaptureQueriesContext(connection) as asked:
        page = key_page([part], Cursor(), SIZE)
    keys, rows = (query["sql"] for query in asked.captured_queries)
    assert keys.startswith('SELECT "games_game"."id" AS "pk" FROM "games_game" WHERE "games_game"."run_id"')
    assert "JOIN" not in keys
    assert '"games_game"."id" IN' in rows
    with CaptureQueriesContext(connection) as asked:
        assert {game.run.name for game in page.object_list} == {big.name}
    assert not asked.captured_queries


def test_parts_that_overlap_are_one_list(big: Run) -> None:
    network = Network.objects.order_by("pk")[1]
    parts = [Game.objects.filter(black_network=network), Game.objects.filter(white_network=network)]
    expected = list((parts[0] | parts[1]).order_by("-pk").values_list("pk", flat=True))
    assert len(expected) > len(set(parts[0].values_list("pk", flat=True)))
    assert [key for page in follow(parts, Cursor(), "older") for key in page] == expected
    assert [key for page in reversed(follow(parts, Cursor(oldest=True), "newer")) for key in page] == expected


def test_every_cursor_is_a_window_of_the_list(big: Run) -> None:
    keys = list(Game.objects.order_by("pk").values_list("pk", flat=True))
    for key in (keys[0], keys[3], keys[100], keys[-1], keys[-1] + 5):
        older = [k for k in reversed(keys) if k < key][:SIZE] or keys[:SIZE][::-1]
        assert [row.pk for row in key_page([Game.objects.all()], Cursor(before=key), SIZE).object_list] == older
        newer = [k for k in keys if k > key][:SIZE][::-1] or keys[-SIZE:][::-1]
        assert [row.pk for row in key_page([Game.objects.all()], Cursor(after=key), SIZE).object_list] == newer


def test_an_empty_list_has_one_empty_page() -> None:
    for cursor in (Cursor(), Cursor(before=5), Cursor(after=5), Cursor(oldest=True)):
        page = key_page([Game.objects.all()], cursor, SIZE)
        assert (list(page.object_list), page.newer, page.older) == ([], None, None)


@pytest.mark.parametrize("text", ["", "x", "-1", "1" * 30, "٣", "1.5"])
def test_nonsense_is_the_newest_page(text: str) -> None:
    assert Cursor.of({"before": text, "after": text, "oldest": text}) == Cursor()


# ------------------------------------------------------------------------------------------------------ the web's pages


def shown(text: str) -> list[str]:
    return re.findall(r'<tr><td><a href="/game/\w+/(\w+)/"', text)


@pytest.mark.parametrize("network", [False, True])
def test_the_games_page_is_paged_by_key(client: Client, big: Run, network: bool) -> None:
    address, games = "/games/seven/", Game.objects.order_by("-pk")
    if network:
        net = Network.objects.order_by("pk")[1]
        address += f"?network={net.name}"
        games = games.filter(black_network=net) | games.filter(white_network=net)
    expected = list(games.values_list("uid", flat=True))
    found: list[str] = []
    path: str | None = address
    while path is not None:
        text = client.get(path).content.decode()
        found += shown(text)
        link = re.search(r'rel="next" href="([^"]*)"', text)
        path = None if link is None else "/games/seven/" + link[1].replace("&amp;", "&")
    assert found == expected
    last = client.get(address + ("&" if network else "?") + "oldest=1").content.decode()
    assert shown(last) == expected[-50:]
    assert 'rel="prev"' in last
    assert 'rel="next"' not in last


# ------------------------------------------------------------------------------------------------------------- the API


@pytest.fixture(params=[False, True], ids=["open", "closed"])
def with_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, big: Run) -> bool:
    """Once with all games in blocks that are still open, once with most of them in closed ones."""
    if request.param:
        monkeypatch.setattr(blocks, "BLOCK", 16)
        Game.objects.update(received_at=timezone.now() - timedelta(hours=1))
        newest = Game.objects.order_by("-pk")[0].pk
        assert blocks.blocks_close() == newest // 16
        assert blocks.blocks_close() == 0
    return bool(request.param)


def test_the_api_has_every_page_by_number_and_by_link(client: Client, with_blocks: bool) -> None:
    for kind in GameKind:
        address = f"http://testserver/api/games/{kind}/"
        expected = list(Game.objects.filter(kind=kind).order_by("-pk").values_list("pk", flat=True))
        pages = -(-len(expected) // 20)
        assert pages >= 3
        numbered = [client.get(f"{address}?page={number}").json() for number in range(1, pages + 1)]
        assert [row["id"] for page in numbered for row in page["results"]] == expected
        assert {page["count"] for page in numbered} == {len(expected)}
        linked, at = [], address
        while at:
            answer = client.get(at).json()
            linked += [row["id"] for row in answer["results"]]
            at = answer["next"]
        assert linked == expected
        assert client.get(numbered[-1]["previous"]).json()["results"][0]["id"] == expected[(pages - 2) * 20]
        for wrong in (str(pages + 1), "0", "x", "9" * 20):
            answer = client.get(f"{address}?page={wrong}")
            assert answer.status_code == 404
            assert "page" in answer.json()["detail"]


def test_an_empty_list_has_page_one(client: Client, run: Run) -> None:
    for address in ("/api/games/training/", "/api/games/training/?page=1"):
        assert client.get(address).json() == {"count": 0, "next": None, "previous": None, "results": []}


def test_young_games_keep_their_block_open(big: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 16)
    Game.objects.update(received_at=timezone.now())
    assert blocks.blocks_close() == 0
    for kind in GameKind:
        assert blocks.games_count(kind) == Game.objects.filter(kind=kind).count()


# ----------------------------------------------------------------------------------------------------------- the admin


@pytest.fixture
def maintainer(client: Client) -> Client:
    """Somebody who is logged in to the admin's pages."""
    client.force_login(get_user_model().objects.create_superuser("root"))
    return client


def rows_shown(text: str) -> list[int]:
    return [int(key) for key in re.findall(r'name="_selected_action" value="(\d+)"', text)]


def test_the_admins_lists_are_paged_by_key_and_count_nothing(maintainer: Client, big: Run) -> None:
    games = Game.objects.filter(kind=GameKind.TRAINING).order_by("-pk")
    expected = list(games.values_list("pk", flat=True))
    found, path = [], "/admin/games/game/?kind__exact=training"
    with CaptureQueriesContext(
        connection,
    ) as queries:
        while path:
            text = maintainer.get(path).content.decode()
            found += rows_shown(text)
            link = re.search(r'<a href="([^"]*)">older', text)
            path = "" if link is None else "/admin/games/game/" + link[1].replace("&amp;", "&")
    assert found == expected
    asked = [query["sql"] for query in queries.captured_queries if "games_game" in query["sql"]]
    assert not [sql for sql in asked if "COUNT(" in sql or "OFFSET" in sql or "DISTINCT" in sql]
    last = maintainer.get("/admin/games/game/?kind__exact=training&oldest=1").content.decode()
    assert rows_shown(last) == expected[-30:]


@pytest.mark.parametrize(
    "path", ["/admin/jobs/job/", "/admin/training/trainingmetric/?oldest=1", "/admin/jobs/job/?before=3"]
)
def test_the_other_long_lists_of_the_admin_answer(maintainer: Client, big: Run, path: str) -> None:
    assert maintainer.get(path).status_code == 200


def test_the_admin_searches_for_what_has_an_index(maintainer: Client, big: Run) -> None:
    game = Game.objects.order_by("pk")[10]
    for term, expected in (
        (game.uid.lower(), [game.pk]),
        (
            f" {game.contributor.user.username} ",
            list(game.contributor.games.order_by("-pk").values_list("pk", flat=True)[:30]),
        ),
        (game.uid[:8], []),
    ):
        text = maintainer.get("/admin/games/game/", {"q": term}).content.decode()
        assert rows_shown(text) == expected
    text = maintainer.get("/admin/games/game/?reason=planes").content.decode()
    refused = Game.objects.filter(state=GameState.REFUSED).order_by("-pk")
    assert rows_shown(text) == list(refused.values_list("pk", flat=True))
    assert rows_shown(maintainer.get("/admin/games/game/?reason=komi").content.decode()) == []
