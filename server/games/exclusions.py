"""Games that are taken out together, for what they share: a contributor, machine, build, network or span of time.

A maintainer makes an exclusion; a worker walks over the games in the order of their keys and takes them out, a few at a
time, so that nobody waits for it, and goes on with those that arrive while the exclusion stands. A lifted one is walked
once more: what it had taken out is put back, or belongs to another exclusion that still stands.

A game that was counted before is counted again, or waits if its login is not trusted any more. One that never was is
audited.
"""

from __future__ import annotations

import functools
import operator
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import Max, Min, Q, QuerySet
from django.utils import timezone

from server.accounts.models import Contributor
from server.errors import InvalidSettings
from server.games.models import Decided, Exclusion, ExclusionKind, Game, GameState
from server.games.moving import Refusal, StateChange, games_lock, passed_changes, states_change
from server.hints import AUDIT, Hint
from server.networks.models import Network
from server.runs.models import Run

MODERATE: Final = Hint("server.upkeep.tasks.moderate")
"""There are games to be taken out or put back."""
STEP: Final = 20_000
"""Keys of games that are looked at by one question."""
AT_ONCE: Final = 100
"""Games that are moved in one transaction, which holds up the counting of others for some hundredths of a second."""
SETTLED: Final = timedelta(minutes=10)
"""No upload holds a key so long before its row can be seen: what is younger is looked at again."""
_TAKEN_FROM: Final = tuple(state for state in GameState if state != GameState.REFUSED)


def exclusion_make(exclusion: Exclusion) -> Exclusion:
    """Save a new exclusion and let its work begin: no further games of a contributor or with a network are asked for.

    Raises:
        InvalidSettings: what it says does not fit its kind, or its network is the current one of a run.
    """
    exclusion_check(exclusion)
    arrived = Game.objects.all()
    if exclusion.since is not None:
        arrived = arrived.filter(received_at__gte=exclusion.since)
    theirs = [Q()]
    if exclusion.kind == ExclusionKind.CONTRIBUTOR:  # an index has their first game
        theirs = [Q(contributor=exclusion.contributor_id)]
    elif exclusion.network_id is not None:  # here, several
        theirs = _of_network(exclusion.network_id)
    found = [arrived.filter(each).aggregate(first=Min("pk"))["first"] for each in theirs]
    first = min((key for key in found if key is not None), default=None)
    exclusion.looked_at = (first or Game.objects.aggregate(last=Max("pk"))["last"] or 1) - 1
    with transaction.atomic():
        exclusion.took_away = _take_away(exclusion)
        exclusion.save(force_insert=True)
        transaction.on_commit(MODERATE.send)
    return exclusion


def exclusion_lift(key: int) -> bool:
    """Let what an exclusion took out be put back; False if it has been lifted already."""
    with transaction.atomic():
        exclusion = Exclusion.objects.select_for_update().get(pk=key)
        if exclusion.lifted_at is not None:
            return False
        exclusion.lifted_at = timezone.now()
        exclusion.is_done = False
        exclusion.save(update_fields=["lifted_at", "is_done"])
        _give_back(exclusion)
        transaction.on_commit(MODERATE.send)
    return True


def exclusions_go_on(keep_on: Callable[[], bool] = lambda: True) -> int:
    """Do what standing and lifted exclusions still have to do; returns how many games were moved."""
    moved = 0
    for key in Exclusion.objects.filter(is_done=False).order_by("pk").values_list("pk", flat=True):
        while keep_on():
            exclusion = Exclusion.objects.select_related("contributor", "network").get(pk=key)
            step, is_more = _take_out(exclusion) if exclusion.lifted_at is None else _put_back(exclusion)
            moved += step
            if not is_more:
                break
    return moved


