"""One's own account in a browser: sign-up, e-mail address, passwords, data, and the end."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any, cast

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.core import mail
from django.db.models import F
from django.test import Client
from rest_framework.settings import api_settings

from server.accounts import letters
from server.accounts.models import Contributor, Letter, LoginCount
from server.accounts.registration import sign_up
from server.accounts.roles import Role, role_set
from server.accounts.tasks import forget_logins, send_letters
from server.games.models import Game
from server.jobs.models import Job
from server.runs.models import Run
from server.trust.differences import Difference
from server.trust.models import Trust
from server.trust.services import alarms_raise, standing_decide, standing_of
from tests.server.factories import PASSWORD, ask, game_form, make_contributor, upload_training

pytestmark = pytest.mark.django_db

NEW_PASSWORD = "quite another password"
WANTED = {"username": "berta", "email": "berta@example.org", "password1": PASSWORD, "password2": PASSWORD}


@pytest.fixture(autouse=True)
def open_server(settings: Any) -> None:
    """People may sign up, and letters go to `django.core.mail.outbox`."""
    settings.SIGN_UP = settings.VERIFY_EMAIL = settings.HAS_EMAIL = True


@pytest.fixture
def browser(anna: Contributor) -> Client:
    """Anna's."""
    anna.user.email = "anna@example.org"
    anna.user.save()
    browser = Client()
    browser.force_login(anna.user)
    return browser


def mailed() -> str:
    """Path that the one new letter names."""
    assert send_letters() == 1
    (letter,) = mail.outbox
    mail.outbox.clear()
    found = re.search(r"^http://testserver(/\S+)$", str(letter.body), re.M)
    assert found, letter.body
    return found[1]


def user(name: str) -> Any:
    return get_user_model().objects.get(username=name)


# ------------------------------------------------------------------------------------------------------------ sign-up


def test_who_signs_up_contributes_once_the_address_is_confirmed(client: Client, run: Run) -> None:
    answer = client.post("/account/sign-up/", WANTED)
    assert "Look into your mailbox" in answer.content.decode()
    berta = Contributor.objects.get(user__username="berta")
    refused = ask(client, berta)
    assert refused.status_code == 403
    assert "permission to perform" in refused.json()["detail"]
    assert "not confirmed yet" in refused.json()["detail"]
    link = mailed()
    assert client.get(link).status_code == 200
    assert ask(client, berta).status_code == 403, "programs that look through mails open links, too"
    assert "confirmed" in client.post(link).content.decode()
    assert ask(client, berta).status_code == 200
    assert not Letter.objects.exists()


def test_without_verification_an_account_works_at_once(client: Client, run: Run, settings: Any) -> None:
    settings.VERIFY_EMAIL = settings.HAS_EMAIL = False
    assert client.post("/account/sign-up/", WANTED).headers["Location"] == "/account/"
    assert "berta" in client.get("/account/").content.decode()
    assert ask(client, Contributor.objects.get(user__username="berta")).status_code == 200
    again = Client().post("/account/sign-up/", WANTED | {"username": "clara"})
    assert "An account has this e-mail address already" in again.content.decode()
    assert not mail.outbox
    assert Client().get("/account/reset/").status_code == 404


def test_a_closed_server_has_no_sign_up(client: Client, settings: Any) -> None:
    settings.SIGN_UP = False
    assert client.get("/account/sign-up/").status_code == 404
    assert client.post("/account/sign-up/", WANTED).status_code == 404
    assert not get_user_model().objects.exists()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"username": "ab"}, "3 to 60"),
        ({"username": "b@example.org"}, "3 to 60"),
        ({"username": "two words"}, "3 to 60"),
        ({"username": "x" * 61}, "3 to 60"),
        ({"username": "b\u202eb"}, "3 to 60"),
        ({"username": "(deleted 1)"}, "3 to 60"),
        ({"username": "ANNA"}, "already exists"),
        ({"username": "\uff41\uff4e\uff4e\uff41"}, "already exists"),
        ({"email": "no address"}, "valid email"),
        ({"email": ""}, "required"),
        ({"password2": "something else"}, "match"),
        ({"password1": "12345", "password2": "12345"}, "too short"),
        ({"password1": "berta@example.org", "password2": "berta@example.org"}, "too similar"),
    ],
)
def test_what_is_no_account(client: Client, anna: Contributor, changes: dict[str, str], text: str) -> None:
    """Full-width letters are those of the plain alphabet; capitals make no other name."""
    page = client.post("/account/sign-up/", WANTED | changes)
    assert page.status_code == 200
    assert text in page.content.decode()
    assert get_user_model().objects.count() == 1


