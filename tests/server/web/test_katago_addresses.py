"""The addresses that katago-server's pages have lead to what shows the same here (contribute-protocol.md 16)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from pytest_django import Settings

from server.accounts.models import Contributor
from server.games.models import Game
from server.runs.models import Run
from tests.server.factories import make_contributor

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("/networks/", "/networks/seven/"),
        ("/games/", "/games/seven/"),
        ("/networks/seven/seven-random/training-games/", "/games/seven/?network=seven-random"),
        ("/networks/seven/seven-random/rating-games/", "/games/seven/?network=seven-random"),
        ("/contributions/", "/contributors/"),
        ("/contributions/seven/", "/contributors/"),
        ("/contributions/anna/training-games/", "/games/seven/?user=anna"),
        ("/contributions/anna/rating-games/", "/games/seven/?user=anna"),
        ("/contributions/anna/", "/games/seven/?user=anna"),
        ("/accounts/login/", "/account/login/"),
        ("/accounts/signup/", "/account/sign-up/"),
        ("/accounts/password/reset/", "/account/reset/"),
        ("/accounts/email/", "/account/"),
        ("/accounts/", "/account/"),
    ],
)
def test_an_address_leads_to_the_page(
    client: Client, run: Run, anna: Contributor, settings: Settings, address: str, page: str
) -> None:
    settings.SIGN_UP = settings.HAS_EMAIL = True
    answer = client.get(address)
    assert (answer.status_code, answer.headers["Location"]) == (302, page)
    assert client.get(page, follow=True).status_code == 200


def test_games_of_a_user_are_hers_alone(client: Client, play: Callable[..., Game], anna: Contributor, run: Run) -> None:
    game = play()
    make_contributor("ötto+1")
    hers = client.get("/contributions/anna/training-games/", follow=True).content.decode()
    assert game.uid[:8] in hers
    his = client.get("/contributions/ötto+1/training-games/", follow=True)
    assert his.status_code == 200
    assert game.uid[:8] not in his.content.decode()
    together = client.get("/games/seven/?user=anna&network=seven-random").content.decode()
    assert game.uid[:8] in together


def test_whom_nobody_knows_has_no_games(client: Client, run: Run) -> None:
    for address in ("/contributions/nobody/training-games/", "/games/seven/?user=nobody"):
        assert client.get(address).status_code == 404
