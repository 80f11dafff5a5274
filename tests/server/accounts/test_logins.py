"""Logins of clients: tokens of which a hash is kept, and passwords that are verified once for all processes."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.db import connection
from django.test import Client
from django.utils import timezone
from rest_framework.settings import api_settings

from common import wire
from server.accounts.hashing import Argon2
from server.accounts.models import ClientToken, Contributor, RequestCount, VerifiedLogin
from server.accounts.services import contributor_create
from server.accounts.tasks import forget_logins
from server.accounts.tokens import MAX_TOKENS
from server.errors import InvalidSettings
from server.runs.models import Run
from tests.server.factories import OURS, PASSWORD, ask, login, make_contributor

pytestmark = pytest.mark.django_db
FORM = {"git_revision": "f" * 40}


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every password that was hashed."""
    seen: list[str] = []
    original = MD5PasswordHasher.encode

    def encode(self: MD5PasswordHasher, password: str, salt: str) -> str:
        seen.append(password)
        return original(self, password, salt)

    monkeypatch.setattr(MD5PasswordHasher, "encode", encode)
    return seen


def make_token(name: str = "study") -> str:
    """A token that anna makes on her page."""
    browser = Client()
    assert browser.login(username="anna", password=PASSWORD)
    page = browser.post("/account/tokens/", {"name": name}).content.decode()
    found = re.search(r'id="token">([^<]+)<', page)
    assert found, page
    return found[1]


def by_token(token: str, **headers: str) -> int:
    """Status of a request for a task with a token."""
    bearer = {"Authorization": f"Bearer {token}"}
    return Client().post(wire.PATH_TASKS, FORM, headers=bearer | OURS | headers).status_code


def test_a_token_logs_in_without_a_hash_and_is_told_once(anna: Contributor, run: Run, hashed: list[str]) -> None:
    token = make_token()
    hashed.clear()
    assert token.startswith(wire.LOGIN_TOKEN_PREFIX)
    assert [by_token(token) for _ in range(3)] == [200] * 3
    assert hashed == []
    kept = ClientToken.objects.get()
    assert token not in {str(value) for value in vars(kept).values()}
    assert kept.last_used == timezone.now().date()
    browser = Client()
    browser.login(username="anna", password=PASSWORD)
    page = browser.get("/account/").content.decode()
    assert "study" in page
    assert token not in page


def test_katagos_client_may_have_a_token_in_place_of_its_password(
    client: Client, anna: Contributor, run: Run, hashed: list[str]
) -> None:
    token, berta = make_token(), make_contributor("berta")
    hashed.clear()
    assert client.post(wire.PATH_TASKS, FORM, headers=login(anna, token) | OURS).status_code == 200
    assert hashed == []
    assert client.post(wire.PATH_TASKS, FORM, headers=login(berta, token)).status_code == 401, "it is not berta's"


def test_a_revoked_token_is_of_no_use(anna: Contributor, run: Run) -> None:
    kept, revoked = make_token("kept"), make_token("revoked")
    key = ClientToken.objects.get(name="revoked").pk
    stranger, browser = Client(), Client()
    make_contributor("berta")
    stranger.login(username="berta", password=PASSWORD)
    browser.login(username="anna", password=PASSWORD)
    assert stranger.post(f"/account/tokens/{key}/revoke/").status_code == 404, "not by others"
    assert Client().post(f"/account/tokens/{key}/revoke/").headers["Location"].startswith("/account/login/")
    assert by_token(revoked) == 200
    assert browser.post(f"/account/tokens/{key}/revoke/").status_code == 302
    assert (by_token(revoked), by_token(kept)) == (401, 200)


def test_a_token_opens_no_page_and_ends_with_its_user(client: Client, anna: Contributor, run: Run) -> None:
    token = make_token()
    assert client.get("/account/", headers={"Authorization": f"Bearer {token}"}).status_code == 302
    anna.user.is_active = False
    anna.user.save()
    assert by_token(token) == 401


@pytest.mark.parametrize("text", ["", "tengen_", "tengen_x", "tengen_" + "x" * 5000, "tengen_\xff", "Ünsinn"])
def test_what_is_no_token_is_a_401_that_says_what_to_do(client: Client, anna: Contributor, text: str) -> None:
    answer = client.post(wire.PATH_TASKS, FORM, headers={"Authorization": f"Bearer {text}"})
    told = wire.ErrorAnswer.from_json(answer.content)
    assert (answer.status_code, told.code) == (401, wire.ErrorCode.STOP)
    assert "make one on the account's page" in told.detail


