"""Ways to cheat, each with what stops it or what raises an alarm after how many games (docs/trust-audit.md).

Over games that a real KataGo played with the network of the oracles, and against this network itself.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from django.test import Client

from common.files import sum_of
from common.go.rules import Scoring
from common.precision import Precision
from common.rows import GlobalTarget, PolicyTarget, QTarget, Rows, to_npz
from nets.evaluation.batch import Evaluator
from nets.evaluation.evaluator import load_evaluator
from server.accounts.models import Contributor
from server.games.models import Decided, Game, GameState, Recheck
from server.games.tasks import audit_pending
from server.inspection.agreement import Agreement, NetView, ask, compare
from server.inspection.evaluation import Networks, legal_moves, rechecks_run
from server.inspection.verdicts import is_of_another_network
from server.jobs.models import Job
from server.networks.models import Network
from server.networks.services import ModelFile, NewNetwork, seed_register
from server.runs.models import Run
from server.trust.differences import LEAST_EFFECT, MOST_DEVIATIONS
from server.trust.models import Alarm, Standing, Trust
from tests import FIXTURES
from tests.common.katago_games import SELFPLAY_TEXTS, Upload, katago_uploads, selfplay_text
from tests.oracles import oracle_path
from tests.server.factories import KATAGO, make_run, upload_training
from tests.server.factories import ask as ask_for_job
from tests.server.games.test_real_games import form_of

G = GlobalTarget
ITS_NETWORK: Final = "nets/g170-b6c96-s175395328-d26788732.bin.gz"
ANOTHER: Final = FIXTURES / "nets" / "mini-v10-fixup.bin.gz"
ROWS: Final = 8
"""Of a game that are evaluated again."""

Lie = Callable[[Rows, NetView], Rows]


# ------------------------------------------------------------------------------------------------- lies about searches


def as_it_was(rows: Rows, view: NetView) -> Rows:
    """No lie."""
    return rows


def invented_columns(rows: Rows, view: NetView) -> Rows:
    """Numbers of the network that are made up, within what any network says."""
    columns, random = rows.global_targets.copy(), np.random.default_rng(7)
    columns[:, G.NET_WIN_LOSS] = random.uniform(-1, 1, rows.count)
    columns[:, G.NET_SCORE_MEAN] = random.uniform(-10, 10, rows.count)
    columns[:, G.NET_POLICY_ENTROPY] = random.uniform(0, 4, rows.count)
    return replace(rows, global_targets=columns)


def policy_on_the_pass(rows: Rows, view: NetView) -> Rows:
    """All weight on the pass, which the search did not visit."""
    policies, values = rows.policy_targets.copy(), rows.q_values.copy()
    policies[:, PolicyTarget.OWN] = 0
    policies[:, PolicyTarget.OWN, -1] = 1000
    values[:, :, -1] = 0
    return replace(rows, policy_targets=policies, q_values=values)


def inverted_policy(rows: Rows, view: NetView) -> Rows:
    """The moves that the search liked least have most weight; only searched moves have some."""
    policies = rows.policy_targets.copy()
    own = policies[:, PolicyTarget.OWN]
    policies[:, PolicyTarget.OWN] = np.where(own > 0, own.max(axis=1, keepdims=True) + 1 - own, 0)
    return replace(rows, policy_targets=policies)


def random_policy(rows: Rows, view: NetView) -> Rows:
    """One legal move at random has all weight, and visits."""
    random = np.random.default_rng(8)
    policies, values = rows.policy_targets.copy(), rows.q_values.copy()
    for row in range(rows.count):
        move = random.choice(np.flatnonzero(view.policy[row, 0] > 0))
        policies[row, PolicyTarget.OWN] = 0
        policies[row, PolicyTarget.OWN, move] = 1000
        values[row, QTarget.VISITS, move] = max(1, values[row, QTarget.VISITS, move])
    return replace(rows, policy_targets=policies, q_values=values)


def no_search(rows: Rows, view: NetView) -> Rows:
    """The network's own policy and value instead of a search's."""
    policies, values, columns = rows.policy_targets.copy(), rows.q_values.copy(), rows.global_targets.copy()
    policies[:, PolicyTarget.OWN] = np.round(view.policy[:, 0] * 1000)
    values[:, QTarget.VISITS] = np.round(view.policy[:, 0] * 1000)
    own = columns[:, G.NET_WIN_LOSS]
    values[:, QTarget.WIN_LOSS] = np.where(values[:, QTarget.VISITS] > 0, np.round(own * 32000)[:, np.newaxis], 0)
    columns[:, G.SEARCH_WIN], columns[:, G.SEARCH_LOSS] = (1 + own) / 2, (1 - own) / 2
    return replace(rows, policy_targets=policies, q_values=values, global_targets=columns)


def negated_values(rows: Rows, view: NetView) -> Rows:
    """Each move is told to be as bad as it is good."""
    values = rows.q_values.copy()
    values[:, QTarget.WIN_LOSS] *= -1
    return replace(rows, q_values=values)


def won_for_certain(rows: Rows, view: NetView) -> Rows:
    """The player to move wins in each search, by each of its moves."""
    values, columns = rows.q_values.copy(), rows.global_targets.copy()
    columns[:, G.SEARCH_WIN], columns[:, G.SEARCH_LOSS], columns[:, G.SEARCH_NO_RESULT] = 1, 0, 0
    values[:, QTarget.WIN_LOSS] = np.where(values[:, QTarget.VISITS] > 0, 32000, 0)
    return replace(rows, q_values=values, global_targets=columns)


def far_scores(rows: Rows, view: NetView) -> Rows:
    """Each search, and each of its moves, is worth 40 points more."""
    values, columns = rows.q_values.copy(), rows.global_targets.copy()
    columns[:, G.SEARCH_SCORE] += 40
    values[:, QTarget.SCORE] += np.where(values[:, QTarget.VISITS] > 0, 40 * 60, 0).astype(np.int16)
    return replace(rows, q_values=values, global_targets=columns)


@dataclass(frozen=True)
class Caught:
    """What gives a lie away."""

    share: float = 0.0
    """Of the games that are refused, at least."""
    figure: str = ""
    """Else, what differs from honest games, …"""
    games: int = 0
    """… and after how many games that were evaluated again there is an alarm."""


LIES: Final[dict[str, tuple[Lie, Caught]]] = {
    "numbers of the network invented": (invented_columns, Caught(share=0.9)),
    "policy on a move without visits": (policy_on_the_pass, Caught(share=0.9)),
    "policy inverted": (inverted_policy, Caught(figure="divergence", games=16)),
    "policy of random moves": (random_policy, Caught(figure="divergence", games=16)),
    "no search, the network's own answer": (no_search, Caught(figure="divergence", games=16)),
    "every search won for certain": (won_for_certain, Caught(figure="shift", games=16)),
    "scores of searches 40 points off": (far_scores, Caught(figure="score_shift", games=16)),
    "values of moves negated": (negated_values, Caught(share=0.9)),
}


@functools.cache
def evaluator_of(file: Path, length: int) -> Evaluator:
    return load_evaluator(file, length=length, precision=Precision.FLOAT32)


@functools.cache
def games() -> tuple[tuple[Rows, NetView], ...]:
    """Some rows of each game, and what its network says of them."""
    found = []
    for game in katago_uploads("clean"):
        rows = game.rows.take(slice(0, None, max(1, game.rows.count // ROWS)))
        evaluator = evaluator_of(oracle_path(ITS_NETWORK), rows.length)
        found.append((rows, ask(evaluator, rows, legal_moves(game.sgf.encode(), rows))))
    return tuple(found)


def agreements(lie: Lie) -> list[Agreement]:
    return [compare(lie(rows, view), view) for rows, view in games()]


def refused_share(found: list[Agreement]) -> float:
    judged = [is_of_another_network(len(one.shift), int(one.misfits().sum())) for one in found]
    return sum(judged) / len(judged)


def test_honest_games_agree_to_the_last_digits() -> None:
    found = agreements(as_it_was)
    assert len(found) >= 10
    for one in found:
        assert not one.misfits().any()
        assert one.win_loss_excess.max() < 1e-4
        assert one.entropy_excess.max() < 1e-4


@pytest.mark.parametrize("name", LIES)
def test_lies_about_searches(name: str) -> None:
    lie, caught = LIES[name]
    found = agreements(lie)
    if caught.share:
        assert refused_share(found) >= caught.share
        return
    honest = np.array([np.nanmean(getattr(one, caught.figure)) for one in agreements(as_it_was)])
    told = np.array([np.nanmean(getattr(one, caught.figure)) for one in found])
    effect = abs(told.mean() - honest.mean()) / honest.std(ddof=1)
    assert effect > LEAST_EFFECT
    assert effect * np.sqrt(caught.games) > MOST_DEVIATIONS
    assert refused_share(found) < 0.9, "else the table is to say that these are refused"


def test_an_old_network_under_a_new_name_fits_no_row() -> None:
    for game in katago_uploads("clean")[:4]:
        rows = game.rows.take(slice(0, ROWS))
        view = ask(evaluator_of(ANOTHER, rows.length), rows, legal_moves(game.sgf.encode(), rows))
        assert compare(rows, view).misfits().mean() > 0.8


# ------------------------------------------------------------------------------------- the whole way, over HTTP


def network_of(run: Run, file: Path, folder: Path) -> Network:
    """A network of a run whose file is this one."""
    path = shutil.copy(file, folder / "network.bin.gz")
    model = ModelFile(Path(path), "its-own-name", "b6c96", 8, *sum_of(Path(path)))
    return seed_register(NewNetwork(run=run, name=f"{run.name}-new", model=model))


def send(client: Client, anna: Contributor, run: Run, network: Network, uploads: list[Upload]) -> None:
    job = Job.objects.get(
        pk=ask_for_job(client, anna, agent=KATAGO, task_rep_factor=str(len(uploads))).json()["job_id"]
    )
    for game in uploads:
        sgf = game.sgf.replace(game.facts.black_network, network.name).encode()
        answer = upload_training(client, anna, form_of(game, job), sgf=sgf, rows=to_npz(game.rows), agent=KATAGO)
        assert answer.status_code == 201, answer.content
    audit_pending()


@pytest.mark.django_db
@pytest.mark.parametrize("is_honest", [True, False])
def test_games_of_another_network_are_refused_and_their_login_quarantined(
    client: Client, anna: Contributor, tmp_path: Path, is_honest: bool
) -> None:
    uploads = [game for game in katago_uploads("clean") if game.facts.rules.scoring == Scoring.AREA]
    run = make_run(data_board_len=9, recheck_share=1.0, recheck_rows=ROWS, quarantines=True)
    Run.objects.update(selfplay_config=selfplay_text(SELFPLAY_TEXTS["clean"]))
    network = network_of(run, oracle_path(ITS_NETWORK) if is_honest else ANOTHER, tmp_path)
    send(client, anna, run, network, uploads)
    passed = Game.objects.filter(state=GameState.COUNTED).count()
    assert passed >= 3
    assert rechecks_run(Networks(), 100) == passed
    told = Recheck.objects.values_list("text", flat=True)
    if is_honest:
        assert all(text.endswith("rows agree with seven-new") for text in told), list(told)
        assert Game.objects.filter(state=GameState.COUNTED).count() == passed
        return
    assert set(Game.objects.values_list("state", "reason_code")) <= {
        (GameState.REFUSED, Decided.NOT_ITS_NETWORK),
        (GameState.HELD, "quarantined"),
    }
    assert Standing.objects.get().trust == Trust.QUARANTINED
    assert Alarm.objects.get().figure == "misfits"
