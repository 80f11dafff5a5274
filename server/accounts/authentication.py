"""Logins of the API: HTTP Basic that remembers a verified password, and tokens.

A client sends its login with every request, and a slow password hash would then cost more than all else. A token
(`server.accounts.tokens`) costs none. For a password, the first success leaves a note in the database for all
processes: a keyed digest of user, stored hash and password. It is void at once when the password changes or the user
is disabled, since both are read with it, and after `REMEMBERED_FOR`. Those who guess are held up by
`server.accounts.throttling`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac
from rest_framework.authentication import BaseAuthentication, BasicAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from server.accounts.counting import customer_of, hold_rate
from server.accounts.models import VerifiedLogin
from server.accounts.tokens import is_token, user_of

REMEMBERED_FOR: Final = timedelta(hours=12)
_WRONG: Final = "Wrong user name or password, or the account is disabled."
_WRONG_TOKEN: Final = "This token is not known, was revoked, or is not this account's: make one on the account's page."
_BEARER: Final = b"bearer"


class RememberingBasicAuthentication(BasicAuthentication):
    """HTTP Basic, with a password or a token in its place; 401 with a challenge for a wrong login, 429 after too many.

    KataGo's client knows no other way.
    """

    www_authenticate_realm = "Tengen"

    def authenticate_credentials(self, userid: str, password: str, request: Request | None = None) -> tuple[Any, Any]:
        """The user whose name and password these are.

        Raises:
            AuthenticationFailed: there is none, or the user is disabled.
            Throttled: too many failures from this address, or of this account (`server.accounts.throttling`).
        """
        if "\0" in userid:  # PostgreSQL knows no such character
            raise AuthenticationFailed(_WRONG)
        if is_token(password):
            return _token_login(password, request, userid)
        users = get_user_model().objects.select_related("contributor", "verified_login")
        user = users.filter(username=userid).first()
        if user is not None and user.is_active and _is_remembered(user, password):
            return user, None
        try:
            super().authenticate_credentials(userid, password, request)
        except AuthenticationFailed:
            raise AuthenticationFailed(_WRONG) from None
        assert user is not None
        user.refresh_from_db(fields=["password"])  # a login may have renewed an old hash
        _remember(user, password)
        return user, None


class TokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer TOKEN``."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        """The user of the token; None where the header is another's.

        Raises:
            AuthenticationFailed: it is nobody's.
        """
        kind, _, token = get_authorization_header(request).partition(b" ")
        if kind.lower() != _BEARER:
            return None
        return _token_login(token.strip().decode("latin-1"), request)

    def authenticate_header(self, request: Request) -> str:
        """The challenge, which our client does not need."""
        return "Bearer"


def _token_login(token: str, request: Request | None, username: str | None = None) -> tuple[Any, Any]:
    user = user_of(token)
    if user is None or username not in (None, user.get_username()):
        if request is not None:
            hold_rate("login", f"token {customer_of(request._request)}", "Too many wrong tokens from this address.")
        raise AuthenticationFailed(_WRONG_TOKEN)
    return user, None


def _digest(user: Any, password: str) -> str:
    text = f"{user.pk}\0{user.password}\0{password}"
    return salted_hmac("tengen.login.verified", text, algorithm="sha256").hexdigest()


def _is_remembered(user: Any, password: str) -> bool:
    """Whether this password was verified against this user's stored hash."""
    note = getattr(user, "verified_login", None)
    if note is None or note.until < timezone.now():
        return False
    return constant_time_compare(note.digest, _digest(user, password))


def _remember(user: Any, password: str) -> None:
    """Note that the password was verified."""
    note = {"digest": _digest(user, password), "until": timezone.now() + REMEMBERED_FOR}
    VerifiedLogin.objects.update_or_create(user_id=user.pk, defaults=note)
