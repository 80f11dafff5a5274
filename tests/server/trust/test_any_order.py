"""Whatever maintainers do, in any order: what counts is what the games say, and nothing held or excluded counts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models import Q
from django.utils import timezone

from server.accounts.models import Contributor
from server.games.auditing import Accepted, Verdict, games_audit
from server.games.counting import Counts
from server.games.exclusions import exclusion_lift, exclusion_make, exclusions_go_on
from server.games.figures import figures_add, tally_key
from server.games.models import PASSED, Exclusion, ExclusionKind, Game, GameState
from server.games.moderation import games_refuse, games_requeue, games_restore
from server.games.recounting import counters_drift, counters_rebuild
from server.games.selectors import games_in_range, rows_between
from server.games.tally_recounting import tallies_drift, tallies_rebuild
from server.inspection.verdicts import contributor_quarantine, contributor_reject, contributor_trust
from server.jobs.models import Job
from server.networks.models import Network
from server.runs.models import Run, RunTotals
from server.trust.models import HOLDING, Standing, Tally, Trust
from server.trust.services import standing_of
from server.upkeep.synthetic import Amounts, synthetic_seed
from tests.server.factories import FAULT

pytestmark = pytest.mark.django_db

FIGURES = ("length", "white_points")
BUILD = "0" * 39 + "2"


@pytest.fixture
def small(run: Run) -> Run:
    """A run of 150 audited games, of which a sixth went on with a newer network, with figures and standings."""
    synthetic_seed(run, Amounts(games=150, networks=4, contributors=3, match_every=3, days=30))
    Job.objects.filter(pk__in=[key for key in Job.objects.values_list("pk", flat=True) if key % 2]).update(machine="A")
    networks = list(Network.objects.order_by("pk"))
    for game in Game.objects.select_related("run", "contributor"):
        standing_of(game.run, game.contributor)
        newer = [network for network in networks if network.pk > game.black_network_id]
        if game.kind == "training" and newer and game.pk % 4 == 0:
            game.net_changes = [[1, newer[0].name]]
            game.later_networks, game.later_rows = [newer[0].pk], [game.num_training_rows // 3]
            game.save(update_fields=["net_changes", "later_networks", "later_rows"])
    counters_rebuild()
    games_requeue(list(Game.objects.filter(state=GameState.COUNTED).values_list("pk", flat=True)), GameState.COUNTED)
    audit()
    return run


def audit() -> None:
    def judge(game: Game, sgf: bytes, rows: bytes | None) -> Verdict:
        chance = random.Random(game.pk)
        return Accepted(figures={name: chance.random() for name in FIGURES}, later_rows=game.later_rows)

    from server.games import auditing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auditing, "load", lambda name: b"")
        while games_audit(judge, limit=50):
            pass


def recounted() -> dict[tuple[Any, ...], dict[str, dict[str, list[float]]]]:
    """What the tallies should say, summed game by game; without sums of no game."""
    found: dict[tuple[Any, ...], dict[str, dict[str, list[float]]]] = {}
    for game in Game.objects.filter(state__in=PASSED).select_related("job"):
        key = tally_key(game)
        counts = game.state == GameState.COUNTED
        for row, column in ((key.of_own, "sums"), *([(key.of_own, "counted"), (key.of_all, "sums")] if counts else [])):
            for name, value in game.figures.items():
                sums = found.setdefault(row, {}).setdefault(column, {}).setdefault(name, [0, 0.0, 0.0])
                for place, part in enumerate((1, value, value * value)):
                    sums[place] += part
    return found


def tallied() -> dict[tuple[Any, ...], dict[str, dict[str, list[float]]]]:
    found: dict[tuple[Any, ...], dict[str, dict[str, list[float]]]] = {}
    for row in Tally.objects.all():
        key = (row.run_id, row.contributor_id, row.machine, row.black_network_id, row.white_network_id, row.text_id)
        for column in ("sums", "counted"):
            kept = {name: sums for name, sums in getattr(row, column).items() if sums[0] != 0}
            assert all(abs(part) < 1e-9 for sums in getattr(row, column).values() if sums[0] == 0 for part in sums)
            if kept:
                found.setdefault(key, {})[column] = kept
    return found


def about(exclusion: Exclusion) -> Q:
    """The games of an exclusion, told once more."""
    network = exclusion.network_id
    of_network = Q(black_network=network) | Q(white_network=network) | Q(later_networks__contains=[network])
    return {
        ExclusionKind.CONTRIBUTOR: Q(contributor=exclusion.contributor_id),
        ExclusionKind.NETWORK: of_network,
        ExclusionKind.MACHINE: Q(job__machine=exclusion.name),
        ExclusionKind.BUILD: Q(job__client_revision=exclusion.name),
        ExclusionKind.WINDOW: Q(received_at__gte=exclusion.since, received_at__lt=exclusion.until),
    }[ExclusionKind(exclusion.kind)]


def check(run: Run, restored: set[int]) -> None:
    assert counters_drift() == Counts()
    assert tallied() == {
        key: {column: {name: pytest.approx(sums) for name, sums in of.items()} for column, of in columns.items()}
        for key, columns in recounted().items()
    }
    assert tallies_drift() == ({}, {})
    passed = Counter(Game.objects.filter(state__in=PASSED).values_list("contributor", flat=True))
    assert dict(Standing.objects.values_list("contributor", "games")) == {
        key: passed[key] for key in Standing.objects.values_list("contributor", flat=True)
    }
    counted = Game.objects.filter(state=GameState.COUNTED)
    holding = Standing.objects.filter(trust__in=HOLDING).values("contributor")
    assert not counted.filter(contributor__in=holding).exists()
    for exclusion in Exclusion.objects.filter(lifted_at=None):
        assert not counted.filter(about(exclusion)).exclude(pk__in=restored).exists(), exclusion
    last = RunTotals.objects.get(run=run).last_row
    in_shards = {row.number for row in rows_between(run.pk, 0, last)}
    assert in_shards == set(counted.filter(kind="training").values_list("number", flat=True))


def exclusion_of(chance: random.Random) -> Exclusion:
    kind = chance.choice(list(ExclusionKind))
    start = timezone.now() - chance.random() * timedelta(days=30)
    known: dict[ExclusionKind, dict[str, Any]] = {
        ExclusionKind.CONTRIBUTOR: {"contributor": chance.choice(list(Contributor.objects.order_by("pk")))},
        ExclusionKind.NETWORK: {
            "network": chance.choice(list(Network.objects.exclude(pk__in=Run.objects.values("current_network"))))
        },
        ExclusionKind.MACHINE: {"name": "A"},
        ExclusionKind.BUILD: {"name": BUILD},
        ExclusionKind.WINDOW: {"since": start, "until": start + timedelta(days=3)},
    }
    return Exclusion(kind=kind, reason="for a test", **known[kind])


def steps(run: Run, chance: random.Random, restored: set[int]) -> Mapping[str, Callable[[], object]]:
    """What maintainers may do next."""
    standing = chance.choice(list(Standing.objects.order_by("pk")))
    keys = list(Game.objects.order_by("pk").values_list("pk", flat=True))
    few = chance.sample(keys, 10)
    standing_exclusions = list(Exclusion.objects.filter(lifted_at=None).values_list("pk", flat=True))

    def lift() -> None:
        if standing_exclusions:
            exclusion_lift(chance.choice(standing_exclusions))

    def restore() -> None:
        restored.update(Game.objects.filter(pk__in=few, state=GameState.REFUSED).values_list("pk", flat=True))
        games_restore(few)

    def audit_again() -> None:
        games_requeue(games_in_range(run, chance.choice([GameState.REFUSED, GameState.COUNTED])))

    def look_at_rows() -> None:
        for key in few:
            figures_add(key, {"misfits": chance.random()})

    return {
        "exclude": lambda: exclusion_make(exclusion_of(chance)),
        "lift": lift,
        "quarantine": lambda: contributor_quarantine(standing, "for a test", None),
        "trust": lambda: contributor_trust(standing, "for a test", None),
        "reject": lambda: contributor_reject(standing, "for a test", None),
        "refuse": lambda: games_refuse(few, FAULT),
        "restore": restore,
        "audit again": audit_again,
        "look at rows": look_at_rows,
        "rebuild": lambda: (counters_rebuild(), tallies_rebuild()),
    }


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
def test_any_order_of_decisions_leaves_the_counts_right(small: Run, seed: int) -> None:
    chance, restored, done = random.Random(seed), set[int](), []
    check(small, restored)
    before = set(Game.objects.filter(state=GameState.COUNTED).values_list("pk", flat=True))
    for _ in range(40):
        choices = steps(small, chance, restored)
        done.append(chance.choice(list(choices)))
        choices[done[-1]]()
        exclusions_go_on()
        audit()
        check(small, restored)
    for key in Exclusion.objects.filter(lifted_at=None).values_list("pk", flat=True):
        exclusion_lift(key)
    for standing in Standing.objects.all():
        contributor_trust(standing, "over", None)
    exclusions_go_on()
    audit()
    check(small, restored)
    assert not Game.objects.filter(state=GameState.HELD).exists()
    left_out = Game.objects.filter(pk__in=before).exclude(state=GameState.COUNTED)
    assert set(left_out.values_list("reason_code", flat=True)) <= {FAULT.code, "rejected"}, done
    assert Standing.objects.filter(trust=Trust.TRUSTED).count() == Standing.objects.count()


def test_wrong_tallies_are_set_right(small: Run) -> None:
    right = tallied()
    some = Tally.objects.filter(contributor__isnull=False)[0]
    some.sums["length"][0] += 3
    some.counted = {}
    some.save()
    Tally.objects.filter(contributor=None)[0].delete()
    Standing.objects.update(games=1)
    told = StringIO()
    call_command("rebuild_counters", "--dry-run", stdout=told)
    assert "tally of all logins, length: games +" in told.getvalue()
    assert "length: games -3, sum +0" in told.getvalue()
    assert "standing " in told.getvalue()
    assert tallied() != right, "only told"
    call_command("rebuild_counters", stdout=told)
    assert tallied() == {
        key: {column: {name: pytest.approx(sums) for name, sums in of.items()} for column, of in columns.items()}
        for key, columns in right.items()
    }
    check(small, set())
    call_command("rebuild_counters", stdout=told)
    assert told.getvalue().endswith("\n0 counters were set right\n")
