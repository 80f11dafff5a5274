"""Summing the figures of games, in the transaction that changes the games' states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from django.db.models import Q

from server.trust.differences import Stratum, Sums, of_game
from server.trust.models import Tally

Figures = Mapping[str, float]
_COLUMNS: Final = ("run_id", "contributor_id", "machine", "black_network_id", "white_network_id", "text_id")


class TallyKey(NamedTuple):
    """Which games are summed together; everything by its key."""

    run: int
    contributor: int
    machine: str
    black_network: int
    white_network: int
    text: int | None

    @property
    def of_own(self) -> _AnyKey:
        """The sums of this login and machine."""
        return (self.run, self.contributor, self.machine, self.black_network, self.white_network, self.text)

    @property
    def of_all(self) -> _AnyKey:
        """The sums of all counted games of the same stratum."""
        return (self.run, None, "", self.black_network, self.white_network, self.text)


_AnyKey = tuple[int, int | None, str, int, int, int | None]


class TallyChanges:
    """What a batch of games changes, to be applied at once."""

    def __init__(self) -> None:
        self._sums: dict[_AnyKey, dict[str, Sums]] = {}
        self._counted: dict[_AnyKey, dict[str, Sums]] = {}

    def add(self, key: TallyKey, figures: Figures, *, counts: bool, sign: int = 1) -> None:
        """Add a game's figures (``sign`` 1), or take them away (-1); ``counts`` if the game does."""
        for name, value in figures.items():
            change = Sums(*(sign * part for part in of_game(float(value))))
            _add(self._sums.setdefault(key.of_own, {}), name, change)
            if counts:
                _add(self._counted.setdefault(key.of_own, {}), name, change)
                _add(self._sums.setdefault(key.of_all, {}), name, change)

    def apply(self) -> None:
        """Write the changes, with the rows locked in one order; inside the caller's transaction."""
        wanted = sorted(self._sums, key=lambda key: tuple(-1 if part is None else part for part in key))
        if not wanted:
            return
        Tally.objects.bulk_create([_row(key) for key in wanted], ignore_conflicts=True)
        found = Tally.objects.select_for_update(no_key=True).filter(_any_of(wanted)).order_by("pk")
        rows = {_key(row): row for row in found}
        for key in wanted:
            row = rows[key]
            row.sums = _together(row.sums, self._sums[key])
            row.counted = _together(row.counted, self._counted.get(key, {}))
        Tally.objects.bulk_update(rows.values(), ["sums", "counted"])


def _row(key: _AnyKey) -> Tally:
    return Tally(**dict(zip(_COLUMNS, key, strict=True)))


def _key(row: Tally) -> _AnyKey:
    networks = row.black_network_id, row.white_network_id
    return (row.run_id, row.contributor_id, row.machine, *networks, row.text_id)


def _any_of(keys: Iterable[_AnyKey]) -> Q:
    """The rows of all these keys."""
    found = Q()
    for key in keys:
        named = {name: value for name, value in zip(_COLUMNS, key, strict=True) if value is not None}
        empty = {f"{name}__isnull": True for name, value in zip(_COLUMNS, key, strict=True) if value is None}
        found |= Q(**named, **empty)
    return found


def _add(sums: dict[str, Sums], name: str, change: Sums) -> None:
    sums[name] = sums.get(name, Sums()).plus(change)


def _together(kept: dict[str, Any], changes: Mapping[str, Sums]) -> dict[str, Any]:
    return kept | {name: list(Sums(*kept.get(name, Sums())).plus(change)) for name, change in changes.items()}


def strata_of(run: int, contributor: int, machine: str | None = None) -> dict[str, list[Stratum]]:
    """By figure: a login's sums (of one machine, or of all) and those of all others' counted games, by stratum."""
    own = Tally.objects.filter(run=run, contributor=contributor)
    mine: dict[tuple[int, int, int | None], list[Tally]] = {}
    for tally in own:
        mine.setdefault((tally.black_network_id, tally.white_network_id, tally.text_id), []).append(tally)
    networks = {key[0] for key in mine}
    found: dict[str, list[Stratum]] = {}
    for everyone in Tally.objects.filter(run=run, contributor=None, black_network__in=networks):
        tallies = mine.get((everyone.black_network_id, everyone.white_network_id, everyone.text_id), [])
        looked_at = [tally for tally in tallies if machine is None or tally.machine == machine]
        for name, sums in everyone.sums.items():
            others = Sums(*sums).plus(_sum(tally.counted.get(name) for tally in tallies), sign=-1)
            stratum = Stratum(_sum(tally.sums.get(name) for tally in looked_at), others)
            found.setdefault(name, []).append(stratum)
    return found


def machines_of(run: int, contributor: int) -> list[str]:
    """The machines of a login that told their names."""
    told = Tally.objects.filter(run=run, contributor=contributor).exclude(machine="")
    return sorted(set(told.values_list("machine", flat=True)))


def _sum(parts: Iterable[list[float] | None]) -> Sums:
    total = Sums()
    for part in parts:
        total = total.plus(Sums(*part)) if part else total
    return total
