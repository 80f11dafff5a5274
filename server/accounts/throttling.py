"""How often a password may be tried: counted in the database, for all processes together, before a password is hashed.

Each try counts at once for its account and for its address (of IPv6 the /64, which is what one customer has); a right
password takes its count back. Whoever is above either limit is refused until the minute (or what THROTTLE_LOGIN says)
is over, and costs no hash. So that nobody is locked out by those who guess at the same account, or behind the same
address, an account and an address from which it has logged in before have a count of their own instead.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, cast

from django.contrib.auth.backends import ModelBackend
from django.db import connection
from django.db.models import F, Q
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac
from rest_framework.exceptions import Throttled
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle, SimpleRateThrottle

from server.accounts.models import LoginCount

KNOWN_FOR: Final = timedelta(days=30)
"""How long an address is known after a right login."""
IPV6_CUSTOMER: Final = 64
"""Bits of an IPv6 address that one customer cannot change."""
_COUNT: Final = """
    INSERT INTO accounts_logincount AS counted (key, since, attempts) VALUES (%(key)s, %(now)s, 1)
    ON CONFLICT (key) DO UPDATE SET
        attempts = CASE WHEN counted.since <= %(begin)s THEN 1 ELSE counted.attempts + 1 END,
        since = CASE WHEN counted.since <= %(begin)s THEN excluded.since ELSE counted.since END
    RETURNING attempts, since
"""
"""One statement, so that no two tries at once count as one."""


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
        return _key("known", f"{self.account}\0{self.address}")

    @property
    def pair(self) -> str:
        """Key of the count of this account from this address, where they are known."""
        return _key("pair", f"{self.account}\0{self.address}")


def limits() -> tuple[int, int]:
    """Tries that are allowed, and in how many seconds."""
    rates = cast(Mapping[str, str], api_settings.DEFAULT_THROTTLE_RATES)
    throttle = SimpleRateThrottle.__new__(SimpleRateThrottle)  # its parser needs none of its state
    count, seconds = throttle.parse_rate(rates["login"])
    return count or 0, seconds or 60


def network_of(address: str) -> str:
    """What stands for the customer behind an address: an IPv4 address as it is, of IPv6 the first 64 bits."""
    try:
        parsed = ipaddress.ip_address(address.strip("[] ").partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, IPV6_CUSTOMER), strict=False))


def attempt(username: str, request: HttpRequest | None) -> Attempt:
    """Count a try of a password for the account ``username``.

    Raises:
        Throttled: too many tries for this account, or from this address; if they are known, of both together.
    """
    told = None if request is None else BaseThrottle().get_ident(cast(Any, request))
    address = None if told is None else _key("address", network_of(str(told or "")))
    made = Attempt(_key("account", username), address)
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
    now = timezone.now()
    window = timedelta(seconds=seconds)
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, {"key": key, "now": now, "begin": now - window})
        attempts, since = cast(tuple[int, datetime], cursor.fetchone())
    if attempts > allowed:
        raise Throttled(max(1.0, (since + window - now).total_seconds()), detail=text)


def _is_known(made: Attempt) -> bool:
    if made.address is None:
        return False
    return LoginCount.objects.filter(key=made.known, known=True, since__gt=timezone.now() - KNOWN_FOR).exists()


def _key(kind: str, value: str) -> str:
    """Key of a count; a digest, since people also type passwords where a name belongs."""
    return salted_hmac(f"tengen.login.{kind}", value, algorithm="sha256").hexdigest()


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
