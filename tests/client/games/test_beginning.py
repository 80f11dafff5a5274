"""How games begin: by the numbers of selfplay.md 2-6, over many games of a net that is a formula."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from client.games.asymmetry import visits_of
from client.games.beginning import BegunGame
from client.games.draft import Draft
from client.games.playing import SearchOrder
from client.games.starts import Fork, ForkKind
from common import wire
from common.asymmetry import playout_share
from common.go.handicap import most_extra_stones
from common.go.points import BLACK, EMPTY, PASS, WHITE, from_vertex
from common.go.rules import Ko, Rules, Scoring, Tax
from common.go.start import PLAIN_VIEW, GameStart
from tests.client.games.scripts import EVEN, begun, match_plan, selfplay_plan

PLAIN = {
    "bSizes": "9",
    "bSizeRelProbs": "1",
    "allowRectangleProb": "0",
    "komiMean": "7",
    "komiStdev": "0",
    "komiBigStdevProb": "0",
    "initGamesWithPolicy": False,
    "drawRandRadius": "0",
    "noResultStdev": "0",
}
AUTO = {key: value for key, value in PLAIN.items() if key != "komiMean"} | {"komiAuto": True}
ON_13 = {"bSizes": "13"}


def games(count: int, changes: dict[str, object], **more: object) -> list[BegunGame]:
    plan = selfplay_plan(**changes | more)
    return [begun(plan, seed) for seed in range(count)]


def share(values: list[bool]) -> float:
    return sum(values) / len(values)


def near(probability: float, count: int) -> object:
    """Within four standard deviations of the share of ``count`` tries."""
    return pytest.approx(probability, abs=4 * math.sqrt(max(probability * (1 - probability), 1e-9) / count))


# -- komi --


def test_a_plain_game_has_nothing_but_its_rules() -> None:
    for game in games(20, PLAIN):
        assert game.start == GameStart(9, 9, game.start.rules)
        assert (game.start.rules.komi, game.moves, game.provenance.game_type, game.provenance.extra_black) == (
            7.0,
            (),
            "normal",
            0,
        )
        assert (
            game.provenance.white_doublings,
            game.provenance.hint,
            game.provenance.used_initial_position,
            game.provenance.training_weight,
        ) == (
            0,
            None,
            False,
            1,
        )


def test_auto_komi_is_the_nets_for_an_empty_board() -> None:
    plan = selfplay_plan(**AUTO, compensateKomiVisits=7, flipKomiProbWhenNoCompensate=0.25)
    komis, flipped = [], []
    for seed in range(1000):
        asked: list[SearchOrder] = []
        komis.append(begun(plan, seed, asked=asked).start.rules.komi)
        assert {order.visits for order in asked} == {7}
        assert len({order.seed for order in asked}) == len(asked)
        assert {float(order.state["komi"]) for order in asked} == {7.5, 6.0, 6.5, 7.0}
        flipped.append(asked[0].state["to_move"] == WHITE)
    assert set(komis) == {6.0, 6.5}
    assert share([komi == 6.5 for komi in komis]) == near(0.4, 1000)
    assert share(flipped) == near(0.25, 1000)


def test_a_match_asks_both_nets_for_the_fair_komi() -> None:
    plan = match_plan(bSizes="9", komiAuto=True)
    asked: list[SearchOrder] = []
    game = begun(plan, 1, asked=asked)
    assert [order.seat for order in asked] == [0, 1] * (len(asked) // 2)
    assert {order.visits for order in asked} == {100}
    assert game.start.rules.komi in (6.0, 6.5)
    assert game.stops_early


def test_komi_has_its_spreads() -> None:
    drawn = games(4000, PLAIN, komiStdev=1, komiBigStdevProb=0.2, komiBigStdev=19)
    off = np.array([game.start.rules.komi - 7 for game in drawn])
    # a third of a truncated normal lies beyond .97 of its deviation, which is 9/19 of a point here, or 9 points
    assert share((np.abs(off) > 3).tolist()) == near(0.2 * math.erfc(3.25 / 9 / math.sqrt(2)), 4000)
    assert abs(off.mean()) < 4 * 9 * math.sqrt(0.2 / 4000)


def test_whole_komis_may_be_forbidden() -> None:
    drawn = games(600, PLAIN, komiStdev=10, komiAllowIntegerProb=0.5)
    assert share([game.start.rules.komi.is_integer() for game in drawn]) == near(0.25, 600)


# -- rules, size, constants --


def test_rules_and_constants_are_drawn() -> None:
    drawn = games(
        2000,
        PLAIN,
        scoringRules="AREA,TERRITORY",
        taxRules="NONE,NONE,SEKI,ALL",
        hasButtons="false,false,true",
        drawRandRadius=0.5,
        noResultStdev=0.2,
    )
    rules = [game.start.rules for game in drawn]
    assert share([each.scoring == Scoring.AREA for each in rules]) == near(0.5, 2000)
    assert share([each.tax == Tax.NONE for each in rules]) == near(0.5, 2000)
    assert share([each.has_button for each in rules]) == near(1 / 6, 2000)
    assert np.mean([game.view.draw_white_wins for game in drawn]) == pytest.approx(0.5, abs=0.03)
    assert np.std([game.no_result_utility for game in drawn]) == pytest.approx(0.2, abs=0.02)
    assert share([game.stops_early for game in drawn]) == near(0.98, 2000)


# -- handicap --


def test_the_most_stones_of_a_handicap() -> None:
    sizes = {9: 0, 10: 0, 11: 1, 14: 1, 15: 2, 16: 2, 17: 3, 18: 4, 19: 5}
    assert {size: most_extra_stones(size, size) for size in sizes} == sizes
    assert most_extra_stones(19, 9) == most_extra_stones(9, 19) == 1


def test_handicap_stones_come_before_the_first_move() -> None:
    drawn = games(1000, PLAIN, bSizes=16, handicapProb=0.3)
    counts = Counter(game.provenance.extra_black for game in drawn)
    assert counts[0] / 1000 == near(0.7, 1000)
    assert counts[1] / 1000 == near(0.15, 1000)
    assert set(counts) == {0, 1, 2}
    for game in drawn:
        assert [colour for colour, _ in game.start.stones] == [BLACK] * game.provenance.extra_black
        assert game.provenance.game_type == ("handicap" if game.provenance.extra_black else "normal")
        assert (game.moves, int(game.state["to_move"]), int(game.state["turns"])) == ((), BLACK, 0)
        assert game.start.rules.komi == 7.0


def test_there_is_no_handicap_on_small_boards_but_a_fixed_one() -> None:
    assert {game.provenance.extra_black for game in games(50, PLAIN, handicapProb=1)} == {0}
    assert {game.provenance.extra_black for game in games(50, PLAIN, handicapProb=1, numExtraBlackFixed=3)} == {3}


def test_a_board_holds_no_more_stones_than_live() -> None:
    for game in games(30, PLAIN, bSizes=2, handicapProb=1, numExtraBlackFixed=18, multiStoneSuicideLegals="true"):
        assert game.provenance.extra_black == len(game.start.stones) == 3


def test_handicap_is_compensated_now_and_then() -> None:
    drawn = games(1000, PLAIN, **ON_13, handicapProb=1, handicapCompensateKomiProb=0.6)
    komis = Counter(game.start.rules.komi for game in drawn)
    assert set(komis) == {7.0, EVEN + 1 - 0.2, EVEN + 1 + 0.3}  # as the stone is worth a point
    assert komis[7.0] / 1000 == pytest.approx(0.4 + 0.6 * 0.6, abs=0.06)


def test_komi_may_be_pulled_to_zero_in_handicap_games_alone() -> None:
    drawn = games(1000, PLAIN, **ON_13, handicapProb=0.5, handicapKomiInterpZeroProb=0.5)
    assert {game.start.rules.komi for game in drawn if not game.provenance.extra_black} == {7.0}
    with_stones = [game.start.rules.komi for game in drawn if game.provenance.extra_black]
    assert min(with_stones) >= 0
    assert max(with_stones) == 7.0
    assert share([komi < 6.75 for komi in with_stones]) == pytest.approx(0.5 * 6.75 / 7, abs=0.09)


# -- opening --


def test_openings_are_as_long_as_they_should() -> None:
    drawn = games(1500, PLAIN, initGamesWithPolicy=True, policyInitAreaProp=0.04, compensateAfterPolicyInitProb=0)
    lengths = np.array([len(game.moves) for game in drawn])
    mean = 0.04 * 81
    # the floor of an exponential draw is geometric
    assert lengths.mean() == pytest.approx(1 / math.expm1(1 / mean), abs=4 * mean / math.sqrt(1500))
    assert np.mean(lengths == 0) == near(-math.expm1(-1 / mean), 1500)
    for game in drawn:
        assert [colour for colour, _ in game.moves] == [
            BLACK if turn % 2 == 0 else WHITE for turn in range(len(game.moves))
        ]
        assert game.start.rules.komi == 7.0


def test_openings_are_compensated_now_and_then() -> None:
    drawn = games(
        500, PLAIN, initGamesWithPolicy=True, policyInitAreaProp=0.04, compensateAfterPolicyInitProb=0.5, komiMean=40
    )
    assert share([game.start.rules.komi == 40 for game in drawn]) == near(0.5, 500)
    for game in drawn:
        if game.start.rules.komi != 40:
            colours = game.state["colour"].tolist()
            fair = EVEN + colours.count(BLACK) - colours.count(WHITE)
            assert abs(game.start.rules.komi - fair) < 0.5


def test_a_cold_opening_takes_the_likeliest_moves() -> None:
    plan = match_plan(bSizes=9, initGamesWithPolicy=True, policyInitAreaProp=0.5, policyInitGammaShape=50)
    lengths = [len(begun(plan, seed).moves) for seed in range(60)]
    assert np.mean(lengths) == pytest.approx(40, abs=3)
    assert np.std(lengths) == pytest.approx(40.5 / math.sqrt(50), abs=2)


# -- clean-up --


def test_few_games_scored_by_territory_begin_in_a_cleanup_phase() -> None:
    drawn = games(1500, PLAIN, scoringRules="TERRITORY")
    late = [game for game in drawn if game.provenance.game_type == "cleanuptraining"]
    assert len(late) / 1500 == near(0.04, 1500)
    assert {game.start.phase for game in late} == {1, 2}
    assert any(game.start.bonus_before for game in late)
    for game in late:
        assert game.moves == ()
        assert int(game.state["phase"]) == game.start.phase
        assert game.start.rules.scoring == Scoring.TERRITORY
    assert {game.start.phase for game in drawn if game not in late} == {0}
    assert {game.provenance.game_type for game in games(300, PLAIN, scoringRules="AREA")} == {"normal"}


# -- asymmetry --


def test_doublings_share_the_visits() -> None:
    assert [playout_share(WHITE, 1.0), playout_share(BLACK, 1.0)] == pytest.approx([4 / 3, 2 / 3])
    assert (visits_of(WHITE, 600, 1.0), visits_of(BLACK, 600, 1.0)) == (800, 400)
    assert (visits_of(WHITE, 600, -1.0), visits_of(BLACK, 600, -1.0)) == (400, 800)


def test_asymmetric_games_come_as_often_as_they_should() -> None:
    drawn = games(
        2000,
        PLAIN,
        **ON_13,
        handicapProb=0.5,
        handicapAsymmetricPlayoutProb=0.5,
        normalAsymmetricPlayoutProb=0.1,
        maxAsymmetricRatio=8,
        minAsymmetricCompensateKomiProb=1,
    )
    with_stones = [game for game in drawn if game.provenance.extra_black]
    without = [game for game in drawn if not game.provenance.extra_black]
    assert share([game.provenance.white_doublings != 0 for game in with_stones]) == near(0.5, len(with_stones))
    assert share([game.provenance.white_doublings != 0 for game in without]) == near(0.1, len(without))
    assert min(game.provenance.white_doublings for game in with_stones) == 0
    asymmetric = [game for game in drawn if game.provenance.white_doublings]
    assert {game.provenance.game_type for game in asymmetric} == {"asym"}
    assert np.mean([abs(game.provenance.white_doublings) for game in asymmetric]) == pytest.approx(1.5, abs=0.15)
    assert share(
        [game.provenance.white_doublings > 0 for game in asymmetric if not game.provenance.extra_black]
    ) == pytest.approx(0.5, abs=0.2)
    assert {game.start.rules.komi == 7 for game in asymmetric if not game.provenance.extra_black} == {False}


def test_nets_are_told_of_doublings_when_komi_is_made_fair() -> None:
    plan = selfplay_plan(
        **PLAIN, normalAsymmetricPlayoutProb=1, minAsymmetricCompensateKomiProb=1, compensateKomiVisits=7
    )
    asked: list[SearchOrder] = []
    game = begun(plan, 5, asked=asked)
    assert {float(order.parameters["playout_doubling_advantage"]) for order in asked} == {
        game.provenance.white_doublings
    }
    assert {int(order.parameters["playout_doubling_advantage_pla"]) for order in asked} == {WHITE}
    assert {order.visits for order in asked} == {7}


# -- komi that is varied --


def test_komi_is_varied_in_handicap_games() -> None:
    drawn = games(1200, PLAIN, **ON_13, handicapProb=1, fancyKomiVarying=True, komiMean=30)
    komis = np.array([game.start.rules.komi for game in drawn])
    assert np.mean(komis == 30.0) == pytest.approx(0.5, abs=0.07)
    varied = komis[komis != 30.0]
    fair = EVEN + 1
    assert varied.mean() == pytest.approx((30 + fair) / 2, abs=1.5)
    spread = math.sqrt((30 - fair) ** 2 / 12 + (0.75 * 13 * 0.96) ** 2)
    assert varied.std() == pytest.approx(spread, rel=0.1)


def test_komi_is_varied_widely_where_nobody_knows_anything() -> None:
    plan = replace(selfplay_plan(**PLAIN, fancyKomiVarying=True), knows_nothing=True)
    komis = [begun(plan, seed).start.rules.komi for seed in range(1500)]
    assert np.std(komis) == pytest.approx(1.5 * 9 * 0.96, rel=0.06)
    assert np.mean(komis) == pytest.approx(7, abs=1.5)


# -- start positions and forks --


def position(**changes: object) -> wire.StartPosition:
    fields = {
        "xSize": 5,
        "ySize": 4,
        "board": "X.O../...../...../.....",
        "nextPla": "W",
        "moveLocs": ["B2", "pass"],
        "movePlas": ["W", "B"],
        "initialTurnNumber": 12,
        "hintLoc": "null",
        "trainingWeight": 2.5,
    }
    return wire.StartPosition.from_object(fields | changes)


def test_a_start_position_is_played_up_to_its_end() -> None:
    plan = selfplay_plan(**PLAIN)
    game = begun(plan, 1, position())
    start = game.start
    assert (start.x_size, start.y_size, start.to_move, start.first_turn) == (5, 4, WHITE, 12)
    assert start.stones == ((BLACK, from_vertex("A4", 5, 4)), (WHITE, from_vertex("C4", 5, 4)))
    assert game.moves == ((WHITE, from_vertex("B2", 5, 4)), (BLACK, PASS))
    assert (game.provenance.game_type, game.provenance.hint, game.provenance.training_weight, start.rules.komi) == (
        "sgfpos",
        None,
        2.5,
        7.0,
    )
    assert int(game.state["to_move"]) == WHITE
    hinted = begun(plan, 1, position(hintLoc="C3"))
    assert (hinted.provenance.game_type, hinted.provenance.hint) == ("hintpos", from_vertex("C3", 5, 4))


@pytest.mark.parametrize(
    "changes",
    [
        {"moveLocs": ["B2", "B2"]},  # taken
        {"movePlas": ["W", "W"]},  # out of turn
        {"hintLoc": "A4"},  # taken
        {"moveLocs": ["pass", "pass"]},  # over, by area scoring
    ],
)
def test_a_position_that_cannot_be_played_to_its_end_has_no_hint(changes: dict[str, object]) -> None:
    game = begun(
        selfplay_plan(**PLAIN),
        1,
        position(**{"hintLoc": "C3"} | changes),
    )
    assert (game.provenance.game_type, game.provenance.hint) == ("sgfpos", None)


def test_positions_have_their_own_openings_and_komi() -> None:
    changes: dict[str, object] = PLAIN | {
        "initGamesWithPolicy": True,
        "policyInitAreaProp": 0.9,
        "startPosesPolicyInitAreaProp": 0.1,
        "compensateAfterPolicyInitProb": 1,
    }
    plan = selfplay_plan(**changes)
    drawn = [begun(plan, seed, position()) for seed in range(600)]
    more = np.array([len(game.moves) - 2 for game in drawn])
    assert more.mean() == pytest.approx(1 / math.expm1(1 / 2.0), abs=0.35)
    assert {game.start.rules.komi for game in drawn} == {7.0}, (
        "positions are compensated by sgfCompensateKomiProb alone"
    )
    fair = selfplay_plan(**changes, sgfCompensateKomiProb=1)
    assert all(
        abs(game.start.rules.komi - EVEN - _more_black(game)) < 0.5
        for game in (begun(fair, seed, position()) for seed in range(50))
    )
    assert {len(begun(plan, seed, position(hintLoc="C3")).moves) for seed in range(20)} == {2}
    pulled = selfplay_plan(**changes, sgfKomiInterpZeroProb=1)
    assert np.mean([begun(pulled, seed, position()).start.rules.komi for seed in range(300)]) == pytest.approx(
        3.5, abs=0.5
    )


def _more_black(game: BegunGame) -> int:
    colours: list[int] = game.state["colour"].tolist()
    return colours.count(BLACK) - colours.count(WHITE)


RULES = Rules(ko=Ko.SITUATIONAL, scoring=Scoring.AREA, tax=Tax.ALL, suicide=False, komi=-3.5)
FORK = Fork(ForkKind.PLAIN, GameStart(9, 9, RULES), ((BLACK, from_vertex("C3", 9, 9)), (WHITE, PASS)), 1.5)


def test_a_fork_goes_on_with_everything_as_it_was() -> None:
    plan = selfplay_plan(
        **PLAIN
        | {"initGamesWithPolicy": True, "policyInitAreaProp": 1, "normalAsymmetricPlayoutProb": 1, "handicapProb": 1}
        | {"numExtraBlackFixed": 2, "forkCompensateKomiProb": 0}
    )
    for seed in range(10):
        game = begun(plan, seed, FORK)
        assert (game.start, game.moves) == (FORK.start, FORK.moves)
        assert (game.provenance.game_type, game.provenance.used_initial_position, game.provenance.training_weight) == (
            "fork",
            True,
            1.5,
        )
        assert (game.provenance.white_doublings, game.provenance.extra_black) == (0.0, 0)
    assert begun(plan, 1, replace(FORK, kind=ForkKind.HINT)).provenance.game_type == "hintfork"
    assert begun(plan, 1, replace(FORK, kind=ForkKind.SEKI)).provenance.is_seki_fork


def test_forks_are_made_fair_as_often_as_they_should() -> None:
    plan = selfplay_plan(**AUTO, forkCompensateKomiProb=0.3)
    komis = [begun(plan, seed, FORK).start.rules.komi for seed in range(500)]
    assert set(komis) == {-3.5, 7.0, 7.5}
    assert share([komi == -3.5 for komi in komis]) == near(0.7, 500)


# -- all together --


def test_a_beginning_follows_from_its_seed() -> None:
    changes: dict[str, object] = AUTO | {
        "bSizes": "13,15",
        "bSizeRelProbs": "1,1",
        "handicapProb": 0.5,
        "handicapCompensateKomiProb": 0.5,
        "normalAsymmetricPlayoutProb": 0.5,
        "initGamesWithPolicy": True,
        "compensateAfterPolicyInitProb": 0.5,
    }
    plan = selfplay_plan(**changes)
    seen = set()
    for seed in range(12):
        first, second = begun(plan, seed), begun(plan, seed)
        assert first.state.tobytes() == second.state.tobytes()
        assert replace(first, state=second.state, history=second.history) == second
        seen.add(first.hash_words)
    assert len(seen) == 12


def test_a_branch_shares_nothing_with_its_draft() -> None:
    draft = Draft(GameStart(5, 5), PLAIN_VIEW)
    point = from_vertex("C3", 5, 5)
    branch = draft.branch()
    branch.play(point)
    assert (draft.moves, draft.state["colour"][point], int(draft.history["count"])) == ([], EMPTY, 1)
    assert branch.moves == [(BLACK, point)]
    assert draft.play_legal(BLACK, point)
    assert not draft.play_legal(BLACK, PASS)
