"""Fixtures of the server's tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.cache import cache

from server.accounts.models import Contributor
from server.games import services
from server.runs.models import Run
from tests.server.factories import make_contributor, make_run


@pytest.fixture(autouse=True)
def _own_storage(tmp_path: Path, settings: object) -> None:
    """Each test has an empty storage and empty counts of requests."""
    settings.MEDIA_ROOT = tmp_path / "files"
    cache.clear()
    services._last_hint = float("-inf")


@pytest.fixture
def run(db: None) -> Run:
    """A 7x7 run at its beginning."""
    return make_run()


@pytest.fixture
def anna(db: None) -> Contributor:
    """A contributor."""
    return make_contributor("anna")