def test_letters_of_every_script_are_a_name(client: Client) -> None:
    client.post("/account/sign-up/", WANTED | {"username": "jörg.黒"})
    assert user("jörg.黒").email == "berta@example.org"


def test_nobody_learns_who_has_an_account(client: Client, browser: Client) -> None:
    fresh = client.post("/account/sign-up/", WANTED)
    mailed()
    known = client.post("/account/sign-up/", WANTED | {"username": "clara", "email": "ANNA@example.org"})
    assert known.content == fresh.content
    assert get_user_model().objects.count() == 2
    assert send_letters() == 1
    assert mail.outbox[0].to == ["anna@example.org"]
    assert "account anna" in mail.outbox[0].body
    mail.outbox.clear()
    answers = [client.post("/account/reset/", {"email": email}) for email in ("anna@example.org", "x@example.org")]
    assert [answer.headers["Location"] for answer in answers] == ["/account/reset/sent/"] * 2
    assert Letter.objects.count() == 1


def test_a_million_sign_ups_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """By address, by the day, and those that nobody confirms go; the limit is met before a password is hashed."""
    rates = {"sign_up": "3/hour", "sign_up_all": "7/day", "pages": "1000/min"}
    for scope, rate in rates.items():
        monkeypatch.setitem(api_settings.DEFAULT_THROTTLE_RATES, scope, rate)

    def attempt(number: int, address: str) -> int:
        wanted = WANTED | {"username": f"bot{number}", "email": f"bot{number}@example.org"}
        return Client(REMOTE_ADDR=address).post("/account/sign-up/", wanted).status_code

    found = [attempt(number, f"2001:db8:0:1::{number}") for number in range(5)]
    assert found == [200] * 3 + [429] * 2
    found = [attempt(number, f"192.0.2.{number}") for number in range(10, 20)]
    assert found == [200] * 4 + [429] * 6
    assert get_user_model().objects.count() == 7
    forget_logins()
    assert get_user_model().objects.count() == 7
    Contributor.objects.update(created_at=F("created_at") - timedelta(days=5))
    forget_logins()
    assert not get_user_model().objects.exists()


def test_only_who_never_confirmed_is_removed(client: Client, anna: Contributor) -> None:
    client.post("/account/sign-up/", WANTED)
    client.post(mailed())
    Contributor.objects.update(created_at=F("created_at") - timedelta(days=5))
    forget_logins()
    assert get_user_model().objects.count() == 2


def test_the_database_takes_a_name_and_an_address_once() -> None:
    site = "http://testserver"
    assert sign_up(username="berta", email="b@example.org", password=PASSWORD, site=site) is not None
    assert sign_up(username="clara", email="B@Example.org", password=PASSWORD, site=site) is None
    assert get_user_model().objects.count() == 1


