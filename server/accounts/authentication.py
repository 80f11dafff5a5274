"""HTTP Basic login that remembers a verified password; those who guess are held up by `server.accounts.throttling`.

A client sends its password with every request, and a slow password hash would then cost more than all else. So each
process keeps a keyed digest of (user, stored hash, password) after the first success; a changed password or a disabled
user is noticed at once, since user and stored hash are read from the database every time.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import OrderedDict
from typing import Any, Final

from django.contrib.auth import get_user_model
from rest_framework.authentication import BasicAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

REMEMBERED: Final = 4096
"""Logins that a process remembers; the least recently used are forgotten first."""
_WRONG: Final = "Wrong user name or password, or the account is disabled."


class _Memory:
    """Digests of verified logins, in the memory of this process only."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._key = secrets.token_bytes(32)
        self._digests: OrderedDict[bytes, None] = OrderedDict()

    def _digest(self, user: Any, password: str) -> bytes:
        text = f"{user.pk}\0{user.password}\0{password}"
        return hmac.digest(self._key, text.encode(), hashlib.sha256)

    def knows(self, user: Any, password: str) -> bool:
        """Whether this password was verified against this user's stored hash."""
        digest = self._digest(user, password)
        try:
            self._digests.move_to_end(digest)
        except KeyError:
            return False
        return True

    def remember(self, user: Any, password: str) -> None:
        """Note that the password was verified."""
        self._digests[self._digest(user, password)] = None
        while len(self._digests) > self._size:
            self._digests.popitem(last=False)


_memory: Final = _Memory(REMEMBERED)


class RememberingBasicAuthentication(BasicAuthentication):
    """HTTP Basic; 401 with a challenge for a wrong login, 429 after too many."""

    www_authenticate_realm = "Tengen"

    def authenticate_credentials(self, userid: str, password: str, request: Request | None = None) -> tuple[Any, Any]:
        """The user whose name and password these are.

        Raises:
            AuthenticationFailed: there is none, or the user is disabled.
            Throttled: too many failures from this address, or of this account (`server.accounts.throttling`).
        """
        if "\0" in userid:  # PostgreSQL knows no such character
            raise AuthenticationFailed(_WRONG)
        user = get_user_model().objects.select_related("contributor").filter(username=userid).first()
        if user is not None and user.is_active and _memory.knows(user, password):
            return user, None
        try:
            super().authenticate_credentials(userid, password, request)
        except AuthenticationFailed:
            raise AuthenticationFailed(_WRONG) from None
        assert user is not None
        user.refresh_from_db(fields=["password"])  # a login may have renewed an old hash
        _memory.remember(user, password)
        return user, None
