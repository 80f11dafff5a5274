"""The whole circle on real input: a run that begins with KataGo's g170 b6c96, on 9x9, 13x13 and 19x19.

One installation serves all tests of this file; each goes on from where the one before left it. Minutes of play, so it
is slow; the net is in the oracle folder. Visits are few, everything else is what the shipped texts draw.
"""

from __future__ import annotations

import hashlib
import json
import urllib.request
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from common.rows import Rows, read_npz
from tests.e2e.system import System, running_system
from tests.katago import ask_katago, ask_tengen, assert_same_outputs, block, katago_program, positions
from tests.oracles import oracle_path

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PATIENCE_S = 1500.0
NET = "nets/g170-b6c96-s175395328-d26788732.bin.gz"
SIZES = (9, 13, 19)
TRAINING = {
    "recipe": "paper",
    "batch": 16,
    "shard_rows": 40,
    "slice_seconds": 5,
    "limit_reuse": True,
    "window": {"min_rows": 40},
    "bucket": {"samples_per_epoch": 64, "max_train_bucket_per_new_data": 0.5},
    "averaging": {"period_samples": 32},
    "optimizer": {"rate_scale": 0.1},
}
SELFPLAY = "bSizes = 9,13,19\nbSizeRelProbs = 1,1,1\nmaxVisits = 8\ncheapSearchVisits = 4\nreducedVisitsMin = 4\n"
GATING = "bSizes = 9\nbSizeRelProbs = 1\nmaxVisits = 4\n"
PLAYERS = "from games_game g join networks_network n on n.id in (g.black_network_id, g.white_network_id)"
COUNTED = "from games_game where kind = 'training' and state = 'counted'"


@pytest.fixture(scope="module")
def system() -> Iterator[System]:
    net = oracle_path(NET)
    with running_system(
        "real",
        *("--data-board-len", "19", "--architecture", "b6c96", "--lease-seconds", "900", "--gate-games", "2"),
        texts="9-19",
        selfplay=SELFPLAY,
        gating=GATING,
        training=TRAINING,
        patience_s=PATIENCE_S,
    ) as running:
        running.installation.manage("add_network", "real", str(net), "--seed")
        running.start_server()
        running.start_client(games=4)
        yield running


@pytest.fixture(scope="module")
def candidate(system: System, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first network that came out of training, as anybody can download it."""
    name, sha256 = system.ask(
        "select name, file_sha256 from networks_network where train_step > 0 order by train_step limit 1"
    )[0]
    with urllib.request.urlopen(f"{system.installation.url}/api/networks/{name}/", timeout=60) as answer:
        url = json.load(answer)["model_file"]
    with urllib.request.urlopen(url, timeout=60) as answer:
        content = answer.read()
    assert hashlib.sha256(content).hexdigest() == sha256
    path = tmp_path_factory.mktemp("candidate") / f"{name}.bin.gz"
    path.write_bytes(content)
    return path


def test_games_of_every_size_are_accepted(system: System) -> None:
    def all_sizes() -> bool:
        sizes = {size for (size,) in system.ask(f"select distinct board_size_x {COUNTED}")}
        return sizes == set(SIZES) and system.one(f"select count(distinct rules) {COUNTED}") >= 2

    system.wait_until(all_sizes, "games of each size under more than one set of rules")
    assert system.ask("select uid, reason from games_game where state = 'refused'") == []
    networks = system.ask(f"select distinct n.name {PLAYERS}")
    assert "real-random" not in {name for (name,) in networks}


def test_rows_of_smaller_boards_are_padded(system: System) -> None:
    found = set()
    for size, file, count in system.ask(f"select board_size_x, rows_file, num_training_rows {COUNTED}"):
        if count:
            rows: Rows = read_npz((system.files / file).read_bytes(), length=19)
            assert rows.count == count
            assert (rows.planes()[:, 0].sum((1, 2)) == size * size).all()
            found.add(size)
    assert found == set(SIZES)


def test_a_training_step_makes_a_candidate_that_plays_its_gate(system: System) -> None:
    system.wait_until(
        lambda: (
            system.one(
                f"select count(*) {PLAYERS} where g.kind = 'rating' and g.state = 'counted' and n.train_step > 0"
            )
            >= 1
        ),
        "a match game of a trained network",
    )
    assert system.ask("select reason from games_game where state = 'refused'") == []
    assert system.ask("select trouble from training_trainingstate") == [("",)]
    (losses,) = system.ask("select losses from training_trainingmetric order by samples limit 1")[0]
    assert 0 < losses["policy"] < 4  # a net that knows nothing begins at log(362) = 5.9 on 19x19


def test_the_candidate_loads_again_and_is_the_seed_a_few_steps_on(candidate: Path) -> None:
    asked = positions()[-3:]
    moved = []
    for own, before in zip(ask_tengen(candidate, asked), ask_tengen(oracle_path(NET), asked), strict=True):
        after, former = (list(chain(*block(text)["policy"])) for text in (own, before))
        moved += [abs(one - other) for one, other in zip(after, former, strict=True) if one == one]
    assert len(moved) > 700
    assert 1e-6 < max(moved) < 0.5


def test_katago_says_the_same_of_the_candidate(candidate: Path) -> None:
    program = katago_program()
    asked = positions()
    for own, katagos in zip(ask_tengen(candidate, asked), ask_katago(program, candidate, asked), strict=True):
        assert_same_outputs(own, katagos)
