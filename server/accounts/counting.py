"""How often something was done for a user or from an address: counted in the database, for all processes together.

One statement counts and answers, so no two tries at once count as one. What is counted is told by a digest: people also
type passwords where a name belongs. Rates are named in the settings (``DEFAULT_THROTTLE_RATES``); the first try of a
window begins it. Knows nothing of logins (`throttling`) nor of views (`limits`).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, cast

from django.db import connection
from django.db.models import Model
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac
from rest_framework.exceptions import Throttled
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle, SimpleRateThrottle

from server.accounts.models import LoginCount, RequestCount

IPV6_CUSTOMER: Final = 64
"""Bits of an IPv6 address that one customer cannot change."""
_COUNT: Final = """
    INSERT INTO {table} AS counted (key, since, attempts) VALUES (%(key)s, %(now)s, 1)
    ON CONFLICT (key) DO UPDATE SET
        attempts = CASE WHEN counted.since <= %(begin)s THEN 1 ELSE counted.attempts + 1 END,
        since = CASE WHEN counted.since <= %(begin)s THEN excluded.since ELSE counted.since END
    RETURNING attempts, since
"""


def rate(scope: str) -> tuple[int, int]:
    """How many are allowed by the rate of that name, and in how many seconds."""
    rates = cast(Mapping[str, str], api_settings.DEFAULT_THROTTLE_RATES)
    throttle = SimpleRateThrottle.__new__(SimpleRateThrottle)  # its parser needs none of its state
    count, seconds = throttle.parse_rate(rates[scope])
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


def customer_of(request: HttpRequest) -> str:
    """`network_of` who asks, as told by the proxies that the settings count on."""
    return network_of(str(BaseThrottle().get_ident(cast(Any, request)) or ""))


def key_of(kind: str, value: str) -> str:
    """Key of a count; none can be made, or read, without the server's secret."""
    return salted_hmac(f"tengen.login.{kind}", value, algorithm="sha256").hexdigest()


def hold(
    key: str, allowed: int, seconds: int, text: str, *, table: type[LoginCount] | type[RequestCount] = RequestCount
) -> None:
    """Count once more.

    Raises:
        Throttled: more than ``allowed`` since the window of so many seconds began; ``text`` says what of.
    """
    now = timezone.now()
    window = timedelta(seconds=seconds)
    with connection.cursor() as cursor:
        cursor.execute(_COUNT.format(table=_name(table)), {"key": key, "now": now, "begin": now - window})
        attempts, since = cast(tuple[int, datetime], cursor.fetchone())
    if attempts > allowed:
        raise Throttled(max(1.0, (since + window - now).total_seconds()), detail=text)


def hold_rate(scope: str, whose: str, text: str) -> None:
    """`hold` to the rate named ``scope`` what ``whose`` says did it.

    Raises:
        Throttled: too often.
    """
    allowed, seconds = rate(scope)
    hold(key_of(f"rate.{scope}", whose), allowed, seconds, text)


def _name(table: type[Model]) -> str:
    return connection.ops.quote_name(table._meta.db_table)


def requests_forget() -> int:
    """Remove counts of requests that matter no more; returns how many."""
    rates = cast(Mapping[str, str], api_settings.DEFAULT_THROTTLE_RATES)
    longest = max(rate(scope)[1] for scope in rates)
    return RequestCount.objects.filter(since__lt=timezone.now() - timedelta(seconds=longest)).delete()[0]
