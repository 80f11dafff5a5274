"""What is sent of a finished game: form and files by its kind."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from client.contribute.job_orders import JobOrder, orders_of
from client.contribute.newest_nets import NewestNets
from client.contribute.uploads import UPLOAD_KINDS, upload_parts
from client.games.kinds import KINDS
from client.games.orders import NetChange
from client.networks import Network
from common.rows import read_npz
from tests.client.contribute.jobs import POSITION, network, rating_job, selfplay_job
from tests.client.games.games import match_text, play, selfplay_text

NO_OTHERS = NewestNets().url


def test_a_game_of_self_play_goes_with_its_rows() -> None:
    job = selfplay_job(selfplay_text(), 3)
    game = next(game for game in play(orders_of(job)) if game.rows is not None)
    assert game.rows is not None
    assert isinstance(game.order, JobOrder)
    fields, files = upload_parts(game, game.order, NO_OTHERS)
    uid = game.facts.uid
    assert fields["kg_game_uid"] == uid
    assert int(fields["num_training_rows"]) == game.rows.count
    assert fields["gametype"] == "normal"
    assert fields["job_id"] == "7"
    assert fields["run"] == "http://a/run/"
    assert fields["white_network"] == fields["black_network"] == "http://a/net-a/"
    assert "draw_equivalent_wins_for_white" in fields["extra_metadata"]
    assert files["sgf_file"] == (f"{uid}.sgf", game.sgf.encode())
    name, content = files["training_data_file"]
    assert name == f"{uid}.npz"
    assert read_npz(content).count == game.rows.count


def test_a_game_of_a_match_says_who_had_which_colour() -> None:
    job = rating_job(match_text(), 2)
    for game in play(orders_of(job)):
        assert isinstance(game.order, JobOrder)
        fields, files = upload_parts(game, game.order, NO_OTHERS)
        assert fields["black_network"] == f"http://a/{game.order.black.name}/"
        assert fields["white_network"] == f"http://a/{game.order.white.name}/"
        assert fields["extra_metadata"] == "{}"
        assert "job_id" not in fields
        assert "num_training_rows" not in fields
        assert list(files) == ["sgf_file"]


@pytest.mark.parametrize(("doublings", "favoured"), [(1.5, "White"), (-0.25, "Black"), (0.0, "Empty")])
def test_who_has_more_playouts_is_told_with_the_position(doublings: float, favoured: str) -> None:
    job = selfplay_job(selfplay_text(cheapSearchProb=0), 1, start_poses=[POSITION])
    (game,) = play(orders_of(job))
    assert isinstance(game.order, JobOrder)
    order = game.order
    game = replace(game, facts=replace(game.facts, white_doublings=doublings))
    extra = json.loads(upload_parts(game, order, NO_OTHERS)[0]["extra_metadata"])
    assert (extra["playout_doubling_advantage"], extra["playout_doubling_advantage_pla"]) == (abs(doublings), favoured)
    assert extra["pos_metadata"] == "book"


def test_changes_of_the_network_are_told_by_their_addresses() -> None:
    job, nets = selfplay_job(selfplay_text(cheapSearchProb=0), 1), NewestNets()
    nets.learn(selfplay_job(selfplay_text(), 1, network=network("net-b") | {"created_at": "2026-01-02T00:00:00Z"}))
    (game,) = play(orders_of(job))
    assert isinstance(game.order, JobOrder)
    assert "net_changes" not in upload_parts(game, game.order, nets.url)[0]
    changed = replace(game, net_changes=(NetChange(1, Network("net-b", None)),))
    fields = upload_parts(changed, game.order, nets.url)[0]
    assert json.loads(fields["net_changes"]) == [{"turn": 1, "network": "http://a/net-b/"}]
    assert fields["black_network"] == fields["white_network"] == "http://a/net-a/"


def test_every_kind_of_games_can_be_sent() -> None:
    assert {kind.upload for kind in KINDS} == set(UPLOAD_KINDS)
