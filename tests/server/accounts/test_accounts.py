"""Contributors, and a login that is checked once and then remembered."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client
from rest_framework.authentication import BasicAuthentication
from rest_framework.settings import api_settings

from common import wire
from server.accounts.models import Contributor
from server.accounts.services import contributor_create
from server.errors import InvalidSettings
from server.runs.models import Run
from tests.server.factories import PASSWORD, ask, login, make_contributor

pytestmark = pytest.mark.django_db


def test_a_password_is_made_up_and_works(client: Client, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("add_contributor", "berta")
    password = capsys.readouterr().out.split("password: ")[1].strip()
    berta = Contributor.objects.get(user__username="berta")
    assert client.post(wire.PATH_TASKS, {}, headers=login(berta, password)).status_code == 400
    assert not berta.user.is_staff


def test_a_password_is_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("a long enough password\n"))
    call_command("add_contributor", "berta", "--password-stdin", "--maintainer")
    assert "password" not in capsys.readouterr().out
    user = get_user_model().objects.get(username="berta")
    assert user.check_password("a long enough password")
    assert user.is_staff


def test_a_new_password_takes_the_place_of_the_old_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An account that is not there yet is made; a weak password changes nothing."""
    for typed in ("a long enough password", "another long password"):
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{typed}\n"))
        call_command("add_contributor", "berta", "--password-stdin", "--set-password")
        assert get_user_model().objects.get(username="berta").check_password(typed)
    monkeypatch.setattr(sys, "stdin", io.StringIO("short\n"))
    with pytest.raises(CommandError, match="too short"):
        call_command("add_contributor", "berta", "--password-stdin", "--set-password")
    assert get_user_model().objects.get(username="berta").check_password("another long password")
    capsys.readouterr()
    call_command("add_contributor", "berta", "--set-password")
    made = capsys.readouterr().out.split("password: ")[1].strip()
    assert get_user_model().objects.get(username="berta").check_password(made)


@pytest.mark.parametrize(
    ("username", "password", "text"),
    [
        ("ab", None, "3 to 60"),
        ("a@b.org", None, "3 to 60"),
        ("x" * 61, None, "3 to 60"),
        ("anna", None, "is taken"),
        ("berta", "12345", "too short"),
    ],
)
def test_bad_accounts(anna: Contributor, username: str, password: str | None, text: str) -> None:
    with pytest.raises(InvalidSettings, match=text):
        contributor_create(username=username, password=password)
    assert Contributor.objects.count() == 1


def test_the_command_tells_what_is_wrong(anna: Contributor) -> None:
    with pytest.raises(CommandError, match="is taken"):
        call_command("add_contributor", "anna")


def test_letters_of_every_script(client: Client, run: Run) -> None:
    contributor, password = contributor_create(username="jörg.黒", password="日本語のパスワード")
    assert ask(client, contributor).status_code == 401
    assert client.post(wire.PATH_TASKS, {}, headers=login(contributor, password)).status_code == 400


def test_a_password_is_hashed_once(
    client: Client, anna: Contributor, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = []
    original = BasicAuthentication.authenticate_credentials

    def counting(self: BasicAuthentication, *arguments: Any) -> Any:
        checked.append(arguments[0])
        return original(self, *arguments)

    monkeypatch.setattr(BasicAuthentication, "authenticate_credentials", counting)
    for _ in range(3):
        assert ask(client, anna).status_code == 200
    assert checked == ["anna"]
    anna.user.set_password("another password")
    anna.user.save()
    assert ask(client, anna).status_code == 401, "the old password is not remembered beyond its change"


def test_requests_are_throttled_per_contributor(
    client: Client, anna: Contributor, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(api_settings.DEFAULT_THROTTLE_RATES, "user", "2/min")
    assert [ask(client, anna).status_code for _ in range(3)] == [200, 200, 429]
    assert ask(client, make_contributor("berta")).status_code == 200


def test_password_constant_is_good_enough(anna: Contributor) -> None:
    assert anna.user.check_password(PASSWORD)
