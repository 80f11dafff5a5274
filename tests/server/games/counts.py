"""Everything that counts games, for tests that compare it."""

from __future__ import annotations

from server.accounts.models import Contributor
from server.networks.models import Network
from server.runs.models import RunTotals


def counts(anna: Contributor) -> dict[str, int]:
    """Everything that counts games, in one dictionary."""
    found: dict[str, int] = {}
    names = ("training_games", "training_rows", "match_games", "refused_games")
    for label, row in (
        ("totals", RunTotals.objects.get()),
        ("anna", Contributor.objects.get(pk=anna.pk)),
        ("random", Network.objects.get(is_random=True)),
    ):
        found |= {f"{label}.{name}": getattr(row, name) for name in names if hasattr(row, name)}
    return {name: count for name, count in found.items() if count}
