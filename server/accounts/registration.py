"""Accounts that people make by themselves: sign-up, e-mail addresses, and their end.

What stops a million of them: a rate per address, one for the whole server, and, where VERIFY_EMAIL is on, that an
account may do nothing before its e-mail address is confirmed, that an address has one account, and that whoever does
not confirm it is removed.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.contrib.contenttypes.models import ContentType
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from server.accounts.counting import customer_of, hold_rate
from server.accounts.letters import LINK_VALID, letter_write, verified
from server.accounts.models import Contributor, LetterKind, VerifiedLogin
from server.accounts.services import contributor_create
from server.errors import InvalidSettings

UNCONFIRMED_AT_ONCE: Final = 1000
"""Accounts that one task removes."""
_UNCONFIRMED_FOR: Final = LINK_VALID + timedelta(days=1)


def site_of(request: HttpRequest) -> str:
    """Scheme and host by which a request reached us, one of ALLOWED_HOSTS; paths of `reverse` have the base path."""
    return f"{request.scheme}://{request.get_host()}"


def hold_sign_up(request: HttpRequest) -> None:
    """Count a sign-up, before a password is hashed.

    Raises:
        Throttled: too many from this address, or in all.
    """
    hold_rate("sign_up", customer_of(request), "Too many accounts were made from this address.")
    hold_rate("sign_up_all", "", "Too many accounts were made on this server today.")


def sign_up(*, username: str, email: str, password: str, site: str) -> Any:
    """Make an account, and have its e-mail address verified if that is asked for; returns the user.

    Where an account has that address already, its holder is told by a letter, nothing is made, and the answer is None,
    which a page must not show: nobody learns here who has an account.

    Raises:
        InvalidSettings: the name is taken or malformed, or the password is too weak.
    """
    if _tell_holder(email, site):
        make_password(password)  # so that the answer takes as long
        return None
    try:
        with transaction.atomic():
            contributor, _ = contributor_create(username=username, password=password, email=email, is_verified=False)
    except IntegrityError:  # somebody was faster with the name or the address
        if _tell_holder(email, site):
            return None
        raise InvalidSettings(f"user name {username!r} is taken") from None
    if settings.VERIFY_EMAIL:
        letter_write(contributor.user, LetterKind.VERIFY, email, site)
    return contributor.user


def _tell_holder(email: str, site: str) -> bool:
    """Write to the user who has that address, if there is one."""
    holder = users_with(email).first() if email else None
    if holder is None:
        return False
    if settings.VERIFY_EMAIL:
        letter_write(holder, LetterKind.KNOWN, holder.email, site)
    return True


def users_with(email: str) -> QuerySet[Any]:
    """Users with that e-mail address, whatever the case of its letters; the database allows one."""
    found: QuerySet[Any] = get_user_model().objects.filter(email__iexact=email).exclude(email="")
    return found


def email_ask(user: Any, email: str, site: str) -> None:
    """Take another e-mail address for a user: once a letter to it was answered, or at once if none need be.

    Nothing is said where the address is another account's: the letter's link will not work for it.
    """
    if settings.VERIFY_EMAIL:
        letter_write(user, LetterKind.VERIFY, email, site)
    elif not users_with(email).exclude(pk=user.pk).exists():
        get_user_model().objects.filter(pk=user.pk).update(email=email)


def hold_letters(address: str, request: HttpRequest) -> None:
    """Count a letter that somebody asks for.

    Raises:
        Throttled: too many asked for by the network address, or for the e-mail address.
    """
    hold_rate("letters", customer_of(request), "Too many letters were asked for from this address.")
    hold_rate("letters", f"to {address.lower()}", "Too many letters were asked for to this address.")


def email_verify(text: str) -> Any:
    """Take the e-mail address that a letter's link names as its user's; returns the user, None if the link is void."""
    said = verified(text)
    if said is None:
        return None
    key, email = said
    try:
        with transaction.atomic():
            user = get_user_model().objects.select_for_update(no_key=True).filter(pk=key, is_active=True).first()
            if user is None:
                return None
            user.email = email
            user.save(update_fields=["email"])
            Contributor.objects.filter(user=user).update(email_verified=True)
    except IntegrityError:  # another account has it by now
        return None
    return user


def unconfirmed_forget() -> int:
    """Remove accounts whose address nobody confirmed and that have done nothing; returns how many."""
    if not settings.VERIFY_EMAIL:
        return 0
    old = Contributor.objects.filter(email_verified=False, created_at__lt=timezone.now() - _UNCONFIRMED_FOR)
    users = get_user_model().objects.filter(is_staff=False, contributor__in=old)
    idle = users.filter(contributor__jobs=None, contributor__games=None).values_list("pk", flat=True)
    keys = list(idle[:UNCONFIRMED_AT_ONCE])
    get_user_model().objects.filter(pk__in=keys, contributor__email_verified=False).delete()
    return len(keys)


def account_delete(user: Any) -> None:
    """Take from an account everything that says whose it is; its games stay, as a nameless contributor's.

    Raises:
        InvalidSettings: it has a role, which an admin takes away first.
    """
    if user.is_staff or user.is_superuser:
        raise InvalidSettings("an account with a role cannot be deleted; an admin takes the role away first")
    with transaction.atomic():
        locked = get_user_model().objects.select_for_update().get(pk=user.pk)
        locked.client_tokens.all().delete()
        locked.letters.all().delete()
        VerifiedLogin.objects.filter(user=locked).delete()
        locked.groups.clear()
        locked.user_permissions.clear()
        locked.username = f"(deleted {locked.pk})"  # no name that can be signed up
        locked.first_name = locked.last_name = locked.email = ""
        locked.is_active = False
        locked.set_unusable_password()
        locked.save()
        nameless = {"may_contribute": False, "email_verified": True, "client_revision": "", "last_seen": None}
        Contributor.objects.filter(user=locked).update(**nameless)
        kind = ContentType.objects.get_for_model(get_user_model())
        LogEntry.objects.filter(content_type=kind, object_id=str(locked.pk)).update(object_repr=locked.username)