@pytest.mark.parametrize("change", ["taken", "forged", "old", "disabled"])
def test_a_link_that_is_void(client: Client, anna: Contributor, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    client.post("/account/sign-up/", WANTED)
    link = mailed()
    if change == "taken":
        get_user_model().objects.filter(username="berta").update(email="")
        get_user_model().objects.filter(username="anna").update(email="BERTA@example.org")
    elif change == "forged":
        link = link[:-3] + "AA/"
    elif change == "old":
        monkeypatch.setattr(letters, "LINK_VALID", timedelta(seconds=-1))
    else:
        get_user_model().objects.filter(username="berta").update(is_active=False)
    assert "This link is void" in client.post(link).content.decode()
    assert not Contributor.objects.get(user__username="berta").email_verified


def test_a_letter_that_cannot_be_sent_goes_later_and_is_given_up_at_last(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("550 berta@example.org is not known here")

    client.post("/account/sign-up/", WANTED)
    with monkeypatch.context() as patch:
        patch.setattr("django.core.mail.EmailMessage.send", refuse)
        assert send_letters() == 0
    assert send_letters() == 0, "not at once again"
    Letter.objects.update(due_at=F("due_at") - timedelta(minutes=3))
    mailed()
    client.post("/account/reset/", {"email": "berta@example.org"})
    with monkeypatch.context() as patch:
        patch.setattr("django.core.mail.EmailMessage.send", refuse)
        for _ in range(letters.MAX_TRIES):
            assert Letter.objects.exists()
            send_letters()
            Letter.objects.update(due_at=F("due_at") - timedelta(days=1))
    assert not Letter.objects.exists()
    assert "given up: OSError" in caplog.text
    assert "berta" not in caplog.text


# ---------------------------------------------------------------------------------------------------------- passwords


def test_a_forgotten_password(client: Client, browser: Client, run: Run, anna: Contributor) -> None:
    assert ask(client, anna).status_code == 200
    client.post("/account/reset/", {"email": "Anna@example.org"})
    link = mailed()
    form = client.get(link, follow=True)
    assert "New password" in form.content.decode()
    address = form.redirect_chain[-1][0]
    answer = client.post(address, {"new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD})
    assert answer.headers["Location"] == "/account/login/"
    assert ask(client, anna).status_code == 401, "the old one is not remembered"
    assert Client().login(username="anna", password=NEW_PASSWORD)
    assert browser.get("/account/").status_code == 302, "sessions end with the password"
    assert "This link is void" in client.get(link, follow=True).content.decode(), "once"


def test_letters_for_passwords_are_throttled(monkeypatch: pytest.MonkeyPatch, browser: Client) -> None:
    monkeypatch.setitem(api_settings.DEFAULT_THROTTLE_RATES, "letters", "2/hour")

    def attempt(email: str, address: str) -> int:
        return Client(REMOTE_ADDR=address).post("/account/reset/", {"email": email}).status_code

    assert [attempt(f"{number}@example.org", "192.0.2.1") for number in range(4)] == [302, 302, 429, 429]
    assert [attempt("anna@example.org", f"198.51.100.{number}") for number in range(4)] == [302, 302, 429, 429]


def test_a_password_is_changed_by_the_old_one(client: Client, browser: Client, run: Run, anna: Contributor) -> None:
    ask(client, anna)
    form = {"old_password": "wrong", "new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}
    assert "incorrectly" in browser.post("/account/password/", form).content.decode()
    assert browser.post("/account/password/", form | {"old_password": PASSWORD}).status_code == 302
    assert browser.get("/account/").status_code == 200, "this session goes on"
    assert ask(client, anna).status_code == 401


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/account/password/", "old_password"),
        ("/account/delete/", "password"),
        ("/account/email/", "password"),
    ],
)
def test_an_open_browser_is_no_place_to_guess_at(
    browser: Client, anna: Contributor, monkeypatch: pytest.MonkeyPatch, path: str, field: str
) -> None:
    monkeypatch.setattr("server.accounts.throttling.limits", lambda: (3, 60))
    form = {"email": "x@example.org", "new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}
    found = [browser.post(path, form | {field: f"guess{number}"}).status_code for number in range(5)]
    assert found == [200] * 3 + [429] * 2
    assert browser.post(path, form | {field: PASSWORD}).status_code == 429
    LoginCount.objects.all().delete()
    assert user("anna").check_password(PASSWORD)


def test_the_admins_own_page_for_passwords_is_the_accounts(browser: Client, anna: Contributor) -> None:
    """Django's would let its user guess without end."""
    role_set(anna.user, Role.ADMIN)
    assert browser.get("/admin/password_change/").headers["Location"] == "/account/password/"
    assert browser.post("/admin/password_change/", {"old_password": "x"}).status_code == 302


# ------------------------------------------------------------------------------------------------- address, data, end


def test_another_address_counts_once_its_letter_is_answered(browser: Client) -> None:
    form = {"email": "new@example.org", "password": PASSWORD}
    assert "Look into your mailbox" in browser.post("/account/email/", form).content.decode()
    assert user("anna").email == "anna@example.org"
    Client().post(mailed())
    assert user("anna").email == "new@example.org"


def test_pages_want_a_login_and_forms_a_token_of_their_page(anna: Contributor) -> None:
    for path in ("", "email/", "password/", "export/", "delete/"):
        answer = Client().get(f"/account/{path}")
        assert answer.headers["Location"].startswith("/account/login/?next=/account/")
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(anna.user)
    for path in ("tokens/", "email/", "password/", "delete/", "logout/"):
        assert strict.post(f"/account/{path}", {"password": PASSWORD}).status_code == 403
    page = Client().post("/account/login/?next=//evil.example.org/", {"username": "anna", "password": PASSWORD})
    assert page.headers["Location"] == "/account/"


def test_all_that_is_kept_is_told(client: Client, browser: Client, run: Run, anna: Contributor) -> None:
    browser.post("/account/tokens/", {"name": "study"})
    ask(client, anna)
    form = game_form(Job.objects.get())
    assert upload_training(client, anna, form).status_code in (200, 201, 202)
    ask(client, make_contributor("berta"))
    standing = standing_of(run, anna)
    seen = Difference(games=9, own_mean=0.5, expected=0.1, deviations=9.0, effect=0.4)
    alarms_raise(standing, {"length": seen})
    standing_decide(standing, Trust.QUARANTINED, "short games", get_user_model().objects.create_user("maria"))
    answer = browser.get("/account/export/")
    lines = [json.loads(line) for line in b"".join(cast(Any, answer).streaming_content).decode().splitlines()]
    kinds = [next(iter(line)) for line in lines]
    assert kinds == ["account", "token", "contributor", "upload_day", "standing", "alarm", "decision", "job", "game"]
    told = {name: value for line in lines for name, value in line.items()}
    assert told["account"]["email"] == "anna@example.org"
    assert told["token"]["name"] == "study"
    assert told["game"]["uid"] == form["kg_game_uid"]
    assert told["job"]["kind"] == "selfplay"
    assert told["decision"]["reason"] == told["standing"]["reason"] == "short games"
    assert "by" not in told["decision"]
    assert "password" not in json.dumps(lines)
    assert "no-store" in answer.headers["Cache-Control"]


def test_who_leaves_takes_the_name_along_and_leaves_the_games(
    client: Client, browser: Client, run: Run, anna: Contributor
) -> None:
    browser.post("/account/tokens/", {"name": "study"})
    ask(client, anna)
    upload_training(client, anna, game_form(Job.objects.get()))
    kind = ContentType.objects.get_for_model(get_user_model())
    LogEntry.objects.create(
        user=anna.user, content_type=kind, object_id=str(anna.user.pk), object_repr="anna", action_flag=CHANGE
    )
    assert browser.post("/account/delete/", {"password": "wrong"}).status_code == 200
    assert user("anna").is_active
    assert "Your account is gone" in browser.post("/account/delete/", {"password": PASSWORD}).content.decode()
    game = Game.objects.get()
    assert game.contributor.user.username == f"(deleted {anna.user.pk})"
    left = get_user_model().objects.get()
    assert (left.email, left.is_active, left.has_usable_password()) == ("", False, False)
    assert not left.client_tokens.exists()
    assert LogEntry.objects.get().object_repr == left.username
    assert ask(client, anna).status_code == 401
    assert browser.get("/account/").status_code == 302
    page = client.get(f"/games/{run.name}/").content.decode()
    assert "deleted" in page
    assert "anna" not in page
    assert make_contributor("anna").user.pk != left.pk, "the name is free again"


def test_an_account_with_a_role_stays(browser: Client, anna: Contributor) -> None:
    role_set(anna.user, Role.ADMIN)
    assert "takes the role away first" in browser.post("/account/delete/", {"password": PASSWORD}).content.decode()
    assert user("anna").is_active
