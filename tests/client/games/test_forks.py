"""What goes on from finished games: how often, from where, by which move (selfplay.md 2)."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from client.games.forks import Forks, ForkSource, forks_of
from client.games.inquiries import Inquirer
from client.games.playing import SearchOrder
from client.games.starts import ForkKind
from common.go.game import Game
from common.go.points import BLACK, PASS, WHITE, from_vertex
from common.go.rules import Rules, Scoring
from common.go.start import GameStart
from common.parameters import SelfplayConfig, parse_selfplay
from common.replay import Ending, ending
from tests.client.games.games import selfplay_text
from tests.client.games.scripts import LENGTH, run

VERTICES = "C3 G7 G3 C7 E5 E3 E7 C5 G5 D4 F6 D6 F4 B2 H8 B8 H2 E2 E8 B5 pass pass"
MOVES = tuple(
    (BLACK if turn % 2 == 0 else WHITE, from_vertex(vertex, 9, 9)) for turn, vertex in enumerate(VERTICES.split())
)
SOURCE = ForkSource(
    start=GameStart(9, 9, Rules(komi=5.5)),
    pass_alive_suicide=False,
    moves=MOVES,
    first_turn=3,
    hint=None,
    is_seki_fork=False,
    training_weight=1.5,
)
NONE: dict[str, object] = {"earlyForkGameProb": 0, "forkGameProb": 0, "sekiForkHackProb": 0}


def config_of(**changes: object) -> SelfplayConfig:
    return parse_selfplay(selfplay_text(**NONE | changes), to_be_played=False)


def forked(
    config: SelfplayConfig,
    seed: int,
    source: ForkSource = SOURCE,
    end: Ending | None = None,
    asked: list[SearchOrder] | None = None,
) -> Forks:
    inquirer = Inquirer(seed, (config.search,), 1)
    return run(forks_of(source, end, config, seed, inquirer, LENGTH), asked=asked)


def test_a_game_may_lead_to_nothing() -> None:
    assert forked(config_of(), 1) == Forks()


def test_early_and_late_forks_are_as_frequent_as_they_should() -> None:
    early = config_of(earlyForkGameProb=0.2, forkGameProb=0.25, earlyForkGameExpectedMoveProp=0.0)
    counts = Counter(_turn_of(forked(early, seed)) for seed in range(2000))
    assert counts[None] / 2000 == pytest.approx(0.8 * 0.75, abs=0.045)
    # an early fork leaves at once; a late one anywhere before the last move
    assert counts[0] / 2000 == pytest.approx(0.2 + 0.2 / len(MOVES), abs=0.04)
    later = [counts[turn] / 2000 for turn in range(1, len(MOVES) - 1)]
    assert sum(later) == pytest.approx(0.2 * (len(MOVES) - 2) / len(MOVES), abs=0.04)
    assert min(later) > 0


def _turn_of(forks: Forks) -> int | None:
    return len(forks.plain[0].moves) - 1 if forks.plain else None


def test_early_forks_leave_where_they_should() -> None:
    config = config_of(earlyForkGameProb=0.5, earlyForkGameExpectedMoveProp=4 / 81)
    turns = [turn for turn in (_turn_of(forked(config, seed)) for seed in range(2000)) if turn is not None]
    assert np.mean(turns) == pytest.approx(1 / math.expm1(1 / 4), abs=0.45)
    assert len(turns) / 2000 == pytest.approx(0.5, abs=0.045)


def test_a_fork_is_the_game_and_the_best_of_some_moves() -> None:
    config = config_of(forkGameProb=0.5, forkGameMinChoices=2, forkGameMaxChoices=4, earlyForkGameMaxChoices=4)
    for seed in range(60):
        asked: list[SearchOrder] = []
        forks = forked(config, seed, asked=asked)
        if not forks.plain:
            assert not asked
            continue
        (fork,) = forks.plain
        assert (fork.kind, fork.start, fork.training_weight) == (ForkKind.PLAIN, SOURCE.start, 1.5)
        turn = len(fork.moves) - 1
        assert fork.moves[:turn] == MOVES[:turn]
        assert fork.moves[turn][0] == MOVES[turn][0]
        assert len(asked) <= 4
        assert {order.visits for order in asked} <= {1}
        assert {float(order.state["draw_white_wins"]) for order in asked} <= {0.5}


def test_the_mover_chooses_by_its_own_score() -> None:
    config = config_of(forkGameProb=0.5, forkGameMinChoices=20, forkGameMaxChoices=20, earlyForkGameMaxChoices=20)
    good = from_vertex("A1", 9, 9)
    for seed in range(30):
        for sign in (1.0, -1.0):

            def scored(order: SearchOrder, sign: float = sign) -> object:
                last = int(order.state["recent_point"][0])
                value = sign * (last if last != good else 1000)
                return type("Result", (), {"raw": type("Raw", (), {"score_mean": value})})

            inquirer = Inquirer(seed, (config.search,), 1)
            asked: list[SearchOrder] = []
            forks = run(forks_of(SOURCE, None, config, seed, inquirer, LENGTH), scored, asked)
            if not forks.plain:
                continue
            colour, played = forks.plain[0].moves[-1]
            tried = [int(order.state["recent_point"][0]) for order in asked]
            values = {point: sign * (point if point != good else 1000) for point in tried}
            best = max if colour == WHITE else min
            assert values[played] == best(values.values())


def test_what_began_in_a_cleanup_phase_is_not_forked_by_moves() -> None:
    config = config_of(earlyForkGameProb=0.5, forkGameProb=0.5)
    late = replace(SOURCE, start=GameStart(9, 9, Rules(scoring=Scoring.TERRITORY), phase=1), moves=())
    assert all(forked(config, seed, late) == Forks() for seed in range(20))


def test_a_game_without_moves_can_be_forked() -> None:
    config = config_of(forkGameProb=0.5, forkGameMinChoices=1, forkGameMaxChoices=1)
    forks = [forked(config, seed, replace(SOURCE, moves=())) for seed in range(20)]
    assert {len(each.plain[0].moves) for each in forks if each.plain} == {1}


def test_a_hint_that_was_not_played_is_a_fork() -> None:
    hint = from_vertex("A9", 9, 9)
    (fork,) = forked(config_of(), 1, replace(SOURCE, hint=hint)).plain
    assert (fork.kind, fork.moves) == (ForkKind.HINT, (*MOVES[:3], (WHITE, hint)))
    assert forked(config_of(), 1, replace(SOURCE, hint=MOVES[3][1])) == Forks()
    assert forked(config_of(), 1, replace(SOURCE, hint=hint, moves=MOVES[:3])) == Forks()
    assert forked(config_of(), 1, replace(SOURCE, hint=MOVES[0][1])) == Forks(), "an illegal one"


def scored(source: ForkSource = SOURCE) -> Ending:
    game = Game(source.start)
    for colour, point in source.moves:
        game.play(point, colour)
    return ending(game.state, LENGTH)


def test_games_with_points_of_nobody_give_two_positions_near_their_end() -> None:
    config = config_of(sekiForkHackProb=0.01, scoringRules="AREA,TERRITORY", taxRules="NONE,SEKI", hasButtons="true")
    end = scored()
    turns, rules = [], set()
    for seed in range(500):
        forks = forked(config, seed, end=end)
        assert not forks.plain
        assert 1 <= len(forks.seki) <= 2
        for fork in forks.seki:
            assert fork.kind is ForkKind.SEKI
            assert fork.moves == MOVES[: len(fork.moves)]
            assert fork.start.rules.komi == 5.5
            assert fork.start.rules.has_button == (fork.start.rules.scoring == Scoring.AREA)
            turns.append(len(fork.moves))
            rules.add((fork.start.rules.scoring, fork.start.rules.tax))
    assert len(rules) == 4
    count = len(MOVES)
    expected = np.mean([max(0, math.floor(count * (1 - 0.1 * draw) - 1)) for draw in _exponential()])
    assert np.mean(turns) == pytest.approx(expected, abs=0.5)


def _exponential() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Quantiles of a standard exponential."""
    return -np.log1p(-(np.arange(1000) + 0.5) / 1000)


