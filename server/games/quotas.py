"""How much one login may send on a day: far more than an honest machine does, and less than fills a disk."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Final

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from server.accounts.models import Contributor
from server.errors import TooMany
from server.games.models import UploadDay

KEPT: Final = timedelta(days=90)


class QuotaUsedUp(TooMany):
    """All that a login may send on this day has been sent."""

    def __init__(self, what: str, now: datetime) -> None:
        super().__init__(f"this login has sent {what} today, the most that this server takes of one; go on tomorrow")
        tomorrow = datetime.combine(now.date() + timedelta(days=1), time(), now.tzinfo)
        self.retry_after = max(1, round((tomorrow - now).total_seconds()))


def quota_check(contributor: Contributor, size: int) -> None:
    """See that a contributor may send another game of ``size`` bytes.

    Raises:
        QuotaUsedUp: not today.
    """
    now = timezone.now()
    day = UploadDay.objects.filter(contributor=contributor, day=now.date())
    for games, sent in day.values_list("games", "bytes"):
        if games >= settings.UPLOAD_GAMES_PER_DAY:
            raise QuotaUsedUp(f"{games} games", now)
        if sent + size > settings.UPLOAD_BYTES_PER_DAY:
            raise QuotaUsedUp(f"{sent >> 20} MiB", now)


def quota_use(contributor: Contributor, size: int) -> None:
    """Count a game that was taken; inside the caller's transaction, as its last step, since the row is locked then."""
    day = timezone.now().date()
    if not _add(contributor, day, size):
        UploadDay.objects.bulk_create([UploadDay(contributor=contributor, day=day)], ignore_conflicts=True)
        _add(contributor, day, size)


def _add(contributor: Contributor, day: date, size: int) -> int:
    sent = UploadDay.objects.filter(contributor=contributor, day=day)
    return sent.update(games=F("games") + 1, bytes=F("bytes") + size)


def old_days_forget() -> int:
    """Remove what was counted long ago; returns how many rows."""
    return UploadDay.objects.filter(day__lt=timezone.now().date() - KEPT).delete()[0]
