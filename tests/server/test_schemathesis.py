"""Requests that schemathesis makes of the server's own description: none is answered by 500 and above.

Those that fit the description and those that do not, by nobody, a volunteer and a maintainer; each refusal is one that
a client can read.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
import requests
import schemathesis
from django.contrib.auth import get_user_model
from django.test import Client
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis.errors import Unsatisfiable
from rest_framework.throttling import SimpleRateThrottle
from schemathesis.generation.modes import GenerationMode

from common import wire
from server.accounts.models import Contributor
from server.runs.models import Run
from tests.server.factories import login, make_contributor

pytestmark = pytest.mark.django_db

FEW: Final = 3
MANY: Final = 25
LEAST_OPERATIONS: Final = 18
_OF_REQUEST: Final = ("method", "url", "headers", "data", "json", "params", "files")


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here is about the number of requests."""
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", {"user": None, "anon": None})
    monkeypatch.setattr("server.accounts.throttling.limits", lambda: (10**9, 60))


def sent(client: Client, case: Any, headers: dict[str, str]) -> Any:
    """The answer to a request as schemathesis makes it, byte for byte."""
    made = case.as_transport_kwargs(base_url="http://testserver")
    request = requests.Request(**{name: made[name] for name in _OF_REQUEST if name in made}).prepare()
    address = urlsplit(str(request.url))
    body = request.body or b""
    own = {
        name: value if isinstance(value, str) else value.decode("latin-1")
        for name, value in request.headers.items()
        if name.lower() not in ("content-type", "content-length", "authorization")
    }
    return client.generic(
        str(request.method),
        address.path + (f"?{address.query}" if address.query else ""),
        body.encode() if isinstance(body, str) else body,
        content_type=str(request.headers.get("Content-Type", "")),
        headers=own | headers,
    )


def press(operation: Any, examples: int, headers: dict[str, str]) -> Counter[int]:
    """Ask for an operation so often in each way; how often each status was answered."""
    client, statuses = Client(raise_request_exception=False), Counter[int]()
    for mode in GenerationMode:

        @hypothesis_settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            answer = sent(client, case, headers)
            statuses[answer.status_code] += 1
            assert answer.status_code < 500, (operation.label, answer.content[:500])
            if answer.status_code >= 400 and case.method != "HEAD":
                assert wire.ErrorAnswer.from_json(answer.content).detail, operation.label

        try:
            ask()
        except Unsatisfiable:  # nothing of it can be wrong
            assert mode == GenerationMode.NEGATIVE, operation.label
    return statuses


@pytest.mark.parametrize(
    ("who", "examples"),
    [
        ("volunteer", FEW),
        *(pytest.param(who, MANY, marks=pytest.mark.slow) for who in ("nobody", "volunteer", "maintainer")),
    ],
)
def test_no_request_is_answered_by_500(run: Run, anna: Contributor, who: str, examples: int) -> None:
    maintainer = make_contributor("maria")
    get_user_model().objects.filter(pk=maintainer.user_id).update(is_staff=True, is_superuser=True)
    headers = login({"nobody": None, "volunteer": anna, "maintainer": maintainer}[who])
    described: Any = schemathesis.openapi.from_dict(Client().get("/api/schema/").json())
    operations = [found.ok() for found in described.get_all_operations()]
    assert len(operations) >= LEAST_OPERATIONS
    answered = {operation.label: press(operation, examples, headers) for operation in operations}
    print(who, sum(answered.values(), Counter()), answered)
