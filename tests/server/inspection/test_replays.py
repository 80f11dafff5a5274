"""Games of a gate that are looked at once more before its candidate is promoted."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.utils import timezone

from client.contribute.job_orders import orders_of
from client.contribute.messages import Job as ClientJob
from client.contribute.newest_nets import NewestNets
from client.contribute.uploads import upload_parts
from client.games.orders import FinishedGame
from client.networks import evaluator_loader
from common import wire
from common.files import sum_of
from common.game_record import start_of
from common.go.game import Game as Game9
from common.go.points import BLACK, PASS, WHITE, x_of, y_of
from common.precision import Precision
from common.sgf import read
from common.sgf_record import GameRecord, MoveValues
from nets.evaluation.evaluator import load_evaluator
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
from server.inspection.match_agreement import MatchView, match_view, searched_turns
from server.inspection.replays import game_look, replays_run
from server.inspection.tasks import replay as replay_task
from server.jobs.models import Job
from server.networks.models import Network, NetworkState
from server.networks.services import ModelFile, NewNetwork
from server.runs.models import Run
from server.storage import load
from server.trust.models import Alarm, Standing, Trust
from tests import FIXTURES
from tests.client.games.games import match_text, play
from tests.common.katago_games import katago_uploads
from tests.oracles import oracle_path
from tests.server.factories import FAULT, KATAGO, accept, ask, game_form, make_contributor, make_network, upload
from tests.server.gates.test_gates import play_match

pytestmark = pytest.mark.django_db

ITS_NETWORK = "nets/g170-b6c96-s175395328-d26788732.bin.gz"
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


SEED = 20
_games_of: dict[tuple[str, str, int], list[FinishedGame]] = {}
"""Of a job with `SEED`, by its networks and their number: each test's are the same."""


def play_gate(client: Client, anna: Contributor, candidate: Network, games: int) -> None:
    """Have our client play a job of the gate, as if `SEED` had been drawn for it, and upload its games."""
    task = wire.read_task(ask(client, anna, task_rep_factor=str(games)).content)
    assert isinstance(task, wire.RatingTask)
    assert task.seed is not None
    Job.objects.update(seed=SEED)
    pair = task.black_network.name, task.white_network.name
    orders = orders_of(
        ClientJob(task, {name: NET if name == candidate.name else None for name in pair}, games, SEED, length=7)
    )
    if (*pair, games) not in _games_of:
        _games_of[*pair, games] = list(play(orders, load=evaluator_loader("cpu", 1, Precision.FLOAT32)))
    by_seed = {order.seed: order for order in orders}
    for game in _games_of[*pair, games]:
        order = by_seed[game.order.seed]
        form, parts = upload_parts(dataclasses.replace(game, order=order), order, NewestNets().url)
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


def looked_at(monkeypatch: pytest.MonkeyPatch, again: Replayed, *views: MatchView) -> replays.Look:
    """The look at a game whose replay is ``again``; with ``views`` said of it and of the replay."""
    game = Game.objects.select_related("job", "run").order_by("pk")[0]
    monkeypatch.setattr(replays, "play_again", lambda game, folder, use_fp16, seed: again)
    if views:
        said = iter(views)
        monkeypatch.setattr(replays, "match_view", lambda *arguments: next(said))
    return game_look(game, Networks(), np.random.default_rng(0))


