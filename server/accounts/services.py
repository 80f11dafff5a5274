"""Making contributors, and their passwords."""

from __future__ import annotations

import re
import secrets
from typing import Final

from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from server.accounts.models import USERNAME_PATTERN, Contributor
from server.accounts.roles import Role, role_set
from server.errors import InvalidSettings

NAME_RULE: Final = "3 to 60 letters, digits and '.', '+', '-', '_' are allowed"


def contributor_create(
    *,
    username: str,
    password: str | None = None,
    role: Role = Role.VOLUNTEER,
    email: str = "",
    is_verified: bool = True,
) -> tuple[Contributor, str]:
    """A new user who may contribute, and the password: the given one, or one that is made up.

    Args:
        is_verified: the e-mail address needs no confirmation.

    Raises:
        InvalidSettings: the name is taken or malformed, or the password is too weak.
    """
    user_model = get_user_model()
    if not re.fullmatch(USERNAME_PATTERN, username):
        raise InvalidSettings(f"user name {username!r}: {NAME_RULE}")
    if user_model.objects.filter(username__iexact=username).exists():
        raise InvalidSettings(f"user name {username!r} is taken")
    user = user_model(username=username, email=email)
    password = _checked(password, user)
    with transaction.atomic():
        user.set_password(password)
        user.save()
        contributor = Contributor.objects.create(user=user, email_verified=is_verified)
        role_set(user, role)
    return contributor, password


def password_set(contributor: Contributor, password: str | None = None) -> str:
    """Give a contributor a new password, and return it: the given one, or one that is made up.

    Raises:
        InvalidSettings: the password is too weak.
    """
    password = _checked(password, contributor.user)
    contributor.user.set_password(password)
    contributor.user.save(update_fields=["password"])
    return password


def _checked(password: str | None, user: AbstractBaseUser) -> str:
    if password is None:
        return secrets.token_urlsafe(12)
    try:
        validate_password(password, user)  # type: ignore[arg-type]  # the stubs ask for the one user model of a project
    except ValidationError as error:
        raise InvalidSettings(" ".join(error.messages)) from None
    return password
