"""Games of a gate that are looked at once more before its candidate is promoted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.utils import timezone

from client.contribute.job_orders import JobOrder, orders_of
from client.contribute.messages import Job as ClientJob
from client.contribute.newest_nets import NewestNets
from client.contribute.uploads import upload_parts
from client.networks import evaluator_loader
from common import wire
from common.files import sum_of
from server.accounts.models import Contributor
from server.games.auditing import games_audit
from server.games.models import Decided, Game, GameState, MatchScore, Replay, ReplayOutcome
from server.games.moderation import games_refuse, games_restore
from server.games.replaying import Replayed
from server.games.replays import MAX_TRIES
from server.games.tasks import audit_pending
from server.gates.models import Gate, GateState
from server.gates.services import candidate_register
from server.inspection import replays
from server.inspection.evaluation import Networks
from server.inspection.replays import game_look, replays_run
from server.inspection.tasks import replay as replay_task
from server.jobs.models import Job
from server.networks.models import Network, NetworkState
from server.networks.services import ModelFile, NewNetwork
from server.runs.models import PromotionRule, Run
from server.trust.models import Alarm, Standing, Trust
from tests import FIXTURES
from tests.client.games.games import match_text, play
from tests.server.factories import FAULT, KATAGO, accept, ask, game_form, make_contributor, make_network, upload
from tests.server.gates.test_gates import play_match

pytestmark = pytest.mark.django_db

NET = FIXTURES / "nets" / "mini-v10-fixup.bin.gz"
Says = Callable[[dict[int, Any]], None]


@pytest.fixture
def candidate(run: Run, tmp_path: Path) -> Network:
    """A candidate with a gate of four games, of which two are looked at."""
    Run.objects.update(gate_games=4, gate_replays=2, gate_login_share=1.0)
    return make_network(run, tmp_path)


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Says:
    """Let the look at games, by key, find this, or raise it; others are equal."""

    def set_answers(answers: dict[int, Any]) -> None:
        def look(game: Game, networks: Networks, random: object) -> replays.Look:
            found = answers.get(game.pk, ReplayOutcome.EQUAL)
            if isinstance(found, Exception):
                raise found
            return found, f"it is {found}"

        monkeypatch.setattr(replays, "game_look", look)

    return set_answers


def look_at_all() -> int:
    looked_at = 0
    while replays_run(Networks()):
        looked_at += 1
        Replay.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    return looked_at


def win(client: Client, *contributors: Contributor, wins: str = "cccc") -> None:
    for contributor in contributors:
        play_match(client, contributor, wins)
    games_audit(accept, limit=20)


def test_a_promotion_waits_until_games_hold(
    client: Client, anna: Contributor, run: Run, candidate: Network, says: Says
) -> None:
    says({})
    win(client, anna)
    gate = Gate.objects.get()
    assert (gate.state, gate.points) == (GateState.OPEN, 4.0)
    assert gate.sample_since is not None
    assert "being looked at" in gate.state_told
    assert ask(client, anna).json()["kind"] == "selfplay", "no further games are asked for"
    assert look_at_all() == 2
    run.refresh_from_db()
    gate.refresh_from_db()
    assert (run.current_network, gate.state) == (candidate, GateState.PASSED)
    assert set(Replay.objects.values_list("outcome", flat=True)) == {"equal"}
    assert Game.objects.filter(state=GameState.COUNTED).count() == 4
    assert look_at_all() == 0


def test_without_a_look_a_gate_passes_at_once(client: Client, anna: Contributor, run: Run, candidate: Network) -> None:
    Gate.objects.update(replays=0)
    win(client, anna)
    assert Gate.objects.get().state == GateState.PASSED
    assert replay_task() == 0


@pytest.mark.parametrize("quarantines", [False, True])
def test_what_does_not_hold_is_taken_out_and_the_gate_judged_again(
    client: Client, anna: Contributor, run: Run, candidate: Network, says: Says, quarantines: bool
) -> None:
    Run.objects.update(quarantines=quarantines)
    win(client, anna)
    says(dict.fromkeys(Game.objects.values_list("pk", flat=True), ReplayOutcome.DIFFERENT))
    assert look_at_all() > 0
    gate, bad = Gate.objects.get(), Game.objects.filter(state=GameState.REFUSED)
    assert (gate.state, gate.sample_since) == (GateState.OPEN, None)
    assert set(bad.values_list("reason_code", "reason")) == {(Decided.NOT_REPLAYED, "it is different")}
    assert gate.played == 4 - bad.count() - Game.objects.filter(state=GameState.HELD).count()
    assert gate.half_points == 2 * gate.played
    assert sum(MatchScore.objects.values_list("games", flat=True)) == gate.played
    assert Alarm.objects.get().figure == "different_matches"
    assert Standing.objects.get().trust == (Trust.QUARANTINED if quarantines else Trust.TRUSTED)
    if quarantines:
        assert (gate.played, bad.count()) == (0, 1), "the login's other games wait for a maintainer"
    run.refresh_from_db()
    assert run.current_network != candidate
    assert ask(client, make_contributor("otto")).json()["kind"] == "rating", "the missing games are given to others"


def test_each_contributor_is_looked_at(client: Client, run: Run, candidate: Network, says: Says) -> None:
    Gate.objects.update(games=9, replays=3)
    Run.objects.update(gate_games=9)
    says({})
    people = [make_contributor(name) for name in ("anna", "berta", "clara")]
    win(client, *people, wins="ccd")
    assert look_at_all() == 3
    looked_at = Replay.objects.values_list("game__contributor", flat=True)
    assert set(looked_at) == {person.pk for person in people}
    assert Gate.objects.get().state == GateState.PASSED


def test_games_that_speak_for_the_candidate_come_first(
    client: Client, anna: Contributor, run: Run, candidate: Network, says: Says
) -> None:
    says({})
    win(client, anna, wins="occo")
    look_at_all()
    black_wins = {True: "B", False: "W"}
    for replay in Replay.objects.select_related("game"):
        assert replay.game.winner == black_wins[replay.game.black_network == candidate]
    assert Gate.objects.get().state == GateState.PASSED


def test_a_look_that_fails_leaves_others_theirs_and_does_not_stall(
    client: Client, anna: Contributor, run: Run, candidate: Network, says: Says
) -> None:
    win(client, anna)
    says(dict.fromkeys(Game.objects.values_list("pk", flat=True), ZeroDivisionError("no")))
    assert look_at_all() == 4 * MAX_TRIES
    assert set(Replay.objects.values_list("outcome", "text")) == {("unknown", "it could not be looked at: no")}
    assert Gate.objects.get().state == GateState.PASSED
    assert not Alarm.objects.exists()


def test_a_game_that_is_taken_out_meanwhile_does_not_count_for_the_sample(
    client: Client, anna: Contributor, run: Run, candidate: Network, says: Says
) -> None:
    Run.objects.update(gate_games=6)
    Gate.objects.update(games=6)
    says({})
    win(client, anna, wins="cccc")
    replays_run(Networks())
    (held,) = Replay.objects.filter(outcome="equal").values_list("game", flat=True)
    games_refuse([held], FAULT)
    gate = Gate.objects.get()
    assert (gate.state, gate.played) == (GateState.OPEN, 3)
    look_at_all()
    assert Gate.objects.get().state == GateState.PASSED
    assert Replay.objects.filter(outcome="equal").count() == 3


def test_what_a_maintainer_restores_decides_though_it_looked_different(
    client: Client, anna: Contributor, run: Run, candidate: Network, says: Says
) -> None:
    win(client, anna)
    says(dict.fromkeys(Game.objects.values_list("pk", flat=True), ReplayOutcome.DIFFERENT))
    look_at_all()
    bad = list(Game.objects.filter(state=GameState.REFUSED).values_list("pk", flat=True))
    assert games_restore(bad) == len(bad) > 0
    says({})
    look_at_all()
    assert Gate.objects.get().state == GateState.PASSED
    assert Game.objects.filter(pk__in=bad, state=GameState.COUNTED).count() == len(bad)


# ------------------------------------------------------------------------------------------------- the look itself


def real_candidate(run: Run, folder: Path) -> Network:
    """A candidate whose file is a network."""
    path = folder / "candidate.bin.gz"
    path.write_bytes(NET.read_bytes())
    model = ModelFile(path, "its-own-name", "b2c32", 10, *sum_of(path))
    return candidate_register(NewNetwork(run=run, name=f"{run.name}-real", model=model))


def play_gate(client: Client, anna: Contributor, candidate: Network, games: int) -> None:
    """Have our client play a job of the gate, and upload its games."""
    task = wire.read_task(ask(client, anna, task_rep_factor=str(games)).content)
    assert isinstance(task, wire.RatingTask)
    assert task.seed is not None
    files = {
        each.name: NET if each.name == candidate.name else None for each in (task.black_network, task.white_network)
    }
    job = ClientJob(task, files, games, task.seed, length=7)
    for game in play(orders_of(job), load=evaluator_loader("cpu", 1)):
        assert isinstance(game.order, JobOrder)
        form, parts = upload_parts(game, game.order, NewestNets().url)
        assert upload(client, anna, form, sgf=parts["sgf_file"][1]).status_code == 201
    audit_pending()


@pytest.fixture
def played(client: Client, anna: Contributor, run: Run, tmp_path: Path) -> Network:
    """The candidate of a gate whose two games our client played."""
    text = match_text(bSizes=5, bSizeRelProbs=1)
    Run.objects.update(gating_config=text, gate_games=2, gate_replays=1, gate_required=0.0, gate_login_share=1.0)
    candidate = real_candidate(run, tmp_path)
    play_gate(client, anna, candidate, 2)
    assert Game.objects.filter(state=GameState.COUNTED).count() == 2, list(Game.objects.values_list("reason"))
    return candidate


def test_an_honest_game_is_played_again_and_equal(run: Run, played: Network) -> None:
    assert replay_task() == 1
    found = Replay.objects.get()
    assert (found.outcome, found.text) == ("equal", "equal: moves, values and rows are the same")
    run.refresh_from_db()
    assert run.current_network == played


def test_a_replay_with_other_roundings_is_held_against_the_networks(
    run: Run, played: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a client on another device would have played it: from the same seed, but not equal."""
    game = Game.objects.order_by("pk")[0]
    other = replays.load(Game.objects.order_by("pk")[1].sgf_file)
    again = Replayed(3, "move 3: stored aa, played again bb", other)
    monkeypatch.setattr(replays, "play_again", lambda game, folder: again)
    outcome, text = game_look(game, Networks(), np.random.default_rng(0))
    assert outcome == ReplayOutcome.CONSISTENT, text
    assert "move 3" in text
    assert "nats to chance" in text


