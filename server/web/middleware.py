"""What holds for every page: its content security policy, limits, and addresses that no page can have.

The policy: scripts come from this site's files only, never from a page's text.

Charts set styles on elements as they draw, so inline styles are allowed; the Django admin needs no more than that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, cast

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from rest_framework.exceptions import Throttled

from server.accounts.counting import customer_of, hold_rate

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

_NO_PAGES: Final = ("/api/", "/models/", "/healthz/")
"""The API has limits of its own, nginx limits downloads, and whoever watches the server's health is always told."""


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


class TooManyRequests:
    """Answers 429 where a page, or a form such as the login's, was used too often; the API answers so by itself."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """The answer to a `Throttled`; None leaves another exception to the others."""
        return _too_many(exception) if isinstance(exception, Throttled) else None


def limit_pages(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Refuse more pages to an address than the rate "pages" allows, before anything is read for them."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith(_NO_PAGES):
            try:
                hold_rate("pages", customer_of(request), "Too many pages were asked for from this address.")
            except Throttled as error:
                return _too_many(error)
        return get_response(request)

    return middleware


def _too_many(error: Throttled) -> HttpResponse:
    seconds = math.ceil(cast(Any, error).wait or 1)  # the stubs do not know it
    text = f"{error.detail} Please wait and try again.\n"
    headers = {"Retry-After": str(seconds)}
    return HttpResponse(text, status=429, content_type="text/plain; charset=utf-8", headers=headers)
