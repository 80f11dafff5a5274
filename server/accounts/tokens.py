"""Tokens of clients: long random texts that a user makes, names and revokes. Only a hash of each is kept.

A token is the password of no account: it opens the API, never the pages. It is told once, when it is made. As it is
random, a plain SHA-256 protects it as well as a slow hash would, and a request costs one look into an index.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from common.wire import LOGIN_TOKEN_PREFIX
from server.accounts.models import ClientToken
from server.errors import InvalidSettings

MAX_TOKENS: Final = 20
"""Of one user."""
_BYTES: Final = 32


def token_create(user: AbstractBaseUser, name: str) -> str:
    """Make a token and return it; nobody can tell it again.

    Raises:
        InvalidSettings: the user has too many.
    """
    token = LOGIN_TOKEN_PREFIX + secrets.token_urlsafe(_BYTES)
    with transaction.atomic():
        locked = get_user_model().objects.select_for_update(no_key=True).get(pk=user.pk)
        if tokens_of(locked).count() >= MAX_TOKENS:
            raise InvalidSettings(f"an account may have {MAX_TOKENS} tokens; revoke one that is not used any more")
        ClientToken.objects.create(user=locked, name=name, digest=_digest(token))
    return token


def token_revoke(user: AbstractBaseUser, key: int) -> bool:
    """Revoke a user's token; False if there is none of that key."""
    return tokens_of(user).filter(pk=key).delete()[0] > 0


def tokens_of(user: AbstractBaseUser) -> QuerySet[ClientToken]:
    """A user's tokens, the newest first."""
    return ClientToken.objects.filter(user_id=user.pk).order_by("-pk")


def is_token(text: str) -> bool:
    """Whether a text has the form of a token."""
    return text.startswith(LOGIN_TOKEN_PREFIX)


def user_of(token: str) -> Any:
    """The active user, with contributor, whose token it is; None if it is nobody's."""
    found = (
        ClientToken.objects.select_related("user__contributor")
        .filter(digest=_digest(token), user__is_active=True)
        .first()
    )
    if found is None:
        return None
    today = timezone.now().date()
    if found.last_used != today:  # one write a day
        ClientToken.objects.filter(pk=found.pk).update(last_used=today)
    return found.user


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
