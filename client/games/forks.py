"""What goes on from a finished game: forks by a random move, by a hint that was not played, and near a seki's end.

Specification: selfplay.md 2. A game carries its forks with it (`client.games.orders.FinishedGame`), each drawn from its
own seed, so that they follow from it alone; who plays them, and when, is the caller's business.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from client.games import draws
from client.games.chance import Draw, generator
from client.games.draft import Draft
from client.games.inquiries import Inquirer
from client.games.playing import Script
from client.games.setup import redraw_scoring
from client.games.starts import Fork, ForkKind
from common.go import play
from common.go.points import EMPTY, MAIN_PHASE, NUM_POINTS, SECOND_CLEANUP, WHITE
from common.go.rules import Rules, Scoring
from common.go.start import GameStart, PlayerView, Stone
from common.parameters import SelfplayConfig
from common.replay import Ending, ending

SEKI_FORKS: Final = 2
"""Of one game."""
_SEKI_SHARE: Final = 0.1  # of the moves, that lie on average before its end


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkSource:
    """A finished game, as far as others go on from it."""

    start: GameStart
    pass_alive_suicide: bool
    moves: tuple[Stone, ...]
    first_turn: int  # moves before the first search
    hint: int | None  # what that was to look at
    is_seki_fork: bool
    training_weight: float


class Forks(NamedTuple):
    """What one game leads to."""

    plain: tuple[Fork, ...] = ()  # to be played next
    seki: tuple[Fork, ...] = ()  # to be drawn from


def forks_of(
    source: ForkSource, end: Ending | None, config: SelfplayConfig, seed: int, inquirer: Inquirer, length: int
) -> Script[Forks]:
    """The forks of a game of self-play.

    Args:
        source: the game.
        end: how it was scored; None: it was stopped.
        config: how often, and which rules there are.
        seed: of the game.
        inquirer: asks its net.
        length: edge of the tensors.
    """
    random = generator(seed, 0, Draw.FORKS)
    plain: list[Fork] = []
    if source.start.phase == MAIN_PHASE:
        plain += yield from _fork_by_move(source, config, random, inquirer, length)
        plain += _fork_by_hint(source)
    return Forks(tuple(plain), _seki_forks(source, end, config, random))


def _fork_by_move(
    source: ForkSource, config: SelfplayConfig, random: np.random.Generator, inquirer: Inquirer, length: int
) -> Script[list[Fork]]:
    """An early or a late fork, if this game has one."""
    options = config.selfplay
    is_early = draws.coin(random, options.early_fork_game_prob)
    is_late = draws.coin(random, options.fork_game_prob) and not is_early
    if not (is_early or is_late):
        return []
    if is_early:
        mean = options.early_fork_game_expected_move_prop * source.start.area
        turn, most = int(random.standard_exponential() * mean), options.early_fork_game_max_choices
    else:
        turn, most = int(random.integers(max(1, len(source.moves)))), options.fork_game_max_choices
    draft = _replayed(source, source.start.rules, turn)
    if draft.is_over:
        return []
    count = int(random.integers(options.fork_game_min_choices, most + 1))
    choices = random.choice(_legal_points(draft), count).tolist()
    draft.play((yield from _best_of(choices, draft, inquirer, length)))
    return [] if draft.is_over else [_fork(ForkKind.PLAIN, draft, source)]


def _best_of(choices: list[int], draft: Draft, inquirer: Inquirer, length: int) -> Script[int]:
    """The choice whose position has the highest expected score for its mover, by the net alone."""
    sign = 1.0 if draft.to_move == WHITE else -1.0
    best, best_score = choices[0], -math.inf
    for point in dict.fromkeys(choices):
        after = draft.branch()
        after.play(point)
        if after.is_over:
            score = ending(after.state, length).white_score
        else:
            result = yield from inquirer.raw(after.state, after.history)
            score = result.raw.score_mean
        if sign * score > best_score:
            best, best_score = point, sign * score
    return best


def _fork_by_hint(source: ForkSource) -> list[Fork]:
    """The game with the hinted move, where it went another way."""
    first = source.first_turn
    if source.hint is None or len(source.moves) <= first or source.moves[first][1] == source.hint:
        return []
    draft = _replayed(source, source.start.rules, first)
    if len(draft.moves) < first or not draft.play_legal(draft.to_move, source.hint) or draft.is_over:
        return []
    return [_fork(ForkKind.HINT, draft, source)]


def _seki_forks(
    source: ForkSource, end: Ending | None, config: SelfplayConfig, random: np.random.Generator
) -> tuple[Fork, ...]:
    """Positions shortly before the end of a game in which points belonged to nobody, under other rules of scoring."""
    if config.selfplay.seki_fork_hack_prob == 0.0 or source.is_seki_fork or source.start.phase == SECOND_CLEANUP:
        return ()
    if end is None or end.is_no_result or not _has_unowned_point(end, source.start):
        return ()
    forks = []
    for _ in range(SEKI_FORKS):
        turn = math.floor(len(source.moves) * (1.0 - _SEKI_SHARE * random.standard_exponential()) - 1.0)
        rules = redraw_scoring(source.start.rules, config.init, random)
        draft = _replayed(source, rules, max(0, turn))
        if not draft.is_over:
            forks.append(_fork(ForkKind.SEKI, draft, source))
    return tuple(forks)


def _has_unowned_point(end: Ending, start: GameStart) -> bool:
    return bool((end.area[: start.y_size, : start.x_size] == EMPTY).any())


def _replayed(source: ForkSource, rules: Rules, turn: int) -> Draft:
    """A game under ``rules`` up to ``turn``, before its last move, or as far as the rules allow its moves."""
    start = source.start.under(rules)
    if rules.scoring == Scoring.AREA:
        start = replace(start, bonus_before=0.0)
    draft = Draft(start, PlayerView(pass_alive_suicide=source.pass_alive_suicide))
    for colour, point in source.moves[: min(turn, len(source.moves) - 1)] if source.moves else ():
        if not draft.play_legal(colour, point):
            break
    return draft


def _legal_points(draft: Draft) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """What the player to move may play, the pass among it."""
    legal = np.zeros(NUM_POINTS, np.int8)
    play.legal_points(draft.state, draft.history, legal)
    return np.flatnonzero(legal)


def _fork(kind: ForkKind, draft: Draft, source: ForkSource) -> Fork:
    return Fork(kind, draft.start, tuple(draft.moves), source.training_weight)
