"""What the server does with what it finds about logins: tallies, watching, quarantine, and maintainers' decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from server.accounts.models import Contributor
from server.games.auditing import games_audit
from server.games.counting import Counts
from server.games.exclusions import exclusion_lift, exclusion_make, exclusions_go_on
from server.games.figures import figures_add
from server.games.models import Exclusion, ExclusionKind, Game, GameState, MatchScore, Recheck
from server.games.moderation import games_refuse, games_restore
from server.games.recounting import counters_drift
from server.gates.models import Gate
from server.inspection.tasks import look
from server.inspection.verdicts import contributor_quarantine, contributor_reject, contributor_trust
from server.runs.models import Run, RunTotals
from server.trust.models import Alarm, Decision, Standing, Tally, Trust
from server.trust.tallies import machines_of, strata_of
from tests.server.factories import FAULT, accept, make_contributor, make_network
from tests.server.games.counts import counts

pytestmark = pytest.mark.django_db

Send = Callable[..., list[Game]]
LONG, SHORT = {"length": 1.0}, {"length": 0.2}


@pytest.fixture
def others(send: Send) -> Contributor:
    """Somebody whose 40 games the run has; their lengths differ a little."""
    other = make_contributor("otto")
    for number in range(4):
        send(other, {"length": 0.9 + 0.05 * number}, 10)
    return other


def settings(run: Run, **changes: object) -> None:
    Run.objects.filter(pk=run.pk).update(**changes)


def standing(run: Run, contributor: Contributor) -> Standing:
    return Standing.objects.get(run=run, contributor=contributor)


def states(contributor: Contributor) -> set[str]:
    return set(Game.objects.filter(contributor=contributor).values_list("state", flat=True))


def exclude(contributor: Contributor) -> Exclusion:
    kind = ExclusionKind.CONTRIBUTOR
    exclusion = exclusion_make(Exclusion(kind=kind, contributor=contributor, reason="for a test"))
    exclusions_go_on()
    return exclusion


# ---------------------------------------------------------------------------------------------------------- tallies


def test_tallies_follow_the_states_of_games(send: Send, run: Run, anna: Contributor) -> None:
    first, second = send(anna, LONG, 1) + send(anna, SHORT, 1)
    own, everyone = Tally.objects.get(contributor=anna), Tally.objects.get(contributor=None)
    assert own.sums == own.counted == everyone.sums == {"length": [2, 1.2, pytest.approx(1.04)]}
    games_refuse([second.pk], FAULT)
    own.refresh_from_db()
    everyone.refresh_from_db()
    assert own.sums["length"] == own.counted["length"] == everyone.sums["length"] == pytest.approx([1, 1.0, 1.0])
    assert standing(run, anna).games == 1
    games_restore([second.pk])
    everyone.refresh_from_db()
    assert everyone.sums == {"length": pytest.approx([2, 1.2, 1.04])}
    assert first.figures == LONG


def test_later_figures_are_added_once(send: Send, run: Run, anna: Contributor) -> None:
    game = send(anna, LONG, 1)[0]
    for value in (0.5, 0.7):
        figures_add(game.pk, {"misfits": value})
    assert Tally.objects.get(contributor=None).sums == {"length": [1, 1.0, 1.0], "misfits": [1, 0.5, 0.25]}
    game.refresh_from_db()
    assert game.figures == {"length": 1.0, "misfits": 0.5}
    games_refuse([game.pk], FAULT)
    assert Tally.objects.get(contributor=None).sums == {"length": [0, 0, 0], "misfits": [0, 0, 0]}


def test_others_are_all_counted_games_but_ones_own(send: Send, run: Run, anna: Contributor) -> None:
    send(make_contributor("otto"), LONG, 3)
    send(anna, SHORT, 2)
    ((stratum,),) = strata_of(run.pk, anna.pk).values()
    assert (stratum.own.games, stratum.others.games, stratum.others.mean) == (2, 3, 1.0)


def test_machines_are_compared_one_by_one(run: Run, anna: Contributor) -> None:
    network = run.current_network
    assert network is not None
    where = {"run": run, "black_network": network, "white_network": network}
    for owner, machine, mean in ((anna, "AA", 0.5), (anna, "BB", 2.0), (None, "", 1.0)):
        games = 10 if owner else 100
        sums = {"length": [games, games * mean, games * mean * mean]}
        Tally.objects.create(contributor=owner, machine=machine, sums=sums, counted=sums if owner else {}, **where)
    assert machines_of(run.pk, anna.pk) == ["AA", "BB"]
    for looked_at, total in (("AA", 5.0), ("BB", 20.0), (None, 25.0)):
        ((stratum,),) = strata_of(run.pk, anna.pk, looked_at).values()
        assert stratum.own.total == total
        assert (stratum.others.games, stratum.others.total) == (80, 75.0), "without either machine of the login"


# --------------------------------------------------------------------------------------------------------- watching


def test_first_games_of_a_new_login_wait(send: Send, run: Run, anna: Contributor) -> None:
    settings(run, watch_games=3, recheck_share=0.0)
    send(anna, LONG, 2)
    assert states(anna) == {GameState.HELD}
    assert counts(anna) == {}
    assert RunTotals.objects.get().last_number == 0
    assert not Tally.objects.filter(contributor=None).exists(), "what waits is no measure of others"
    assert look() == 0
    send(anna, LONG, 1)
    assert look() == 1
    assert standing(run, anna).trust == Trust.TRUSTED
    assert states(anna) == {GameState.COUNTED}
    assert counts(anna)["anna.training_games"] == 3
    assert [decision.by for decision in Decision.objects.all()] == [None]
    send(anna, LONG, 1)
    assert states(anna) == {GameState.COUNTED}


def test_a_watched_login_waits_for_its_rechecks(send: Send, run: Run, anna: Contributor) -> None:
    settings(run, watch_games=1, recheck_share=0.01)
    game = send(anna, LONG, 1)[0]
    assert Recheck.objects.get().game == game, "all games of a watched login are looked at"
    assert look() == 1
    assert standing(run, anna).trust == Trust.WATCHED
    Recheck.objects.update(done_at="2026-01-01T00:00Z")
    look()
    assert standing(run, anna).trust == Trust.TRUSTED


def test_a_watched_login_that_differs_stays_so(send: Send, run: Run, anna: Contributor, others: Contributor) -> None:
    settings(run, watch_games=16, recheck_share=0.0)
    send(anna, SHORT, 16)
    look()
    assert standing(run, anna).trust == Trust.WATCHED
    assert Alarm.objects.get().figure == "length"
    assert states(anna) == {GameState.HELD}


# ------------------------------------------------------------------------------------------- alarms and quarantine


def test_an_alarm_without_quarantine_changes_nothing(
    send: Send, run: Run, anna: Contributor, others: Contributor
) -> None:
    send(anna, SHORT, 16)
    look()
    alarm = Alarm.objects.get()
    assert alarm.standing == standing(run, anna)
    assert "moves per point of the board: 0.2 on average of 16 games" in alarm.text
    assert states(anna) == {GameState.COUNTED}
    send(anna, SHORT, 16)
    look()
    assert Alarm.objects.count() == 1, "the same is told once"


def test_quarantine_takes_games_out_and_holds_further_ones(
    send: Send, run: Run, anna: Contributor, others: Contributor
) -> None:
    settings(run, quarantines=True)
    before = counts(others)
    send(anna, SHORT, 16)
    look()
    assert standing(run, anna).trust == Trust.QUARANTINED
    assert states(anna) == {GameState.HELD}
    send(anna, LONG, 1)
    assert states(anna) == {GameState.HELD}
    assert counts(others) == before
    assert RunTotals.objects.get().moderations == 16, "shards are written without them"
    assert states(others) == {GameState.COUNTED}


def test_maintainers_overrule(send: Send, run: Run, anna: Contributor, others: Contributor) -> None:
    settings(run, quarantines=True)
    maintainer = get_user_model().objects.create_user("maria")
    send(anna, SHORT, 16)
    look()
    assert contributor_trust(standing(run, anna), "plays on a phone", maintainer) == 16
    assert states(anna) == {GameState.COUNTED}
    send(anna, SHORT, 16)
    look()
    assert standing(run, anna).trust == Trust.TRUSTED, "the same alarm does not come again"
    assert contributor_quarantine(standing(run, anna), "seen again", maintainer) == 32
    assert contributor_reject(standing(run, anna), "made up", maintainer) == 32
    assert states(anna) == {GameState.REFUSED}
    assert {game.reason for game in Game.objects.filter(contributor=anna)} == {"made up"}
    told = [(decision.trust, decision.by) for decision in Decision.objects.order_by("pk")]
    quarantined = Trust.QUARANTINED
    assert told == [(quarantined, None), (Trust.TRUSTED, maintainer), *[(quarantined, maintainer)] * 2]


def test_one_login_that_breaks_the_look_leaves_the_others_theirs(
    send: Send, run: Run, anna: Contributor, others: Contributor
) -> None:
    send(anna, SHORT, 16)
    Tally.objects.filter(contributor=others).update(sums={"length": "broken"})
    assert look() == 2
    assert Alarm.objects.get().standing == standing(run, anna)


def test_an_excluded_login_leaves_no_held_games(send: Send, run: Run, anna: Contributor) -> None:
    settings(run, watch_games=5)
    send(anna, LONG, 2)
    exclusion = exclude(anna)
    assert states(anna) == {GameState.REFUSED}
    assert standing(run, anna).games == 0
    exclusion_lift(exclusion.pk)
    exclusions_go_on()
    assert states(anna) == {GameState.RECEIVED}, "they were never counted"


def test_games_of_a_quarantined_login_come_back_as_held(send: Send, run: Run, anna: Contributor) -> None:
    first = send(anna, LONG, 3)[0]
    games_refuse([first.pk], FAULT)
    exclusion = exclude(anna)
    contributor_quarantine(standing(run, anna), "strange", None)
    games_restore([first.pk])
    exclusion_lift(exclusion.pk)
    exclusions_go_on()
    assert states(anna) == {GameState.HELD}
    assert counts(anna) == {}
    assert counters_drift() == Counts()
    assert Tally.objects.get(contributor=None).sums == {"length": [0, 0, 0]}
    assert contributor_trust(standing(run, anna), "explained", None) == 3
    assert counts(anna)["anna.training_games"] == standing(run, anna).games == 3
    assert Tally.objects.get(contributor=None).sums == {"length": [3, 3.0, 3.0]}
    assert set(Game.objects.values_list("number", flat=True)) == {1, 2, 3}, "numbers are given once"
    assert {game.figures["length"] for game in Game.objects.all()} == {1.0}


def test_results_of_a_quarantined_login_are_no_scores(
    client: Client, play: Callable[..., Game], run: Run, tmp_path: Path, anna: Contributor
) -> None:
    make_network(run, tmp_path)
    play()
    games_audit(accept, limit=10)
    assert MatchScore.objects.get().games == 1
    contributor_quarantine(standing(run, anna), "strange", None)
    assert (MatchScore.objects.get().games, MatchScore.objects.get().black_half_points) == (0, 0)
    assert not any(counters_drift().scores.values())
    contributor_trust(standing(run, anna), "explained", None)
    assert MatchScore.objects.get().games == 1


def test_games_of_before_there_were_standings_are_taken_out(send: Send, run: Run, anna: Contributor) -> None:
    games = send(anna, LONG, 3)
    Standing.objects.update(games=1)
    games_refuse([game.pk for game in games], FAULT)
    assert standing(run, anna).games == 0


def test_a_gate_does_not_wait_for_held_games(
    client: Client, play: Callable[..., Game], run: Run, tmp_path: Path, anna: Contributor
) -> None:
    settings(run, watch_games=5)
    make_network(run, tmp_path)
    game = play()
    games_audit(accept, limit=10)
    game.refresh_from_db()
    gate = Gate.objects.get()
    assert (game.state, gate.pending, gate.played) == (GameState.HELD, 0, 0)


# ----------------------------------------------------------------------------------------------------------- pages


def test_the_admin_page_wants_a_reason_and_keeps_it(send: Send, run: Run, anna: Contributor, client: Client) -> None:
    admin = get_user_model().objects.create_superuser("admin", password="a long enough password")
    client.force_login(admin)
    send(anna, LONG, 1)
    mine = standing(run, anna)
    form: Mapping[str, object] = {"action": "quarantine", "_selected_action": [mine.pk]}
    answer = client.post("/admin/trust/standing/", form, follow=True)
    assert "Give a reason" in answer.content.decode()
    assert standing(run, anna).trust == Trust.TRUSTED
    client.post("/admin/trust/standing/", {**form, "reason": "strange"}, follow=True)
    mine = standing(run, anna)
    assert (mine.trust, mine.reason) == (Trust.QUARANTINED, "strange")
    assert Decision.objects.get().by == admin
    assert client.get(f"/admin/trust/standing/{mine.pk}/change/").status_code == 200
    assert client.get("/admin/games/recheck/").status_code == 200
    assert client.get("/admin/trust/tally/?q=anna").status_code == 200


def test_the_contributors_page_is_the_owners_and_maintainers(
    send: Send, run: Run, anna: Contributor, client: Client
) -> None:
    settings(run, watch_games=5)
    send(anna, LONG, 1)
    client.logout()
    assert client.get("/contributors/anna/").status_code == 403
    client.force_login(make_contributor("otto").user)
    assert client.get("/contributors/anna/").status_code == 403
    client.force_login(anna.user)
    page = client.get("/contributors/anna/").content.decode()
    assert "the first games of a new login are looked at" in page
    assert "1 game waits to be counted" in page
    client.force_login(get_user_model().objects.create_user("maria", is_staff=True))
    assert client.get("/contributors/anna/").status_code == 200
    assert client.get("/contributors/nobody/").status_code == 404