def test_wrong_tokens_are_throttled(anna: Contributor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(api_settings.DEFAULT_THROTTLE_RATES, "login", "2/min")
    assert [by_token(f"tengen_{number}") for number in range(4)] == [401, 401, 429, 429]


def test_tokens_are_bounded_and_no_password_looks_like_one(anna: Contributor) -> None:
    browser = Client()
    browser.login(username="anna", password=PASSWORD)
    for number in range(MAX_TOKENS + 2):
        page = browser.post("/account/tokens/", {"name": f"machine {number}"}).content.decode()
    assert "revoke one" in page
    assert ClientToken.objects.count() == MAX_TOKENS
    assert "This field is required" in browser.post("/account/tokens/", {"name": ""}).content.decode()
    with pytest.raises(InvalidSettings, match="does not begin as the tokens"):
        contributor_create(username="berta", password="tengen_0123456789")


def test_a_verified_password_is_known_to_every_process(
    client: Client, anna: Contributor, run: Run, hashed: list[str]
) -> None:
    hashed.clear()
    assert [ask(Client(), anna).status_code for _ in range(3)] == [200] * 3
    assert hashed == [PASSWORD]
    note = VerifiedLogin.objects.get()
    assert PASSWORD not in note.digest
    assert client.post(wire.PATH_TASKS, FORM, headers=login(anna, "wrong")).status_code == 401
    assert VerifiedLogin.objects.get().digest == note.digest
    VerifiedLogin.objects.update(until=timezone.now() - timedelta(seconds=1))
    hashed.clear()
    ask(client, anna)
    assert hashed == [PASSWORD], "after some hours it is verified again"
    VerifiedLogin.objects.update(until=timezone.now() - timedelta(seconds=1))
    forget_logins()
    assert not VerifiedLogin.objects.exists()


@pytest.mark.parametrize("change", ["password", "disabled"])
def test_what_was_verified_ends_at_once(client: Client, anna: Contributor, run: Run, change: str) -> None:
    assert ask(client, anna).status_code == 200
    if change == "password":
        anna.user.set_password("another long password")
    else:
        anna.user.is_active = False
    anna.user.save()
    assert ask(client, anna).status_code == 401


def test_a_copied_note_is_of_no_use_to_another_user(client: Client, anna: Contributor, run: Run) -> None:
    ask(client, anna)
    note = VerifiedLogin.objects.get()
    berta = make_contributor("berta")
    berta.user.set_password("quite another password")
    berta.user.save()
    VerifiedLogin.objects.create(user=berta.user, digest=note.digest, until=note.until)
    assert client.post(wire.PATH_TASKS, FORM, headers=login(berta, PASSWORD)).status_code == 401


def test_counts_and_notes_cost_no_wait_for_the_disk() -> None:
    with connection.cursor() as cursor:
        names = [model._meta.db_table for model in (RequestCount, VerifiedLogin)]
        cursor.execute("SELECT relpersistence FROM pg_class WHERE relname = ANY(%s)", [names])
        assert cursor.fetchall() == [("u",), ("u",)]


def test_anonymous_requests_and_pages_are_limited_by_customer(
    client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(api_settings.DEFAULT_THROTTLE_RATES, "anon", "2/min")
    monkeypatch.setitem(api_settings.DEFAULT_THROTTLE_RATES, "pages", "3/min")
    one = [f"2001:db8:1:2::{number}" for number in range(5)]
    found = [client.get("/api/runs/", REMOTE_ADDR=address).status_code for address in one]
    assert found == [200, 200, 429, 429, 429]
    assert client.get("/api/runs/", REMOTE_ADDR="2001:db8:1:3::1").status_code == 200
    pages = [client.get("/", REMOTE_ADDR=address) for address in one]
    assert [page.status_code for page in pages] == [200, 200, 200, 429, 429]
    assert 0 < int(pages[-1].headers["Retry-After"]) <= 60
    assert client.get("/healthz/", REMOTE_ADDR=one[0]).status_code == 200
    assert client.get("/", REMOTE_ADDR="192.0.2.1").status_code == 200
    RequestCount.objects.update(since=timezone.now() - timedelta(days=2))
    forget_logins()
    assert not RequestCount.objects.exists()


def test_passwords_are_kept_as_argon2_and_old_hashes_are_renewed(
    client: Client, anna: Contributor, run: Run, settings: object
) -> None:
    from server import settings as ours

    settings.PASSWORD_HASHERS = ours.PASSWORD_HASHERS  # type: ignore[attr-defined]
    old = "pbkdf2_sha256$1000$salt$"
    from django.contrib.auth.hashers import PBKDF2PasswordHasher

    anna.user.password = PBKDF2PasswordHasher().encode(PASSWORD, "salt", iterations=1000)
    anna.user.save()
    assert anna.user.password.startswith(old)
    assert ask(client, anna).status_code == 200
    anna.user.refresh_from_db()
    assert anna.user.password.startswith(f"argon2$argon2id$v=19$m={19 * 1024},t=2,p=1$")
    assert not Argon2().must_update(anna.user.password)
