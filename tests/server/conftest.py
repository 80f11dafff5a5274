"""Fixtures of the server's tests."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from django.core.cache import cache
from django.urls import clear_script_prefix
from pytest_django import Settings

from client.__main__ import main
from server.accounts.models import Contributor
from server.games import replaying
from server.hints import AUDIT
from server.runs.models import Run
from tests.server.factories import make_contributor, make_run


@pytest.fixture(autouse=True)
def _own_storage(tmp_path: Path, settings: Settings) -> None:
    """Each test has an empty storage and empty counts of requests."""
    settings.MEDIA_ROOT = tmp_path / "files"
    cache.clear()
    AUDIT._quiet_until = float("-inf")


@pytest.fixture
def run(db: None) -> Run:
    """A 7x7 run at its beginning."""
    return make_run()


@pytest.fixture
def anna(db: None) -> Contributor:
    """A contributor."""
    return make_contributor("anna")


@pytest.fixture
def client_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's command that plays a game again is called here, where its kernels are loaded already."""

    def run(words: Sequence[str], seconds: float) -> tuple[int, str]:
        assert words[0] == "client"
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = main(words[1:])
        return code, said.getvalue().strip()

    monkeypatch.setattr(replaying, "client_run", run)


@pytest.fixture(autouse=True)
def no_base_path_is_left_behind() -> Iterator[None]:
    """A request through WSGI leaves its base path in the thread, where Django's own test client does not clear it."""
    yield
    clear_script_prefix()
