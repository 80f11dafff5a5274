"""Exclusions take out what they are about, in small steps, from everything that counts; lifted, they put it back."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db.models import Q
from django.test import Client
from django.utils import timezone

from server.accounts.models import Contributor
from server.errors import InvalidSettings
from server.games import exclusions
from server.games.exclusions import exclusion_lift, exclusion_make, exclusions_go_on
from server.games.models import Exclusion, ExclusionKind, Game, GameState
from server.games.moderation import games_refuse, games_restore
from server.games.moving import Refusal
from server.games.recounting import counters_drift, counters_rebuild
from server.games.selectors import rows_between
from server.jobs.models import Job
from server.networks.models import Network
from server.runs.models import Run, RunTotals
from server.upkeep.synthetic import Amounts, synthetic_seed
from server.upkeep.tasks import moderate

pytestmark = pytest.mark.django_db


@pytest.fixture
def big(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run of 300 games of a month, some refused, some waiting; looked at in steps of 40, moved in tens."""
    monkeypatch.setattr(exclusions, "STEP", 40)
    monkeypatch.setattr(exclusions, "AT_ONCE", 10)
    synthetic_seed(run, Amounts(games=300, networks=4, contributors=3, match_every=3, days=30, waiting=20))
    return run


def somebody() -> Contributor:
    return Contributor.objects.filter(games__isnull=False).distinct().order_by("pk")[1]


def make(kind: ExclusionKind, **what: Any) -> Exclusion:
    return exclusion_make(Exclusion(kind=kind, reason="for a test", **what))


def a_network() -> Network:
    return Network.objects.order_by("pk")[1]


def about(kind: ExclusionKind) -> tuple[dict[str, Any], Q]:
    """What an exclusion of a kind says, and the games that it is about."""
    middle = timezone.now() - timedelta(days=15)
    if kind == ExclusionKind.MACHINE:
        Job.objects.filter(pk__in=[job for job in Job.objects.values_list("pk", flat=True) if job % 3]).update(
            machine="A1"
        )
        return {"name": "A1"}, Q(job__machine="A1")
    if kind == ExclusionKind.CONTRIBUTOR:
        return {"contributor": somebody()}, Q(contributor=somebody())
    if kind == ExclusionKind.NETWORK:
        return {"network": a_network()}, Q(black_network=a_network()) | Q(white_network=a_network())
    if kind == ExclusionKind.BUILD:
        return {"name": "0" * 39 + "2"}, Q(job__client_revision="0" * 39 + "2")
    until = middle + timedelta(days=4)
    return {"since": middle, "until": until}, Q(received_at__gte=middle, received_at__lt=until)


def nothing_drifted() -> bool:
    drift = counters_drift()
    return not any((drift.runs, drift.contributors, drift.networks, drift.scores))


@pytest.mark.parametrize("kind", ExclusionKind)
def test_games_leave_everything_that_counts_them_and_come_back(big: Run, kind: ExclusionKind) -> None:
    what, theirs = about(kind)
    before = dict(Game.objects.values_list("pk", "state"))
    totals = RunTotals.objects.get(run=big)
    refused_already = set(Game.objects.filter(theirs, state=GameState.REFUSED).values_list("pk", flat=True))
    exclusion = make(kind, **what)
    moved = exclusions_go_on()
    mine = Game.objects.filter(theirs)
    assert moved == mine.count() - len(refused_already) >= 10
    assert set(mine.values_list("state", flat=True)) == {GameState.REFUSED}
    others = Game.objects.exclude(pk__in=mine)
    assert dict(others.values_list("pk", "state")).items() <= before.items()
    taken = mine.filter(exclusion=exclusion)
    assert set(taken.values_list("reason_code", "reason")) == {("excluded", "for a test")}
    assert not set(taken.values_list("pk", flat=True)) & refused_already
    assert nothing_drifted()
    gone = set(taken.filter(number__isnull=False).values_list("number", flat=True))
    assert gone
    assert not gone & {row.number for row in rows_between(big.pk, 0, totals.last_row)}
    assert exclusion_lift(exclusion.pk)
    assert exclusions_go_on() == moved
    assert dict(Game.objects.values_list("pk", "state")) == before
    assert nothing_drifted()
    assert not Game.objects.filter(exclusion__isnull=False).exists()
    exclusion.refresh_from_db()
    assert exclusion.is_done
    assert not exclusion_lift(exclusion.pk)