def for_seconds(seconds: float) -> Callable[[], bool]:
    """What to give `exclusions_go_on` so that it ends in time."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end


# --------------------------------------------------------------------------------------------------------------- making


def exclusion_check(exclusion: Exclusion) -> None:
    """Look at an exclusion that is to be made.

    Raises:
        InvalidSettings: see `exclusion_make`.
    """
    if exclusion.since and exclusion.until and exclusion.since >= exclusion.until:
        raise InvalidSettings("the span of time ends before it begins")
    told = {
        ExclusionKind.CONTRIBUTOR: exclusion.contributor_id,
        ExclusionKind.NETWORK: exclusion.network_id,
        ExclusionKind.MACHINE: exclusion.kind == ExclusionKind.MACHINE and exclusion.name,
        ExclusionKind.BUILD: exclusion.kind == ExclusionKind.BUILD and exclusion.name,
        ExclusionKind.WINDOW: exclusion.kind == ExclusionKind.WINDOW and exclusion.since,
    }
    kind = ExclusionKind(exclusion.kind)
    if not told[kind]:
        raise InvalidSettings(f"an exclusion of {kind.label} has to say which")
    network = exclusion.network
    if network is not None and Run.objects.filter(current_network=network).exists():
        raise InvalidSettings(f"{network.name} plays the self-play games of its run; make another one current first")


def _subject(exclusion: Exclusion) -> tuple[QuerySet[Any] | None, tuple[str, ...]]:
    """The contributor or network that takes no part meanwhile, and the fields that say whether it may."""
    if exclusion.contributor_id is not None:
        return Contributor.objects.filter(pk=exclusion.contributor_id), ("may_contribute",)
    if exclusion.network_id is not None:
        enabled = ("training_games_enabled", "rating_games_enabled")
        return Network.objects.filter(pk=exclusion.network_id), enabled
    return None, ()


def _take_away(exclusion: Exclusion) -> list[str]:
    """Let its contributor or network take part no more; returns what it was allowed before."""
    found, fields = _subject(exclusion)
    if found is None:
        return []
    subject = found.select_for_update(no_key=True).get()
    found.update(**dict.fromkeys(fields, False))
    return [field for field in fields if getattr(subject, field)]


def _give_back(exclusion: Exclusion) -> None:
    """Allow again what it took away, or leave that to another exclusion of the same that still stands."""
    found, _ = _subject(exclusion)
    if found is None or not exclusion.took_away:
        return
    same = Exclusion.objects.filter(lifted_at=None, contributor=exclusion.contributor_id, network=exclusion.network_id)
    other = same.select_for_update().order_by("pk").first()
    if other is None:
        found.update(**dict.fromkeys(exclusion.took_away, True))
        return
    other.took_away = sorted({*other.took_away, *exclusion.took_away})
    other.save(update_fields=["took_away"])


# ------------------------------------------------------------------------------------------------------------- walking


def _matching(exclusion: Exclusion) -> Q:
    """The games that an exclusion is about."""
    found = Q()
    if exclusion.run_id is not None:
        found &= Q(run=exclusion.run_id)
    if exclusion.since is not None:
        found &= Q(received_at__gte=exclusion.since)
    if exclusion.until is not None:
        found &= Q(received_at__lt=exclusion.until)
    if exclusion.kind == ExclusionKind.CONTRIBUTOR:
        found &= Q(contributor=exclusion.contributor_id)
    elif exclusion.kind == ExclusionKind.NETWORK:
        assert exclusion.network_id is not None
        found &= functools.reduce(operator.or_, _of_network(exclusion.network_id))
    elif exclusion.kind == ExclusionKind.MACHINE:
        found &= Q(job__machine=exclusion.name)
    elif exclusion.kind == ExclusionKind.BUILD:
        found &= Q(job__client_revision=exclusion.name)
    return found


def _of_network(network: int) -> list[Q]:
    """The games that a network has played: as Black, as White, or from some turn on."""
    later = Q(later_networks__contains=[network]) & ~Q(later_networks=[])  # the latter is what its index holds
    return [Q(black_network=network), Q(white_network=network), later]


def _take_out(exclusion: Exclusion) -> tuple[int, bool]:
    """Look at the next games; how many were taken out, and whether there are more to look at now."""
    first, newest = exclusion.looked_at + 1, Game.objects.aggregate(last=Max("pk"))["last"] or 0
    if newest < first:
        return 0, False
    last = min(newest, exclusion.looked_at + STEP)
    span = Game.objects.filter(pk__range=(first, last))
    refusal = Refusal(Decided.EXCLUDED, exclusion.reason)
    moved = 0
    for state in _TAKEN_FROM:
        keys = list(span.filter(_matching(exclusion), state=state).order_by("pk").values_list("pk", flat=True))
        for start in range(0, len(keys), AT_ONCE):
            moved += _refuse(keys[start : start + AT_ONCE], state, refusal, exclusion)
    young = span.filter(received_at__gte=timezone.now() - SETTLED).aggregate(first=Min("pk"))["first"]
    looked_at = last if young is None else young - 1
    is_over = (
        exclusion.until is not None
        and Game.objects.filter(pk=last, received_at__gte=exclusion.until + SETTLED).exists()
    )
    Exclusion.objects.filter(pk=exclusion.pk, lifted_at=None).update(looked_at=looked_at, is_done=is_over)
    return moved, young is None and not is_over


def _refuse(keys: Sequence[int], state: GameState, refusal: Refusal, exclusion: Exclusion) -> int:
    with transaction.atomic():
        games = games_lock(keys, state)
        states_change([StateChange(game, GameState.REFUSED, refusal) for game in games])
        Game.objects.filter(pk__in=[game.pk for game in games]).update(exclusion=exclusion)
    return len(games)


def _put_back(exclusion: Exclusion) -> tuple[int, bool]:
    """Put the next games back; how many, and whether there may be more."""
    taken = Game.objects.filter(exclusion=exclusion).order_by("pk")
    keys = list(taken.values_list("pk", flat=True)[:AT_ONCE])
    if not keys:
        Exclusion.objects.filter(pk=exclusion.pk).update(is_done=True)
        return 0, False
    for other in Exclusion.objects.filter(lifted_at=None).order_by("pk"):
        theirs = Game.objects.filter(_matching(other), pk__in=keys).values_list("pk", flat=True)
        still_out = list(theirs)
        Game.objects.filter(pk__in=still_out).update(exclusion=other, reason=other.reason)
        keys = [key for key in keys if key not in set(still_out)]
    with transaction.atomic():
        games = games_lock(keys, GameState.REFUSED)
        back = passed_changes([game for game in games if game.number is not None])
        back += [StateChange(game, GameState.RECEIVED, None) for game in games if game.number is None]
        states_change(back)
        Game.objects.filter(pk__in=keys).update(exclusion=None)
    if any(change.to == GameState.RECEIVED for change in back):
        AUDIT.send()
    return len(back), True
