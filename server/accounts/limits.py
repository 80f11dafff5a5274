"""How many requests of the API a user or an address may make, counted for all processes together (`counting`).

The limit of pages is `server.web.middleware.limit_pages`; those of sign-ups, letters and exports stand with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from server.accounts.counting import customer_of, hold_rate

if TYPE_CHECKING:  # its module imports this one
    from rest_framework.views import APIView


class CountedThrottle(BaseThrottle):
    """Requests of a user, wherever from; of an address where nobody is logged in."""

    _wait: float | None = None

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Count the request; False if it is one too many."""
        user = request.user
        is_user = bool(user and user.is_authenticated)
        whose = f"user {user.pk}" if is_user else customer_of(request._request)
        try:
            hold_rate("user" if is_user else "anon", whose, "")
        except Throttled as error:
            self._wait = cast(Any, error).wait  # the stubs do not know it
            return False
        return True

    def wait(self) -> float | None:
        """Seconds until the next one is taken."""
        return self._wait
