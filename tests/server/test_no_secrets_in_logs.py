"""Nothing that opens an account, the database or the broker is written to a log, whatever level it has."""

from __future__ import annotations

import base64
import io
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from common import wire
from deploy.installation import ROOT
from server.accounts.models import Contributor
from server.accounts.tasks import send_letters
from server.log_lines import WithoutLetters, without_letters
from server.runs.models import Run
from tests.server.factories import OURS, login

SECRETS = ("hunter2-password", "hunter3-password", "tengen_hunter4token")


@pytest.mark.django_db
def test_logins_pages_and_what_breaks_tell_no_secret(
    anna: Contributor, run: Run, settings: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SIGN_UP = settings.HAS_EMAIL = True
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "django")
    assert logging.getLogger("django.template").level == logging.INFO
    client = Client(raise_request_exception=False)
    old, new, token = SECRETS
    for headers in (login(anna, old), {"Authorization": f"Bearer {token}"}, login(anna, token)):
        client.post(wire.PATH_TASKS, {"git_revision": "f" * 40}, headers=headers | OURS)
    broken = base64.b64encode(old.encode()).decode()
    client.post(wire.PATH_TASKS, {}, headers={"Authorization": f"Basic {broken}="})
    form = {"username": "berta", "email": "b@example.org", "password1": old, "password2": old}
    client.post("/account/sign-up/", form)
    client.post("/account/sign-up/", form | {"password2": new})
    client.post("/account/login/", {"username": "berta", "password": new})
    client.post("/admin/login/", {"username": "berta", "password": new})
    client.post("/account/reset/", {"email": "b@example.org"})
    send_letters()
    links = [word for letter in mail.outbox for word in str(letter.body).split() if "/account/" in word]
    assert len(links) == 2
    made = [link.strip("/").rpartition("/")[2] for link in links]
    assert client.login(username="berta", password=old)
    page = client.post("/account/tokens/", {"name": "study"}).content.decode()
    made.append(page.partition('id="token">')[2].partition("<")[0])
    monkeypatch.setattr("server.web.account_views.forms.PasswordForm.is_valid", lambda _: 1 / 0)
    answer = client.post("/account/password/", {"old_password": old, "new_password1": new, "new_password2": new})
    assert answer.status_code == 500
    assert "ZeroDivisionError" in caplog.text
    written = caplog.text + "".join(str(vars(record)) for record in caplog.records)
    found = [secret for secret in (*SECRETS, broken, *made) if secret in written]
    assert all(made)
    assert not found


@pytest.fixture
def console() -> Iterator[io.StringIO]:
    """What the programs' own handler writes."""
    (handler,) = [each for each in logging.getLogger().handlers if any(type(f) is WithoutLetters for f in each.filters)]
    assert isinstance(handler, logging.StreamHandler)
    written = io.StringIO()
    before = handler.setStream(written)
    yield written
    handler.setStream(before)


@pytest.mark.django_db
def test_links_of_letters_are_in_no_log_whatever_becomes_of_the_request(
    run: Run, settings: Any, console: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SIGN_UP = settings.HAS_EMAIL = True
    client = Client(raise_request_exception=False, enforce_csrf_checks=True)
    form = {"username": "berta", "email": "b@example.org", "password1": SECRETS[0], "password2": SECRETS[0]}
    Client().post("/account/sign-up/", form)
    Client().post("/account/reset/", {"email": "b@example.org"})
    send_letters()
    links = [word for letter in mail.outbox for word in str(letter.body).split() if "/account/" in word]
    paths = [link[link.index("/account/") :] for link in links]
    secrets = [path.strip("/").rpartition("/")[2] for path in paths]
    assert len(secrets) == 2
    for path in paths:
        assert client.put(path).status_code >= 400
        assert client.post(path).status_code == 403
        assert client.get(f"{path}x/").status_code == 404
    monkeypatch.setattr("server.web.account_views.ResetConfirm.dispatch", lambda *_, **__: 1 / 0)
    assert [client.get(path).status_code for path in paths].count(500) == 1
    text = console.getvalue()
    assert "/account/reset/…" in text
    assert "ZeroDivisionError" in text
    assert not [secret for secret in secrets if secret in text]


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("Not Found: /account/reset/MQ/c9-abc/", "Not Found: /account/reset/…"),
        ("Forbidden: /go/account/verify/1:a_B-c:d/", "Forbidden: /go/account/verify/…"),
        ('"GET /account/verify/abc/?x=1 HTTP/1.1" 429', '"GET /account/verify/…?x=1 HTTP/1.1" 429'),
        ("Too Many Requests: /account/reset/", "Too Many Requests: /account/reset/"),
        ("Not Found: /account/other/abc/", "Not Found: /account/other/abc/"),
    ],
)
def test_what_is_left_of_an_address(line: str, kept: str) -> None:
    assert without_letters(line) == kept


@pytest.mark.parametrize(
    "command",
    [
        ["manage.py", "add_contributor", "anna"],
        ["manage.py", "migrate", "--traceback"],
    ],
    ids=["command", "traceback"],
)
def test_programs_whose_services_are_away_tell_no_secret(command: list[str], tmp_path: Path) -> None:
    secrets = ("hunter5" * 10, "hunter6password", "hunter7password", "hunter8password")
    key, database, broker, mailer = secrets
    told = {
        "SECRET_KEY": f"{key}abcdefgh",
        "DATABASE_URL": f"postgresql://tengen:{database}@127.0.0.1:1/tengen",
        "BROKER_URL": f"amqp://tengen:{broker}@127.0.0.1:1//",
        "EMAIL_URL": f"smtp://tengen:{mailer}@127.0.0.1:1",
        "DATA_DIR": str(tmp_path),
        "LOG_LEVEL": "DEBUG",
    }
    ended = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=os.environ | told, capture_output=True, text=True, timeout=300
    )
    assert not [secret for secret in secrets if secret in ended.stdout + ended.stderr]
