"""Looking at match games once more before their gate's candidate is promoted. Imports torch: only a worker does.

A game of our client is played again from its seed: equal, it holds. One that differs is held against its networks
(`server.inspection.match_agreement`), with the other as the measure; so is one without a seed, with a game of ours by
the same networks and text. Each game stands alone.
"""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Final

import numpy as np
from django.db import InterfaceError, OperationalError

from common import wire
from common.arguments import MAX_SEED
from common.go.points import BLACK, WHITE
from common.precision import Precision
from common.sgf import read
from common.sgf_record import GameRecord
from server.games.models import Game, ReplayOutcome
from server.games.replaying import DIFFERENT, EQUAL, Replayed, play_again
from server.games.replays import MAX_TRIES, is_confirmed, replay_claim, replay_done, replays_draw
from server.gates.selectors import gates_to_confirm
from server.gates.services import gate_confirm
from server.inspection.evaluation import Networks
from server.inspection.match_agreement import MatchView, drift, match_view, searched_turns
from server.inspection.verdicts import replay_conclude
from server.storage import load

logger = logging.getLogger(__name__)

TURNS: Final = 32
"""Of a game, that are held against its networks."""
PRECISIONS: Final = (Precision.FLOAT32, Precision.SIXTEEN_BIT)
"""A game of a processor was played in one or the other."""
Look = tuple[ReplayOutcome, str]


def replays_run(networks: Networks) -> bool:
    """Look at one game that waits for it, and conclude the gates that wait; whether there was one."""
    replays_draw()
    replay = replay_claim()
    if replay is not None:
        try:
            outcome, text = game_look(replay.game, networks, np.random.default_rng())
        except (OperationalError, InterfaceError):
            raise  # the database is away; the game is claimed again
        except Exception as error:
            logger.exception("game %s cannot be looked at again", replay.game.uid)
            if replay.tries >= MAX_TRIES:
                replay_done(replay, ReplayOutcome.UNKNOWN, f"it could not be looked at: {error}")
        else:
            logger.info("game %s of a gate: %s", replay.game.uid, outcome)
            replay_done(replay, outcome, text)
            if outcome == ReplayOutcome.DIFFERENT:
                replay_conclude(replay)
    for gate in gates_to_confirm():
        gate_confirm(gate.pk, is_confirmed)
    return replay is not None


def game_look(game: Game, networks: Networks, random: np.random.Generator) -> Look:
    """What a further look at a match game comes to; ``game`` has its run, networks and job loaded."""
    has_seed = game.job.seed is not None and game.job_number is not None
    again = _played(game, PRECISIONS[0], None if has_seed else int(random.integers(MAX_SEED)))
    if has_seed and again.code == DIFFERENT:
        other = _played(game, PRECISIONS[1], None)
        again = other if other.code == EQUAL else again
    if has_seed and again.code == EQUAL:
        return ReplayOutcome.EQUAL, again.text
    record = read(load(game.sgf_file), max_bytes=wire.MAX_SGF_BYTES)
    own = read(again.sgf) if again.sgf else None
    found, may_be_rounding = [], True
    if has_seed:
        found.append(again.text.partition("\n")[0] or "it could not be played again")
        if own is not None:
            apart = drift(record, own)
            may_be_rounding = apart.holds
            found.append(f"values of {apart.turns} turns up to there lie {apart.distance:.3f} apart on average")
    view = _view(game, record, networks, random)
    own_view = None if own is None else _view(game, own, networks, random)
    found.append(
        f"its networks prefer {view.moves} of its moves by {view.preference:.2f} nats to chance, and its values lie "
        f"{view.gap:.3f} from theirs on average"
    )
    if own_view is not None:
        found.append(f"in a game of ours it is {own_view.preference:.2f} and {own_view.gap:.3f}")
    if may_be_rounding and view.holds(own_view):
        outcome = ReplayOutcome.CONSISTENT
    else:  # without a game of ours nobody knows how well such networks hold to what they say
        outcome = ReplayOutcome.UNKNOWN if own_view is None else ReplayOutcome.DIFFERENT
    return outcome, "; ".join(found)


def _played(game: Game, precision: Precision, seed: int | None) -> Replayed:
    with tempfile.TemporaryDirectory(prefix="tengen-replay-") as folder:
        return play_again(game, Path(folder), use_fp16=precision, seed=seed)


def _view(game: Game, record: GameRecord, networks: Networks, random: np.random.Generator) -> MatchView:
    """What the networks of a game say of some turns of a record."""
    turns = searched_turns(record)
    turns = np.sort(random.choice(turns, min(len(turns), TURNS), replace=False))
    sides = {BLACK: game.black_network, WHITE: game.white_network}
    length = game.run.data_board_len
    known = {colour: networks.evaluator(each, length) for colour, each in sides.items() if not each.is_random}
    return match_view(record, known, turns, length)
