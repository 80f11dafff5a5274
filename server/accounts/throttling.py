"""How often a password may be tried: counted in the database, for all processes together, before a password is hashed.

Each try counts at once for its account and for its address (of IPv6 the /64, which is what one customer has); a right
password takes its count back. Whoever is above either limit is refused until the minute (or what THROTTLE_LOGIN says)
is over, and costs no hash. So that nobody is locked out by those who guess at the same account, or behind the same
address, an account and an address from which it has logged in before have a count of their own instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from django.contrib.auth.backends import ModelBackend
from django.db.models import F, Q
from django.http import HttpRequest
from django.utils import timezone

from server.accounts.counting import customer_of, hold, key_of, rate
from server.accounts.models import LoginCount

KNOWN_FOR: Final = timedelta(days=30)
"""How long an address is known after a right login."""


@dataclass(frozen=True)
class Attempt:
    """One try, counted already."""

    account: str
    address: str | None
    """Keys of what it is of; a call without a request, as by a management command, has no address."""
    counted: tuple[str, ...] = ()
    """Keys of the counts in which it is."""

    @property
    def known(self) -> str:
        """Key of the note that this account has logged in from this address."""
        return key_of("known", f"{self.account}\0{self.address}")

    @property
    def pair(self) -> str:
        """Key of the count of this account from this address, where they are known."""
        return key_of("pair", f"{self.account}\0{self.address}")


def limits() -> tuple[int, int]:
    """Tries that are allowed, and in how many seconds."""
    return rate("login")


def attempt(username: str, request: HttpRequest | None) -> Attempt:
    """Count a try of a password for the account ``username``.

    Raises:
        Throttled: too many tries for this account, or from this address; if they are known, of both together.
    """
    address = None if request is None else key_of("address", customer_of(request))
    made = Attempt(key_of("account", username), address)
    allowed, seconds = limits()
    if _is_known(made):
        _hold(made.pair, allowed, seconds, "Too many failed logins of this account from this address.")
        return replace(made, counted=(made.pair,))
    if address is not None:
        _hold(address, allowed, seconds, "Too many failed logins from this address.")
    _hold(made.account, allowed, seconds, "Too many failed logins of this account.")
    return replace(made, counted=(made.account,) if address is None else (made.account, address))


def succeeded(made: Attempt) -> None:
    """Take back what a try with the right password has counted, and know its address from now on."""
    LoginCount.objects.filter(key__in=made.counted, attempts__gt=0).update(attempts=F("attempts") - 1)
    if made.address is not None:
        LoginCount.objects.update_or_create(key=made.known, defaults={"since": timezone.now(), "known": True})


def counts_forget() -> int:
    """Remove counts and known addresses that matter no more; returns how many."""
    now = timezone.now()
    over = Q(known=False, since__lt=now - timedelta(seconds=limits()[1])) | Q(known=True, since__lt=now - KNOWN_FOR)
    return LoginCount.objects.filter(over).delete()[0]


def _hold(key: str, allowed: int, seconds: int, text: str) -> None:
    hold(key, allowed, seconds, text, table=LoginCount)


def _is_known(made: Attempt) -> bool:
    if made.address is None:
        return False
    return LoginCount.objects.filter(key=made.known, known=True, since__gt=timezone.now() - KNOWN_FOR).exists()


class CountingBackend(ModelBackend):
    """Django's passwords; every login form and the API come through here."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> Any:
        """The user with that password, None if there is none.

        Raises:
            Throttled: see `attempt`; nothing was hashed.
        """
        if username is None or password is None or "\0" in username:  # PostgreSQL knows no such character
            return None
        made = attempt(username, request)
        user = super().authenticate(request, username=username, password=password, **kwargs)
        if user is not None:
            succeeded(made)
        return user