def test_moves_by_chance_are_no_networks_moves(run: Run, played: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    game = Game.objects.order_by("pk")[0]
    values = b"0.99 0.01 0.00 9.0 v=10"
    sgf = replays.load(game.sgf_file)
    parts = sgf.split(b"C[")
    claimed = (
        parts[0]
        + b"C["
        + b"C[".join(values + part[part.index(b"]") :] if b" v=" in part.split(b"]")[0] else part for part in parts[1:])
    )
    monkeypatch.setattr(replays, "play_again", lambda game, folder: Replayed(3, "move 1: another", b""))
    monkeypatch.setattr(replays, "load", lambda name: claimed)
    outcome, text = game_look(game, Networks(), np.random.default_rng(0))
    assert outcome == ReplayOutcome.DIFFERENT, text


def test_a_gate_that_katagos_client_plays_alone_does_not_stall(
    client: Client, anna: Contributor, run: Run, tmp_path: Path
) -> None:
    """Its games have no seed, so they are held against their networks."""
    Run.objects.update(gate_games=2, gate_replays=2, gate_login_share=1.0, promotion_rule=PromotionRule.GATE)
    candidate = real_candidate(run, tmp_path)
    Network.objects.update(suits_katago_client=True)
    answer = ask(client, anna, agent=KATAGO, task_rep_factor="2").json()
    job = Job.objects.order_by("-pk")[0]
    assert (answer["kind"], job.seed) == ("rating", None)
    colour = "B" if job.black_network == candidate else "W"
    for number in range(2):
        form = game_form(job, winner=colour, job_id=None, job_token=None)
        form = {name: value for name, value in form.items() if value is not None}
        assert upload(client, anna, form, agent=KATAGO).status_code == 201, number
    games_audit(accept, limit=5)
    assert look_at_all() == 2
    assert set(Replay.objects.values_list("outcome", flat=True)) == {"consistent"}
    candidate.refresh_from_db()
    assert candidate.state == NetworkState.ACCEPTED