def test_other_games_give_no_such_positions() -> None:
    config = config_of(sekiForkHackProb=0.01)
    end = scored()
    assert forked(config, 1, end=end).seki
    assert forked(config_of(), 1, end=end) == Forks()
    assert forked(config, 1, end=None) == Forks(), "stopped"
    assert forked(config, 1, end=replace(end, is_no_result=True)) == Forks()
    assert forked(config, 1, end=replace(end, area=np.ones_like(end.area))) == Forks(), "all points are owned"
    assert forked(config, 1, replace(SOURCE, is_seki_fork=True), end) == Forks()
    last = replace(SOURCE, start=GameStart(9, 9, Rules(scoring=Scoring.TERRITORY), phase=2), moves=())
    assert forked(config, 1, last, end) == Forks()


def test_a_seki_fork_under_other_rules_ends_where_they_forbid_a_move() -> None:
    """Passes that end a game by area begin a phase by territory, and the other way round."""
    config = config_of(sekiForkHackProb=0.01, scoringRules="TERRITORY")
    long = replace(SOURCE, moves=(*MOVES[:4], (BLACK, PASS), (WHITE, PASS), *MOVES[4:]))
    by_territory = replace(long, start=replace(SOURCE.start, rules=Rules(scoring=Scoring.TERRITORY, komi=5.5)))
    assert all(fork.moves == long.moves[: len(fork.moves)] for fork in forked(config, 1, by_territory, scored()).seki)
    by_area = config_of(sekiForkHackProb=0.01, scoringRules="AREA")
    assert forked(by_area, 1, by_territory, scored()) == Forks(), "the game is over there"