def test_a_network_takes_along_the_games_that_went_on_with_it(big: Run) -> None:
    """Out of counts, shards and the like, and back; also where no other game of it is there."""
    run = Run.objects.get()
    newer = a_network()
    begun = Game.objects.filter(kind="training", state=GameState.COUNTED).exclude(black_network=newer)
    keys = list(begun.order_by("pk").values_list("pk", flat=True)[3:8])
    Game.objects.filter(Q(black_network=newer) | Q(white_network=newer)).delete()
    Game.objects.filter(pk__in=keys).update(later_networks=[newer.pk], later_rows=[7])
    counters_rebuild()
    counts = "training_games", "training_rows"
    assert [getattr(Network.objects.get(pk=newer.pk), name) for name in counts] == [5, 35]
    first = Game.objects.get(pk=keys[0]).black_network
    made = Game.objects.filter(black_network=first, kind="training", state=GameState.COUNTED)
    rows = sum(game.num_training_rows - sum(game.later_rows) for game in made)
    assert Network.objects.get(pk=first.pk).training_rows == rows
    numbers = set(Game.objects.filter(pk__in=keys).values_list("number", flat=True))
    exclusion = make(ExclusionKind.NETWORK, network=newer)
    assert exclusion.looked_at == keys[0] - 1, "nothing before them is looked at"
    assert exclusions_go_on() == 5
    assert set(Game.objects.filter(pk__in=keys).values_list("state", flat=True)) == {GameState.REFUSED}
    assert [getattr(Network.objects.get(pk=newer.pk), name) for name in counts] == [0, 0]
    last = RunTotals.objects.get(run=run).last_row
    assert not numbers & {row.number for row in rows_between(run.pk, 0, last)}
    assert nothing_drifted()
    exclusion_lift(exclusion.pk)
    assert exclusions_go_on() == 5
    assert numbers <= {row.number for row in rows_between(run.pk, 0, last)}
    assert nothing_drifted()


def test_what_an_exclusion_or_a_person_took_out_is_not_audited_again(big: Run) -> None:
    make(ExclusionKind.CONTRIBUTOR, contributor=somebody())
    exclusions_go_on()
    judged = list(Game.objects.filter(state=GameState.COUNTED).values_list("pk", flat=True)[:3])
    games_refuse(judged, Refusal("moderated", "by hand"))
    told = StringIO()
    call_command("requeue_games", "seven", "--dry-run", stdout=told)
    by_audit = Game.objects.filter(state=GameState.REFUSED, reason_code="planes").count()
    assert told.getvalue() == f"{by_audit} games would wait for their audit again\n"
    call_command("requeue_games", "seven", "excluded", stdout=told)
    assert told.getvalue().endswith("\n0 games wait for their audit again\n"), "they come back when it is lifted"
    call_command("requeue_games", "seven", "moderated", stdout=told)
    assert told.getvalue().endswith("\n3 games wait for their audit again\n"), "if that is what is asked for"


def test_it_goes_on_where_it_was_cut_short_and_with_games_that_arrive(big: Run) -> None:
    Game.objects.update(received_at=timezone.now() - timedelta(days=1))
    contributor = somebody()
    make(ExclusionKind.CONTRIBUTOR, contributor=contributor)
    turns = iter([True, True, False])
    first = exclusions_go_on(lambda: next(turns))
    looked_at = Exclusion.objects.get().looked_at
    assert looked_at > 0
    rest = exclusions_go_on()
    assert first > 0
    assert rest > 0
    assert Exclusion.objects.get().looked_at == Game.objects.order_by("-pk")[0].pk
    late = Game.objects.order_by("-pk")[0]
    late.pk = late.number = late.last_row = None
    late.uid, late.contributor = "F" * 32, contributor
    late.state, late.judged_at, late.reason, late.reason_code, late.exclusion = GameState.RECEIVED, None, "", "", None
    late.save(force_insert=True)
    assert moderate() == 1
    late.refresh_from_db()
    assert late.state == GameState.REFUSED
    assert Exclusion.objects.get().looked_at == late.pk - 1, "what came a moment ago is looked at again"


def test_what_two_exclusions_are_about_stays_out_until_both_are_lifted(big: Run) -> None:
    before = dict(Game.objects.values_list("pk", "state"))
    one = make(ExclusionKind.CONTRIBUTOR, contributor=somebody())
    exclusions_go_on()
    two = make(ExclusionKind.NETWORK, network=a_network())
    exclusions_go_on()
    exclusion_lift(one.pk)
    exclusions_go_on()
    hers = Game.objects.filter(contributor=somebody())
    both = hers.filter(Q(black_network=a_network()) | Q(white_network=a_network()))
    assert set(both.values_list("state", flat=True)) == {GameState.REFUSED}
    assert {before[key] for key in hers.exclude(pk__in=both).values_list("pk", flat=True)} == set(
        hers.exclude(pk__in=both).values_list("state", flat=True)
    )
    exclusion_lift(two.pk)
    exclusions_go_on()
    assert dict(Game.objects.values_list("pk", "state")) == before
    assert nothing_drifted()


def test_a_maintainer_who_restores_a_game_has_the_last_word(big: Run) -> None:
    exclusion = make(ExclusionKind.CONTRIBUTOR, contributor=somebody())
    exclusions_go_on()
    game = Game.objects.filter(exclusion=exclusion, number__isnull=False)[0]
    games_restore([game.pk])
    exclusion_lift(exclusion.pk)
    exclusions_go_on()
    game.refresh_from_db()
    assert (game.state, game.exclusion) == (GameState.COUNTED, None)
    assert nothing_drifted()


