"""What holds for every page: its content security policy, and addresses that no page can have.

The policy: scripts come from this site's files only, never from a page's text.

Charts set styles on elements as they draw, so inline styles are allowed; the Django admin needs no more than that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, cast

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from rest_framework.exceptions import Throttled

POLICY: Final = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "object-src 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "form-action 'self'",
    ]
)


def content_security_policy(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Add the policy to every answer that has none."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response

    return middleware


def refuse_nul(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Refuse a page's address with a NUL, which PostgreSQL cannot look for; clients get the API's own words."""

    def middleware(request: HttpRequest) -> HttpResponse:
        holds_nul = "\x00" in request.path_info or "%00" in request.META.get("QUERY_STRING", "")
        if holds_nul and not request.path_info.startswith(("/api/", "/models/")):
            return HttpResponseBadRequest("the address holds a NUL character", content_type="text/plain")
        return get_response(request)

    return middleware


class TooManyLogins:
    """Answers 429 where a login form was used too often; the API answers so by itself."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """The answer to a `Throttled` of the login; None leaves another exception to the others."""
        if not isinstance(exception, Throttled):
            return None
        seconds = math.ceil(cast(Any, exception).wait or 1)  # the stubs do not know it
        text = f"{exception.detail} Please wait and try again.\n"
        headers = {"Retry-After": str(seconds)}
        return HttpResponse(text, status=429, content_type="text/plain; charset=utf-8", headers=headers)
