"""Tokens of clients, made by a maintainer's command."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from server.accounts.models import Contributor
from server.accounts.tokens import MAX_TOKENS, tokens_of, user_of
from server.runs.models import Run
from tests.server.factories import OURS

pytestmark = pytest.mark.django_db


def add_token(*arguments: str) -> str:
    told = StringIO()
    call_command("add_token", *arguments, stdout=told)
    return told.getvalue().strip()


def test_it_prints_the_token_alone_which_logs_in(client: Client, anna: Contributor, run: Run) -> None:
    token = add_token("anna", "--label", "laptop")
    assert user_of(token) == anna.user
    form = {"git_revision": "f" * 40, "task_rep_factor": "1"}
    answer = client.post("/api/tasks/", form, headers=OURS | {"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200, answer.content


def test_one_may_take_the_place_of_others_of_its_label(anna: Contributor) -> None:
    other, first = add_token("anna"), add_token("anna", "--label", "demo")
    second = add_token("anna", "--label", "demo", "--replace")
    assert user_of(first) is None
    assert user_of(second) == user_of(other) == anna.user


def test_what_cannot_be_is_told(anna: Contributor) -> None:
    with pytest.raises(CommandError, match="no contributor 'nobody'"):
        add_token("nobody")
    for label in ("", "x" * 61):
        with pytest.raises(CommandError, match="a label has 1 to 60 characters"):
            add_token("anna", "--label", label)
    for _ in range(MAX_TOKENS):
        add_token("anna")
    with pytest.raises(CommandError, match="revoke one"):
        add_token("anna")
    assert tokens_of(anna.user).count() == MAX_TOKENS
