"""Messages that there is work."""

from __future__ import annotations

import pytest

from server.hints import AUDIT


def test_hints_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr("server.celery.app.send_task", sent.append)
    for _ in range(20):
        AUDIT.send()
    assert sent == [AUDIT.task]