def test_a_game_in_the_other_precision_is_equal_too(played: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    game = Game.objects.select_related("job", "run").order_by("pk")[0]
    codes = {Precision.FLOAT32: 3, Precision.SIXTEEN_BIT: 0}
    monkeypatch.setattr(
        replays, "play_again", lambda game, folder, use_fp16, seed: Replayed(codes[use_fp16], str(use_fp16), b"")
    )
    assert game_look(game, Networks(), np.random.default_rng(0)) == (ReplayOutcome.EQUAL, "true")


def test_a_replay_with_other_roundings_is_held_against_the_networks(
    run: Run, played: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a client on another device would have played it: from the same seed, but not equal."""
    stored = load(Game.objects.order_by("pk")[0].sgf_file)
    outcome, text = looked_at(monkeypatch, Replayed(3, "move 3: stored aa, played again bb", stored))
    assert outcome == ReplayOutcome.CONSISTENT, text
    assert text.startswith("move 3: stored aa")
    assert "nats to chance" in text
    assert "in a game of ours" in text


KNOWING, CHANCE = MatchView(20, 2.5, 0.1), MatchView(20, -3.0, 0.1)
WILD = MatchView(20, 0.01, 1.5)


@pytest.mark.parametrize(
    ("view", "own", "outcome"),
    [
        (KNOWING, KNOWING, ReplayOutcome.CONSISTENT),
        (CHANCE, KNOWING, ReplayOutcome.DIFFERENT),
        (MatchView(20, 2.5, 0.7), KNOWING, ReplayOutcome.DIFFERENT),
        (WILD, WILD, ReplayOutcome.CONSISTENT),
        (MatchView(0, 0.0, 0.0), MatchView(0, 0.0, 0.0), ReplayOutcome.CONSISTENT),
    ],
)
def test_what_the_networks_say_of_a_game_of_ours_is_the_measure(
    played: Network, monkeypatch: pytest.MonkeyPatch, view: MatchView, own: MatchView, outcome: ReplayOutcome
) -> None:
    stored = load(Game.objects.order_by("pk")[0].sgf_file)
    assert looked_at(monkeypatch, Replayed(3, "move 1: another", stored), view, own)[0] == outcome


def test_without_a_game_of_ours_nobody_is_accused(played: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    assert looked_at(monkeypatch, Replayed(None, "not over", b""), WILD)[0] == ReplayOutcome.UNKNOWN
    assert looked_at(monkeypatch, Replayed(2, "", b""), KNOWING)[0] == ReplayOutcome.CONSISTENT


def test_values_that_no_rounding_makes_are_not_the_games(
    run: Run, played: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = load(Game.objects.order_by("pk")[0].sgf_file).decode()
    values = [move.values for move in read(stored).moves if move.values is not None]
    text = stored
    for value in values:
        other = dataclasses.replace(value, win=float(value.win < 0.5), loss=float(value.win >= 0.5))
        text = text.replace(value.to_text(), other.to_text(), 1)
    outcome, said = looked_at(monkeypatch, Replayed(3, "move 1: another", text.encode()), KNOWING, KNOWING)
    assert outcome == ReplayOutcome.DIFFERENT, said


def test_moves_of_katago_are_those_of_its_network() -> None:
    """And moves by chance are not, whatever the values beside them."""
    evaluator = load_evaluator(oracle_path(ITS_NETWORK), length=9, precision=Precision.FLOAT32)
    sides, chance = {BLACK: evaluator, WHITE: evaluator}, np.random.default_rng(3)
    for game in katago_uploads("clean")[:2]:
        record = read(game.sgf)
        view = match_view(record, sides, searched_turns(record), 9)
        assert view.holds(None), view
        turned = [
            move if move.values is None else dataclasses.replace(move, values=_turned(move.values))
            for move in record.moves
        ]
        lied = match_view(dataclasses.replace(record, moves=tuple(turned)), sides, searched_turns(record), 9)
        assert lied.gap > view.gap, "values of the other side"
        assert lied.preference == view.preference
        by_chance = _played_by_chance(record, chance)
        found = match_view(by_chance, sides, searched_turns(by_chance), 9)
        assert found.preference < 0.0, found
        assert not found.holds(view)


def _turned(values: MoveValues) -> MoveValues:
    return dataclasses.replace(values, win=values.loss, loss=values.win)


def _played_by_chance(record: GameRecord, chance: np.random.Generator) -> GameRecord:
    """A game of the same set-up with legal moves by chance, and the values of the record."""
    game, moves = Game9(start_of(record)), []
    for move in record.moves[:30]:
        legal = [point for point in game.legal_moves() if point != PASS]
        if not legal or game.finished or game.to_move != move.colour:
            break
        point = legal[int(chance.integers(len(legal)))]
        game.play(point)
        moves.append(dataclasses.replace(move, at=(int(x_of(point)), int(y_of(point))), is_pass_for_ko=False))
    return dataclasses.replace(record, moves=tuple(moves))


@pytest.mark.usefixtures("client_in_this_process")
def test_a_gate_that_katagos_client_plays_alone_does_not_stall(
    client: Client, anna: Contributor, run: Run, tmp_path: Path
) -> None:
    """Its games have no seed, so they are held against their networks."""
    text = match_text(bSizes=5, bSizeRelProbs=1)
    Run.objects.update(gating_config=text, gate_games=2, gate_replays=1, gate_login_share=1.0)
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
    assert look_at_all() == 1
    assert Replay.objects.get().outcome == "consistent"
    candidate.refresh_from_db()
    assert candidate.state == NetworkState.ACCEPTED
