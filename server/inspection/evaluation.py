"""Evaluating rows of games again with the networks that the games name. Imports torch: only a worker does.

Each game stands alone: what breaks one leaves the others their verdicts.
"""

from __future__ import annotations

import logging
import tempfile
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from django.db import InterfaceError, OperationalError

from common import wire
from common.audit_rows import is_side_row
from common.game_record import moves_of, start_of
from common.parameters import parse_selfplay
from common.precision import Precision
from common.replay import replay
from common.rows import GlobalTarget, Rows, read_npz
from common.sgf import read
from nets.evaluation.batch import Evaluator
from nets.evaluation.evaluator import load_evaluator
from server.games.models import Game
from server.games.rechecks import MAX_TRIES, Rechecked, recheck_done, recheck_given_up, rechecks_claim
from server.inspection.agreement import Agreement, ask, compare
from server.inspection.verdicts import game_conclude
from server.networks.models import Network
from server.storage import load
from server.trust import figures

logger = logging.getLogger(__name__)

KEPT_NETWORKS: Final = 3
"""Networks that stay loaded."""


class Networks:
    """Evaluators of networks in float32, the last few of them kept."""

    def __init__(self, kept: int = KEPT_NETWORKS) -> None:
        self._kept = kept
        self._loaded: OrderedDict[tuple[int, int], Evaluator] = OrderedDict()

    def evaluator(self, network: Network, length: int) -> Evaluator:
        """The evaluator of a network for tensors of edge ``length``; errors as `load_evaluator`, and `OSError`."""
        key = network.pk, length
        if key not in self._loaded:
            while len(self._loaded) >= self._kept:
                self._loaded.popitem(last=False)[1].close()
            self._loaded[key] = _load(network, length)
        self._loaded.move_to_end(key)
        return self._loaded[key]

    def close(self) -> None:
        """Free them all."""
        while self._loaded:
            self._loaded.popitem()[1].close()


def _load(network: Network, length: int) -> Evaluator:
    if network.is_random:
        return load_evaluator(None, length=length)
    with tempfile.TemporaryDirectory(prefix="tengen-recheck-") as folder:
        path = Path(folder) / "network.bin.gz"
        path.write_bytes(load(network.file))
        return load_evaluator(path, length=length, precision=Precision.FLOAT32)


def rechecks_run(networks: Networks, limit: int) -> int:
    """Evaluate rows of up to ``limit`` games that were drawn; returns how many games were claimed."""
    claimed = rechecks_claim(limit)
    for recheck in claimed:
        try:
            game = recheck.game
            found = recheck_game(game, networks, np.random.default_rng())
            recheck_done(recheck, found)
            game_conclude(recheck)
        except (OperationalError, InterfaceError):
            raise  # the database is away; the games are claimed again
        except Exception as error:
            logger.exception("rows of game %s cannot be evaluated again", recheck.game.uid)
            if recheck.tries + 1 >= MAX_TRIES:
                recheck_given_up(recheck, f"its rows could not be evaluated again: {error}")
    return len(claimed)


def recheck_game(game: Game, networks: Networks, random: np.random.Generator) -> Rechecked:
    """What its networks say of some rows of a training game; ``game`` has its run, network and job loaded."""
    rows = read_npz(load(game.rows_file), length=game.run.data_board_len)
    drawn = np.sort(random.choice(rows.count, min(rows.count, game.run.recheck_rows), replace=False))
    sample = rows.take(drawn)
    legal = legal_moves(load(game.sgf_file), sample)
    own = networks_of(game)
    texts = (parse_selfplay(text, to_be_played=False) for text in game.job.configs_of(game.job_number))
    ways = dict.fromkeys(text.search.root_policy_optimism for text in texts)
    found = [_agreement(sample, legal, own, networks, optimism) for optimism in ways]
    agreement = min(found, key=lambda each: int(each.misfits().sum()))  # which of the texts, the game may not tell
    return Rechecked(
        rows=sample.count,
        misfits=int(agreement.misfits().sum()),
        text=_text(sample, agreement, ", ".join(network.name for network in own)),
        figures=_figures(agreement),
    )


