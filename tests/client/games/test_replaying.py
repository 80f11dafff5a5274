"""A stored game is played again: equal where nothing was changed, and else the place where it differs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from client.contribute.job_orders import JobOrder, orders_of
from client.contribute.messages import Job
from client.contribute.newest_nets import NewestNets
from client.contribute.uploads import upload_parts
from client.games.orders import FinishedGame
from client.games.replaying import CannotReplay, differences, order_of, play_again
from client.games.starts import Fork
from client.networks import Network
from common.rows import read_npz
from common.stored_game import StoredGame, StoredNetwork
from common.wire_uploads import ForkOrigin
from nets.evaluation.batch import Evaluator
from tests.client.contribute.jobs import POSITION, rating_job, selfplay_job
from tests.client.games.evaluators import OpinionatedEvaluator
from tests.client.games.games import LENGTH, match_text, play, selfplay_text


def load(network: Network, length: int) -> Evaluator:
    """The evaluator that the games are played with."""
    return OpinionatedEvaluator(length)


def stored_as(game: FinishedGame, job: Job, **changes: Any) -> tuple[StoredGame, bytes]:
    """What a server keeps of a game."""
    order = game.order
    assert isinstance(order, JobOrder)
    fields, _ = upload_parts(game, order, NewestNets().url)
    fork = fields.get("fork")
    facts: dict[str, Any] = {
        "kind": order.kind.upload,
        "job_seed": job.seed,
        "job_number": order.number,
        "config": order.config,
        "length": LENGTH,
        "black": StoredNetwork(name=order.black.name, file=None),
        "white": StoredNetwork(name=order.white.name, file=None),
        "start": None if isinstance(order.start, Fork) else order.start,
        "fork": None if fork is None else ForkOrigin.from_json(fork),
    }
    return StoredGame(**facts | changes), game.sgf.encode()


def again(stored: StoredGame, sgf: bytes, game: FinishedGame) -> list[str]:
    """Where the game and its replay differ."""
    return differences(sgf, game.rows, play_again(order_of(stored, Path(), sgf), load))


@pytest.mark.parametrize("kind", ["selfplay", "match", "position"])
def test_games_are_equal_when_played_again(kind: str) -> None:
    if kind == "match":
        job = rating_job(match_text(), 3)
    elif kind == "position":
        job = selfplay_job(selfplay_text(bSizes=5, bSizeRelProbs=1), 2, start_poses=[POSITION])
    else:
        job = selfplay_job(selfplay_text(), 3)
    for game in play(orders_of(job), games=3):
        stored, sgf = stored_as(game, job)
        assert again(stored, sgf, game) == []


def test_what_was_changed_is_told() -> None:
    job = selfplay_job(selfplay_text(cheapSearchProb=0), 1)
    (game,) = play(orders_of(job))
    assert game.rows is not None
    for changes, words in (
        ({"job_seed": 3}, "the root comment"),
        ({"job_number": 1}, "the root comment"),
        ({"config": selfplay_text(cheapSearchProb=0, maxVisits=6)}, "move "),
    ):
        found = again(*stored_as(game, job, **changes), game)
        assert any(words in line for line in found), found
    stored, sgf = stored_as(game, job)
    played = play_again(order_of(stored, Path(), sgf), load)
    assert differences(sgf.replace(b"v=10", b"v=11", 1), game.rows, played) != []
    rows = replace(game.rows, policy_targets=game.rows.policy_targets.copy())
    rows.policy_targets[-1, 0, 0] += 1
    assert differences(sgf, rows, played) == [f"rows: policyTargetsNCMove differs from row {rows.count - 1} on"]
    assert differences(sgf, None, played) == [f"rows: stored 0, played again {game.rows.count}"]


def test_games_that_go_on_with_others_are_equal_too() -> None:
    job = selfplay_job(selfplay_text(earlyForkGameProb=0.5, earlyForkGameExpectedMoveProp=0.1), 20)
    *orders, last = orders_of(job)
    parent = next(game for game in play(orders) if game.forks)
    (game,) = play([replace(last, start=parent.forks[0])])
    stored, sgf = stored_as(game, job)
    assert stored.fork is not None
    assert again(stored, sgf, game) == []
    without, _ = stored_as(game, job, fork=None)
    assert again(without, sgf, game) != []


def test_a_fork_whose_record_begins_later_cannot_be_played_again() -> None:
    job = selfplay_job(selfplay_text(), 1)
    (game,) = play(orders_of(job))
    fork = ForkOrigin(kind="seki", komi=6.5, training_weight=1.0)
    stored, sgf = stored_as(game, job, fork=fork)
    with pytest.raises(CannotReplay, match="clean-up phase"):
        order_of(stored, Path(), sgf.replace(b"gtype=normal", b"gtype=cleanuptraining"))


def test_a_folder_holds_all_of_a_game(tmp_path: Path) -> None:
    job = selfplay_job(selfplay_text(cheapSearchProb=0), 1, start_poses=[POSITION])
    (game,) = play(orders_of(job))
    assert isinstance(game.order, JobOrder)
    stored, sgf = stored_as(game, job)
    _, files = upload_parts(game, game.order, NewestNets().url)
    stored.write(tmp_path, sgf, files["training_data_file"][1])
    read, sgf_again, rows = StoredGame.read(tmp_path)
    assert (read, sgf_again) == (stored, sgf)
    assert rows is not None
    assert game.rows is not None
    assert read_npz(rows).count == game.rows.count