def takes_part(who: Contributor, network: Network) -> tuple[bool, bool, bool]:
    """Whether a contributor may contribute, and a network may play games of training and of ratings, by now."""
    net = Network.objects.get(pk=network.pk)
    allowed = Contributor.objects.get(pk=who.pk).may_contribute
    return allowed, net.training_games_enabled, net.rating_games_enabled


def test_the_disabled_take_no_further_part(big: Run) -> None:
    contributor, network = somebody(), a_network()
    two = [make(ExclusionKind.CONTRIBUTOR, contributor=contributor) for _ in range(2)]
    of_net = make(ExclusionKind.NETWORK, network=network)
    assert takes_part(contributor, network) == (False, False, False)
    exclusion_lift(two[0].pk)
    assert takes_part(contributor, network) == (False, False, False), "the other exclusion stands"
    exclusion_lift(two[1].pk)
    assert takes_part(contributor, network) == (True, False, False)
    exclusion_lift(of_net.pk)
    assert takes_part(contributor, network) == (True, True, True)


def test_what_was_off_before_stays_off(big: Run) -> None:
    """By hand, or by an exclusion that was made before and is lifted last or first."""
    contributor, network = somebody(), a_network()
    Contributor.objects.filter(pk=contributor.pk).update(may_contribute=False)
    Network.objects.filter(pk=network.pk).update(rating_games_enabled=False)
    for order in ((0, 1), (1, 0)):
        people = [make(ExclusionKind.CONTRIBUTOR, contributor=contributor) for _ in order]
        networks = [make(ExclusionKind.NETWORK, network=network) for _ in order]
        for index in order:
            exclusion_lift(people[index].pk)
            exclusion_lift(networks[index].pk)
        assert takes_part(contributor, network) == (False, True, False)


@pytest.mark.parametrize(
    ("kind", "what", "text"),
    [
        (ExclusionKind.CONTRIBUTOR, {}, "has to say which"),
        (ExclusionKind.BUILD, {}, "has to say which"),
        (ExclusionKind.WINDOW, {}, "has to say which"),
    ],
)
def test_an_exclusion_says_what_it_is_about(big: Run, kind: ExclusionKind, what: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidSettings, match=text):
        make(kind, **what)


def test_impossible_exclusions_are_refused(big: Run) -> None:
    now = timezone.now()
    with pytest.raises(InvalidSettings, match="ends before it begins"):
        make(ExclusionKind.WINDOW, since=now, until=now)
    big.refresh_from_db()
    with pytest.raises(InvalidSettings, match="make another one current first"):
        make(ExclusionKind.NETWORK, network=big.current_network)
    assert not Exclusion.objects.exists()


def test_the_command_makes_lists_and_lifts(big: Run) -> None:
    name, told = somebody().user.username, StringIO()
    call_command("exclude_games", "user", name, "--run", "seven", stdout=told)
    exclusions_go_on()
    assert Game.objects.filter(exclusion__contributor=somebody()).exists()
    call_command("exclude_games", "--list", stdout=told)
    key = Exclusion.objects.get().pk
    call_command("exclude_games", "--lift", str(key), stdout=told)
    assert f"{key}: user {name} (taken out by a maintainer)" in told.getvalue()
    assert f"exclusion {key} lifted" in told.getvalue()
    call_command("exclude_games", "window", "--since", "2030-01-31T12:00", "--until", "2030-02-01", stdout=told)
    for wrong in (["user", "nobody"], ["network", "nothing"], [], ["build", "x", "--run", "none"], ["--lift", "999"]):
        with pytest.raises(CommandError):
            call_command("exclude_games", *wrong)


def test_the_admins_page_makes_and_lifts(big: Run, client: Client) -> None:
    client.force_login(get_user_model().objects.create_superuser("root"))
    form = {"kind": "user", "contributor": somebody().pk, "reason": "seen", "name": ""}
    form |= {f"{name}_{part}": "" for name in ("since", "until") for part in (0, 1)}
    answer = client.post("/admin/games/exclusion/add/", form | {"kind": "build"})
    assert b"has to say which" in answer.content
    answer = client.post("/admin/games/exclusion/add/", form)
    assert answer.status_code == 302, answer.content
    assert exclusions_go_on() > 10
    key = Exclusion.objects.get().pk
    client.post("/admin/games/exclusion/", {"action": "lift", "_selected_action": [key]})
    assert exclusions_go_on() > 10
    client.post("/admin/accounts/contributor/", {"action": "take_out", "_selected_action": [somebody().pk]})
    assert exclusions_go_on() > 10
    assert client.get("/admin/games/exclusion/").status_code == 200