def networks_of(game: Game) -> list[Network]:
    """The networks by which a game was played, in their order; its audit has held them against its record."""
    names = [name for _, name in game.net_changes]
    known = {network.name: network for network in Network.objects.filter(name__in=names)}
    return [game.black_network, *(known[name] for name in names)]


def _agreement(
    rows: Rows, legal: npt.NDArray[np.int8], own: Sequence[Network], networks: Networks, optimism: float
) -> Agreement:
    """How rows go with what their networks say: each with that which it counts from the end of ``own``."""
    of_row = len(own) - 1 - rows.global_targets[:, GlobalTarget.NET_CHANGES_AFTER].astype(np.intp)
    whole = Agreement(*(np.empty(rows.count) for _ in Agreement._fields))
    for number in np.unique(of_row):
        where = np.flatnonzero(of_row == number)
        part, evaluator = rows.take(where), networks.evaluator(own[number], rows.length)
        for column, values in zip(whole, compare(part, ask(evaluator, part, legal[where], optimism)), strict=True):
            column[where] = values
    return whole


def legal_moves(sgf: bytes, rows: Rows) -> npt.NDArray[np.int8]:
    """The legal moves ``[k, P]`` of main rows, by playing their game again; 0 everywhere in side rows.

    The game has passed its audit, so its record can be read and played.
    """
    record = read(sgf, max_bytes=wire.MAX_SGF_BYTES)
    main = ~is_side_row(rows)
    turns = rows.global_targets[:, GlobalTarget.TURN].astype(np.intp)
    found = np.zeros((rows.count, rows.length**2 + 1), np.int8)
    if main.any():
        moves = moves_of(record)
        colours, points = [colour for colour, _ in moves], [point for _, point in moves]
        wanted = np.unique(turns[main])
        game = replay(start_of(record), colours, points, length=rows.length, legal_turns=wanted)
        found[main] = game.legal[turns[main]]
    return found


def _text(rows: Rows, agreement: Agreement, network: str) -> str:
    """What was found, in one sentence."""
    misfits = agreement.misfits()
    if not misfits.any():
        return f"{rows.count} rows agree with {network}"
    row = int(np.argmax(misfits))
    told = rows.global_targets[row]
    return (
        f"{int(misfits.sum())} of {rows.count} rows are not what the network {network} says of their positions; at "
        f"turn {told[GlobalTarget.TURN]:g} they tell a win - loss of {told[GlobalTarget.NET_WIN_LOSS]:.3f}, a score "
        f"of {told[GlobalTarget.NET_SCORE_MEAN]:.2f} and an entropy of {told[GlobalTarget.NET_POLICY_ENTROPY]:.2f}, "
        f"which lie {agreement.win_loss_excess[row]:.3f}, {max(agreement.score_excess[row], 0.0):.2f} and "
        f"{agreement.entropy_excess[row]:.2f} outside of what it says in any orientation; its search's values lie "
        f"{agreement.q_gap[row]:.2f} beside those of its moves, and {agreement.unsearched[row]:.0%} of its policy is "
        "on moves without visits"
    )


_MOST_DIVERGENCE: Final = 5.0
"""A divergence above it counts as this one."""


def _figures(agreement: Agreement) -> dict[str, float]:
    """A game's figures; those that its rows do not have are left out."""
    values = {
        figures.MISFITS: agreement.misfits().astype(np.float64),
        figures.DIVERGENCE: np.minimum(agreement.divergence, _MOST_DIVERGENCE),
        figures.SCORE_SHIFT: agreement.score_shift,
        figures.SHIFT: agreement.shift,
        figures.PREFERENCE: agreement.preference,
    }
    return {name: float(np.nanmean(value)) for name, value in values.items() if not np.isnan(value).all()}
