"""Texts are served once a game has been played by them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from django.test import Client

from common.config_text import overlay
from common.parameters import TextKind, default_text
from server.accounts.models import Contributor
from server.runs import client_process
from server.runs.models import Run, RunState
from server.runs.proving import is_shipped, play_by
from server.runs.texts import served_text, texts_prove
from tests.server.factories import ask

CHANGED = default_text("selfplay", "7x7") + "\n# changed\n"


def holds(kind: str, text: str, length: int) -> str:
    return ""


def fails(kind: str, text: str, length: int) -> str:
    return "the client fell over"


@pytest.fixture
def proving_run(run: Run) -> Run:
    """A run that proves its texts, with a text that is not the project's."""
    run.prove_texts, run.selfplay_config = True, CHANGED
    run.save()
    return run


@pytest.mark.django_db
class TestServing:
    def test_the_projects_texts_need_no_proof(self, client: Client, anna: Contributor, run: Run) -> None:
        Run.objects.update(prove_texts=True)
        assert ask(client, anna).status_code == 200
        assert texts_prove(fails) == 0

    def test_a_new_run_waits_for_its_proof(self, client: Client, anna: Contributor, proving_run: Run) -> None:
        answer = ask(client, anna)
        assert answer.status_code == 503
        assert "have not been proved by a game yet" in answer.json()["detail"]
        assert texts_prove(holds) == 1
        assert ask(client, anna).json()["config"] == CHANGED
        assert texts_prove(fails) == 0, "what is proved is not played again"

    def test_a_text_that_fails_is_not_served(self, client: Client, anna: Contributor, proving_run: Run) -> None:
        texts_prove(holds)
        Run.objects.update(selfplay_config=CHANGED + "# worse\n")
        assert texts_prove(fails) == 1
        run = Run.objects.get()
        assert run.text_fault == "selfplay_config: the client fell over"
        assert served_text(run, "selfplay") == CHANGED
        assert texts_prove(holds) == 0, "what failed is not tried again"
        Run.objects.update(selfplay_config=CHANGED + "# better\n")
        assert texts_prove(holds) == 1
        run = Run.objects.get()
        assert (run.text_fault, served_text(run, "selfplay")) == ("", CHANGED + "# better\n")

    def test_a_text_that_is_changed_meanwhile_waits_again(self, proving_run: Run) -> None:
        def changes(kind: str, text: str, length: int) -> str:
            Run.objects.update(selfplay_config=CHANGED + "# newer\n")
            return ""

        assert texts_prove(changes) == 1
        assert Run.objects.get().served_selfplay_config == ""
        assert texts_prove(holds) == 1
        assert Run.objects.get().served_selfplay_config == CHANGED + "# newer\n"

    def test_closed_runs_prove_nothing(self, proving_run: Run) -> None:
        Run.objects.update(state=RunState.CLOSED)
        assert texts_prove(fails) == 0


def test_shipped_texts_are_those_of_their_kind() -> None:
    assert is_shipped("selfplay", default_text("selfplay", "9-19"))
    assert not is_shipped("gating", default_text("selfplay", "9-19"))
    assert not is_shipped("selfplay", CHANGED)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("selfplay", ""),
        ("gating", "handicapProb = 1\n"),
        pytest.param("gating", "", marks=pytest.mark.slow),
    ],
)
def test_a_game_is_really_played(kind: TextKind, changes: str) -> None:
    """By the client's own code."""
    assert play_by(kind, overlay(default_text(kind, "7x7"), changes), 7) == ""


def test_a_text_that_cannot_be_played_is_told_with_what_the_client_said() -> None:
    fault = play_by("selfplay", overlay(default_text("selfplay", "7x7"), "bSizes = 99\n"), 7)
    assert fault.startswith("no game could be played by it (exit code 1): ")
    assert "bSizes" in fault


def test_a_game_that_does_not_end_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing of it runs any more: its children, which hold the pipe, are killed with it."""
    child = "import time; print('begun', flush=True); time.sleep(600)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    end, begin = os.pipe()
    real = subprocess.Popen.wait

    def out_of_time(self: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        if timeout is None:
            return real(self)
        assert os.read(end, 5) == b"begun"
        raise subprocess.TimeoutExpired(parent, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", out_of_time)
    with os.fdopen(begin, "wb") as output:
        assert client_process._run([sys.executable, "-c", parent], 1.0, None, output) is None
    with os.fdopen(end) as rest:
        assert rest.read().strip() == "", "the pipe ends when nobody holds it any more"
