"""Games that begin in every way, played to their end: their records and rows tell the beginning, and pass the audit."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from client.games.fork_pools import ForkedOrders
from client.games.match_game import MatchGames
from client.games.orders import FinishedGame, GameOrder
from client.games.selfplay_game import SelfplayGames
from client.games.starts import Fork
from client.games.stream import StreamControl, StreamStats, play_stream
from client.search.pool import SearchPool
from common import wire
from common.audit import audit_rating_game, audit_training_game
from common.go.points import NO_POINT, from_vertex
from common.parameters import parse_match, parse_selfplay
from common.rows import GlobalInput, GlobalTarget, to_npz
from common.sgf import read
from common.sgf_record import GameRecord
from tests.client.games.evaluators import OpinionatedEvaluator
from tests.client.games.games import (
    LENGTH,
    NET,
    OTHER,
    match_text,
    orders,
    play,
    play_beginning,
    searches_of,
    selfplay_text,
)
from tests.client.search.scripted import hashed_answer

G = GlobalTarget

EVERY_WAY: dict[str, object] = {
    "scoringRules": "AREA,TERRITORY",
    "taxRules": "NONE,SEKI,ALL",
    "hasButtons": "false,true",
    "komiAuto": True,
    "komiStdev": 1,
    "handicapProb": 0.3,
    "numExtraBlackFixed": 2,
    "handicapCompensateKomiProb": 0.5,
    "forkCompensateKomiProb": 0.5,
    "handicapKomiInterpZeroProb": 0.5,
    "sgfKomiInterpZeroProb": 0.5,
    "fancyKomiVarying": True,
    "compensateKomiVisits": 3,
    "compensateAfterPolicyInitProb": 0.5,
    "startPosesPolicyInitAreaProp": 0.05,
    "earlyForkGameProb": 0.2,
    "earlyForkGameExpectedMoveProp": 0.1,
    "forkGameProb": 0.2,
    "sekiForkHackProb": 0.3,
    "normalAsymmetricPlayoutProb": 0.2,
    "handicapAsymmetricPlayoutProb": 0.5,
    "maxAsymmetricRatio": 2,
    "minAsymmetricCompensateKomiProb": 0.4,
    "maxVisits": 12,
    "cheapSearchVisits": 8,
    "reducedVisitsMin": 8,
    "maxMovesPerGame": 60,
}


def position(**changes: object) -> wire.StartPosition:
    fields = {
        "xSize": 5,
        "ySize": 5,
        "board": "...../.X.../..O../...../.....",
        "nextPla": "W",
        "moveLocs": ["D4", "pass"],
        "movePlas": ["W", "B"],
        "initialTurnNumber": 11,
        "hintLoc": "B2",
        "trainingWeight": 0.5,
    }
    return wire.StartPosition.from_object(fields | changes)


def run(wanted: Iterable[GameOrder], seki_prob: float, at_once: int) -> list[FinishedGame]:
    """Play ``wanted`` and all that goes on from them."""
    source, finished = ForkedOrders(wanted, seki_prob), list[FinishedGame]()

    def take(game: FinishedGame) -> None:
        finished.append(game)
        source.take(game)

    play_stream(
        source.next,
        take,
        games=at_once,
        load=lambda network, length: OpinionatedEvaluator(length),
        control=StreamControl(),
        stats=StreamStats(),
        until_empty=True,
    )
    return finished


def with_positions(wanted: list[GameOrder]) -> list[GameOrder]:
    """Every third order begins at a position, half of them with a hint."""
    starts = [position(), None, None, position(hintLoc="null"), None, None]
    return [replace(order, start=starts[number % len(starts)]) for number, order in enumerate(wanted)]


def record_of(game: FinishedGame) -> GameRecord:
    record = read(game.sgf)
    assert record.info is not None
    return record


@pytest.fixture(scope="module")
def games() -> list[FinishedGame]:
    return run(with_positions(orders(120, selfplay_text(**EVERY_WAY))), 0.3, 32)


def test_games_of_every_kind_are_played_and_pass_their_audit(games: list[FinishedGame]) -> None:
    kinds = Counter(game.facts.game_type for game in games)
    assert set(kinds) == {"normal", "handicap", "asym", "fork", "sgfpos", "hintpos", "hintfork", "cleanuptraining"}
    with_rows = [game for game in games if game.rows is not None]
    assert len(with_rows) > 0.8 * len(games)
    for game in with_rows:
        # a fork may have come of a game at a position
        positions = (position(), position(hintLoc="null"))
        assert _audit(game, positions) == "", (game.facts.game_type, game.sgf[:200])
    assert {game.order.start.kind for game in games if isinstance(game.order.start, Fork)} == {0, 1, 2}


def _audit(game: FinishedGame, positions: tuple[wire.StartPosition, ...]) -> str:
    assert game.rows is not None
    config = parse_selfplay(game.order.config)
    return str(audit_training_game(game.sgf, game.rows, game.facts, config, positions=positions))


def test_the_same_games_come_however_many_run_at_once() -> None:
    wanted = with_positions(orders(9, selfplay_text(**EVERY_WAY), first_seed=500))
    alone, together = (
        {(game.sgf, None if game.rows is None else to_npz(game.rows)) for game in run(wanted, 0.3, at_once)}
        for at_once in (1, 17)
    )
    assert len(alone) > 9
    assert alone == together


def test_rows_and_record_tell_the_beginning(games: list[FinishedGame]) -> None:
    for game in games:
        if game.rows is None:
            continue
        record, columns, start = record_of(game), game.rows.global_targets, game.order.start
        info = record.info
        assert info is not None
        assert (columns[:, G.START_TURN] == info.start_turn).all()
        assert (columns[:, G.INITIAL_TURN_NUMBER] == info.first_turn).all()
        black = sum(colour == 1 for colour, _, _ in record.stones)
        if info.game_type in ("handicap", "asym"):
            assert (columns[:, G.EXTRA_BLACK_MOVES] == black).all()
            assert black in (0, 2)
        assert info.used_initial_position == isinstance(start, Fork)
        weight = 1.0 if start is None else start.training_weight
        assert (columns[:, G.ROW_WEIGHT] == np.float32(weight)).all()
        if isinstance(start, wire.StartPosition):
            assert info.first_turn == 11
            assert info.start_turn == 2 or start.hint is None
        if isinstance(start, Fork):
            assert info.start_turn == len(start.moves) or info.game_type == "cleanuptraining"


def test_a_hint_is_looked_at_first(games: list[FinishedGame]) -> None:
    hinted = [game for game in games if game.facts.game_type == "hintpos" and game.rows is not None]
    assert len(hinted) > 3
    for game in hinted:
        record = record_of(game)
        first, second = (move.values for move in record.moves[2:4])
        assert first is not None
        assert second is not None
        share = 1.0 if not game.facts.white_doublings else 2**game.facts.white_doublings
        share = 2 * share / (share + 1)  # White is to move
        assert first.visits == int(4 * 12 * share + 0.5)
        assert (first.win, first.loss, first.score) == (second.win, second.loss, second.score)


def test_the_search_is_told_the_hint_in_its_turn_alone() -> None:
    text = selfplay_text(maxVisits=12, cheapSearchVisits=8, reducedVisitsMin=8, initGamesWithPolicy=False)
    pool = SearchPool(OpinionatedEvaluator(LENGTH), slots=1, max_visits=48)
    games = SelfplayGames(parse_selfplay(text, data_board_len=LENGTH), 1, LENGTH)
    (order,) = orders(1, text)
    play_beginning(games, [pool], 0, replace(order, start=position()))
    searches = [searched.order for searched in itertools.islice(searches_of(games, [pool]), 8)]
    told = [(int(search["hint"]), int(search["visits"])) for search in searches]
    assert told[:2] == [(NO_POINT, 10), (from_vertex("B2", 5, 5), 48)]
    assert {hint for hint, _ in told[2:]} == {NO_POINT}
    assert {int(search["first_turn"]) for search in searches} == {11}
    assert int(pool.forest.searches[0]["turn"]) >= 13


def test_asymmetric_games_tell_the_net_and_share_their_visits(games: list[FinishedGame]) -> None:
    uneven = [game for game in games if game.facts.white_doublings and game.rows is not None]
    assert len(uneven) > 15
    for game in uneven:
        assert game.rows is not None
        doublings = game.facts.white_doublings
        assert doublings is not None
        told = game.rows.global_inputs[:, GlobalInput.PLAYOUT_DOUBLING]
        assert np.unique(np.abs(told)) == pytest.approx([abs(doublings) / 2], abs=1e-6)
        record = record_of(game)
        assert record.info is not None
        assert record.info.white_doublings == pytest.approx(doublings, rel=1e-5)
        for move in record.moves[record.info.start_turn + 1 :]:
            factor = 2 ** (doublings if move.colour == 2 else -doublings)
            sizes = [int(visits * 2 * factor / (factor + 1) + 0.5) for visits in (8, 12)]
            assert move.values is not None
            assert sizes[0] <= move.values.visits <= sizes[1]


def test_what_the_net_alone_says_of_an_asymmetric_game_is_without_doublings(games: list[FinishedGame]) -> None:
    checked = 0
    for game in games:
        if not game.facts.white_doublings or game.rows is None:
            continue
        planes = game.rows.planes().astype(np.float32)
        for row, (inputs, columns) in enumerate(zip(game.rows.global_inputs, game.rows.global_targets, strict=True)):
            even = inputs.copy()
            even[[GlobalInput.HAS_PLAYOUT_DOUBLING, GlobalInput.PLAYOUT_DOUBLING]] = 0.0
            answer = hashed_answer(planes[row].reshape(-1, LENGTH, LENGTH), even, 0)
            assert columns[G.NET_WIN_LOSS] == pytest.approx(answer.win_loss, abs=1e-4)
            checked += 1
    assert checked > 100


def test_forks_begin_where_their_game_was(games: list[FinishedGame]) -> None:
    records = [record_of(game) for game in games]
    for game in games:
        if isinstance(game.order.start, Fork) and game.order.start.kind != 1:
            fork = record_of(game)
            assert fork.info is not None
            shared = fork.moves[: fork.info.start_turn - 1]
            parents = [
                record
                for record in records
                if record.stones == fork.stones
                and [(move.colour, move.at) for move in record.moves[: len(shared)]]
                == [(move.colour, move.at) for move in shared]
            ]
            assert len(parents) > 1 or game.facts.game_type == "cleanuptraining"


# -- matches --


def test_matches_have_openings_and_a_fair_komi() -> None:
    text = match_text(
        komiAuto=True,
        compensateKomiVisits=4,
        initGamesWithPolicy=True,
        policyInitAreaProp=0.1,
        handicapProb=0.5,
        numExtraBlackFixed=2,
    )
    games = play(orders(16, text, NET, OTHER))
    config = parse_match(text)
    assert [str(audit_rating_game(game.sgf, game.facts, config)) for game in games] == [""] * 16
    starts = [record_of(game).info for game in games]
    assert len({info.start_turn for info in starts if info is not None}) > 3
    assert len({game.facts.rules.komi for game in games}) > 4
    assert {game.facts.game_type for game in games} == {"normal", "handicap"}


@pytest.mark.parametrize(("low", "high", "step"), [(-1.0, 1.0, 0.0), (0.5, 1.0, 0.5), (-1.0, -0.5, -0.5)])
def test_a_player_may_search_under_a_komi_of_its_own(low: float, high: float, step: float) -> None:
    text = match_text(
        dynamicSelfKomiBonusMin=-1,
        dynamicSelfKomiBonusMax=1.5,
        dynamicSelfKomiWinLossMin=low,
        dynamicSelfKomiWinLossMax=high,
        allowResignation=False,
    )
    pools = [SearchPool(OpinionatedEvaluator(LENGTH), slots=1, max_visits=8) for _ in range(2)]
    games = MatchGames(parse_match(text, data_board_len=LENGTH), 1, LENGTH)
    play_beginning(games, pools, 0, orders(1, text, NET, OTHER)[0])
    bonuses: list[list[float]] = [[0.0], [0.0]]
    win_losses: list[float] = []
    for searched in searches_of(games, pools):
        seat = int(searched.order["seat"])
        sign = 1.0 if seat == 1 else -1.0
        before, bonus = bonuses[seat][-1], sign * float(searched.order["komi_bonus"])
        expected = before
        if len(win_losses) >= 2:
            own = sign * win_losses[-2]
            expected = min(max(before + 0.5 * (own < low) - 0.5 * (own > high), -1.0), 1.5)
        assert bonus == expected
        assert searched.order["keep_tree"] == (bonus == before)
        assert float(pools[seat].forest.states[0]["komi"]) == float(games.records[0]["state"]["komi"]) + sign * bonus
        bonuses[seat].append(bonus)
        win_losses.append(float(games.turns.found[0]["mean"][0]))
    assert len(win_losses) > 10
    ends = {-0.5: -1.0, 0.0: 0.0, 0.5: 1.5}
    assert max(bonuses[0] + bonuses[1], key=abs) == ends[step]
