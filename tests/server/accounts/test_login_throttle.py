"""Guessing at passwords: counted for all processes and threads together, before anything is hashed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.db import connection
from django.db.models import F
from django.test import Client

from common import wire
from server.accounts.counting import network_of
from server.accounts.models import Contributor, LoginCount, VerifiedLogin
from server.accounts.tasks import forget_logins
from server.accounts.throttling import KNOWN_FOR
from server.runs.models import Run
from tests.server.factories import PASSWORD, ask, login, make_contributor, make_run

Try = Callable[[str, str, str], int]


def by_api(username: str, password: str, address: str) -> int:
    """Status of a request with Basic login."""
    contributor = Contributor.objects.get(user__username="anna")
    contributor.user.username = username
    headers = login(contributor, password)
    return Client(REMOTE_ADDR=address).post(wire.PATH_TASKS, {}, headers=headers).status_code


def by_admin(username: str, password: str, address: str) -> int:
    """Status of a login at the admin's form: 200 shows it again, 302 is in."""
    form = {"username": username, "password": password, "next": "/admin/"}
    return Client(REMOTE_ADDR=address).post("/admin/login/", form).status_code


@pytest.fixture(autouse=True)
def three(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three tries a minute."""
    monkeypatch.setattr("server.accounts.throttling.limits", lambda: (3, 60))


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


def later(**time: int) -> None:
    """Let that much time pass, as far as the counts know."""
    LoginCount.objects.update(since=F("since") - timedelta(**time))


@pytest.mark.django_db
@pytest.mark.parametrize(("attempt", "wrong"), [(by_api, 401), (by_admin, 200)])
@pytest.mark.parametrize(
    "vary",
    [lambda i: ("anna", "192.0.2.1"), lambda i: (f"who{i}", "192.0.2.1"), lambda i: ("anna", f"192.0.2.{i}")],
    ids=["one account, one address", "many accounts", "many addresses"],
)
def test_the_fourth_wrong_login_is_refused_unhashed(
    anna: Contributor, hashed: list[str], attempt: Try, wrong: int, vary: Callable[[int], tuple[str, str]]
) -> None:
    found = []
    for number in range(6):
        username, address = vary(number)
        found.append(attempt(username, f"guess{number}", address))
    assert found == [wrong] * 3 + [429] * 3
    assert not {"guess3", "guess4", "guess5"} & set(hashed)
    later(seconds=61)
    assert attempt("anna", "guess", "192.0.2.1") == wrong


@pytest.mark.django_db
@pytest.mark.parametrize(("attempt", "wrong"), [(by_api, 401), (by_admin, 200)])
def test_both_ways_to_log_in_share_their_counts(anna: Contributor, attempt: Try, wrong: int) -> None:
    assert attempt("anna", "guess", "192.0.2.1") == wrong
    assert by_api("anna", "guess", "192.0.2.1") == 401
    assert by_admin("anna", "guess", "192.0.2.1") == 200
    assert {by_api("anna", "guess", "192.0.2.1"), by_admin("anna", "guess", "192.0.2.1")} == {429}


@pytest.mark.django_db
def test_the_refusal_says_when_to_come_back(client: Client, anna: Contributor) -> None:
    for _ in range(3):
        by_api("anna", "guess", "127.0.0.1")
    answer = client.post(wire.PATH_TASKS, {}, headers=login(anna, "guess"))
    assert wire.ErrorAnswer.from_json(answer.content).code == wire.ErrorCode.RETRY
    assert "Too many failed logins from this address" in answer.json()["detail"]
    assert 0 < int(answer.headers["Retry-After"]) <= 60
    page = client.post("/admin/login/", {"username": "anna", "password": "guess"})
    assert (page.status_code, "Too many" in page.content.decode()) == (429, True)
    assert 0 < int(page.headers["Retry-After"]) <= 60


@pytest.mark.django_db
def test_right_passwords_are_not_counted_and_hashed_once(
    client: Client, anna: Contributor, run: Run, hashed: list[str]
) -> None:
    hashed.clear()
    for _ in range(10):
        assert ask(client, anna).status_code == 200
    assert len(hashed) == 1
    for number in range(6):
        assert ask(client, make_contributor(f"berta{number}")).status_code == 200


@pytest.mark.django_db
def test_who_is_known_is_not_held_up(client: Client, anna: Contributor, run: Run) -> None:
    anna.user.is_staff = True
    anna.user.save()
    assert by_admin("anna", PASSWORD, "192.0.2.9") == 302
    for number in range(5):
        by_api("anna", "guess", f"198.51.100.{number}")
    assert by_admin("anna", PASSWORD, "203.0.113.7") == 429, "not from an address that nobody knows"
    assert by_admin("anna", PASSWORD, "192.0.2.9") == 302, "from its own it may go on"
    assert ask(client, anna).status_code == 429
    later(seconds=61)
    assert ask(client, anna).status_code == 200
    for _ in range(5):
        by_api("anna", "guess", "127.0.0.1")
    assert ask(client, anna).status_code == 200, "who was verified is not held up by others behind the same address"


@pytest.mark.django_db
def test_who_guesses_holds_up_none_who_are_known_behind_the_same_address(
    client: Client, anna: Contributor, run: Run
) -> None:
    def other_process() -> None:
        """Forget that a password was verified, as after some hours."""
        VerifiedLogin.objects.all().delete()

    assert ask(client, anna).status_code == 200
    for number in range(6):
        by_api(f"who{number}", "guess", "127.0.0.1")
        other_process()
        assert ask(client, anna).status_code == 200
    assert ask(client, make_contributor("berta")).status_code == 429, "a right login takes no guess of others back"
    assert [by_api("anna", "guess", "127.0.0.1") for _ in range(5)] == [401] * 3 + [429] * 2
    other_process()
    assert ask(client, anna).status_code == 429, "who is known may not guess without end either"


@pytest.mark.django_db(transaction=True)
def test_tries_at_once_are_all_counted(hashed: list[str]) -> None:
    make_run()
    make_contributor("anna")
    hashed.clear()

    def guess(number: int) -> int:
        try:
            return by_api("anna", f"guess{number}", "192.0.2.1")
        finally:
            connection.close()

    with ThreadPoolExecutor(16) as pool:
        found = sorted(pool.map(guess, range(32)))
    assert found == [401] * 3 + [429] * 29
    assert len(hashed) == 3


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("[2001:db8::1]", "2001:db8::/64"),
        ("unknown", "unknown"),
        ("", ""),
    ],
)
def test_what_stands_for_a_customer(address: str, network: str) -> None:
    assert network_of(address) == network


@pytest.mark.django_db
def test_old_counts_are_forgotten(anna: Contributor) -> None:
    by_api("anna", "guess", "192.0.2.1")
    by_admin("anna", PASSWORD, "192.0.2.2")
    assert LoginCount.objects.filter(known=True).count() == 1
    assert forget_logins() == 0
    later(seconds=61)
    forget_logins()
    assert [count.known for count in LoginCount.objects.all()] == [True]
    later(days=KNOWN_FOR.days)
    forget_logins()
    assert not LoginCount.objects.exists()
