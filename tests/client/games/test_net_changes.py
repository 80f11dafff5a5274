"""Games that go on with a newer network: when, by which, and what their records and rows say of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from client.games.net_changes import LOOK_PROB, Newer, changes_after
from client.games.orders import FinishedGame, GameOrder, NetChange
from client.games.stream import StreamControl, StreamStats, play_stream
from client.networks import Loader, Network
from client.search.rng import philox
from common.audit import audit_training_game
from common.audit_report import Reason
from common.audit_rows import is_side_row
from common.parameters import parse_selfplay
from common.rows import GlobalTarget, Rows, to_npz
from common.sgf import read
from common.wire import MAX_NET_CHANGES
from nets.evaluation.batch import Evaluator
from tests.client.games.evaluators import LateEvaluator, OpinionatedEvaluator
from tests.client.games.games import LENGTH, NET, OTHER, orders, play, selfplay_text
from tests.client.search.scripted import Answer, Floats, ScriptedEvaluator

G = GlobalTarget
AGAIN = Network("net-c", None)


def play_with(
    wanted: list[GameOrder], newer: Newer, *, games: int = 4, load: Loader | None = None
) -> list[FinishedGame]:
    waiting, finished = iter(wanted), list[FinishedGame]()
    play_stream(
        lambda: next(waiting, None),
        finished.append,
        games=games,
        load=load or (lambda network, length: OpinionatedEvaluator(length)),
        control=StreamControl(),
        stats=StreamStats(),
        newer=newer,
        until_empty=True,
    )
    return sorted(finished, key=lambda game: game.order.seed)


def with_other(order: GameOrder, network: Network) -> Network | None:
    """Two nets: whoever is played by the first goes on with the other one."""
    return OTHER if network == NET else None


def looked_at(seed: int, turn: int) -> bool:
    """The coin of a turn, from its own words of the counter's cipher."""
    low, high, _, _ = philox(np.uint64(turn), np.uint64(14), np.uint64(0), np.uint64(0), np.uint64(seed), np.uint64(0))
    return (int(high) << 32 | int(low)) / 2.0**64 < 0.1


def rows_of(game: FinishedGame) -> Rows:
    assert game.rows is not None
    return game.rows


def copied(rows: Rows) -> Rows:
    return rows.take(np.arange(rows.count))


def audited(game: FinishedGame, text: str) -> str:
    return str(audit_training_game(game.sgf, rows_of(game), game.facts, parse_selfplay(text)))


# -- when --


def test_where_a_text_does_not_allow_it_nobody_asks() -> None:
    def asked(order: GameOrder, network: Network) -> Network | None:
        raise AssertionError

    plain, games = play(orders(3, selfplay_text())), play_with(orders(3, selfplay_text()), asked)
    assert [game.sgf for game in games] == [game.sgf for game in plain]
    assert not any(game.net_changes for game in games)


def test_without_a_newer_network_a_game_is_the_same() -> None:
    asked = list[int]()

    def none_yet(order: GameOrder, network: Network) -> Network | None:
        asked.append(order.seed)
        return None

    plain = play(orders(3, selfplay_text()))
    games = play_with(orders(3, selfplay_text(switchNetsMidGame=True)), none_yet)
    assert [game.sgf for game in games] == [game.sgf for game in plain]
    assert [to_npz(rows_of(game)) for game in games] == [to_npz(rows_of(game)) for game in plain]
    expected = [
        game.order.seed
        for game in games
        for turn in range(start_of(game) + 1, game.facts.game_length)
        if looked_at(game.order.seed, turn)
    ]
    assert LOOK_PROB == 0.1
    assert sorted(asked) == expected
    assert len(asked) > 5


def start_of(game: FinishedGame) -> int:
    info = read(game.sgf).info
    assert info is not None
    return info.start_turn


def test_a_game_changes_at_its_first_look_and_follows_from_that() -> None:
    """With the same opinions under another name, only what names the networks differs: all searches begin anew."""
    text = selfplay_text(switchNetsMidGame=True, cheapSearchProb=0.0, sidePositionProb=0.2, estimateLeadProb=0.5)
    plain, games = play(orders(6, text)), play_with(orders(6, text), with_other)
    for before, game in zip(plain, games, strict=True):
        first = next(turn for turn in range(start_of(game) + 1, 999) if looked_at(game.order.seed, turn))
        assert game.net_changes == ((NetChange(first, OTHER),) if first < game.facts.game_length else ())
        assert game.sgf.replace(f",newNeuralNetTurn{first}=net-b", "") == before.sgf
        assert game.order.black == NET
        assert game.last_network == (OTHER if game.net_changes else NET)
        same = copied(rows_of(game))
        assert (same.global_targets[:, G.NET_CHANGED] == bool(game.net_changes)).all()
        same.global_targets[:, [G.NET_CHANGED, G.NET_CHANGES_AFTER]] = 0
        assert to_npz(same) == to_npz(rows_of(before))
        assert audited(game, text) == ""
    assert sum(bool(game.net_changes) for game in games) >= 4


def test_many_games_at_once_and_two_lanes_change_nothing() -> None:
    text = selfplay_text(switchNetsMidGame=True)
    alone = play_with(orders(5, text), with_other, games=1)
    together = play_with(orders(5, text), with_other, games=5)
    in_lanes = play_with(orders(5, text), with_other, load=lambda network, length: LateEvaluator(length, 2))
    assert [game.sgf for game in alone] == [game.sgf for game in together] == [game.sgf for game in in_lanes]


def test_a_game_changes_often_but_not_without_end() -> None:
    def always_newer(order: GameOrder, network: Network) -> Network | None:
        return Network(f"net-{int(network.name[4:], 36) + 1}", None)

    text = selfplay_text(switchNetsMidGame=True, bSizes=7, bSizeRelProbs=1, maxMovesPerGame=900, scoringRules="AREA")
    games = play_with(orders(6, text), always_newer)
    for game in games:
        turns = [change.turn for change in game.net_changes]
        assert turns == sorted(set(turns))
        assert len(turns) <= MAX_NET_CHANGES
        assert audited(game, text) == ""
        main = rows_of(game).take(np.flatnonzero(~is_side_row(rows_of(game)))).global_targets
        expected = [sum(change > turn for change in turns) for turn in main[:, G.TURN]]
        assert main[:, G.NET_CHANGES_AFTER].tolist() == expected
    assert max(len(game.net_changes) for game in games) >= 5


def test_changes_after_turns() -> None:
    changes = [NetChange(3, NET), NetChange(7, OTHER)]
    assert changes_after(changes, np.array([0, 2, 3, 6, 7, 9])).tolist() == [2, 2, 1, 1, 0, 0]
    assert changes_after([], np.array([0, 5])).tolist() == [0, 0]


# -- by which network --


def constant(win_loss: float) -> Callable[[Floats, Floats, int], Answer]:
    """An opinion of White's prospects that every position shares."""

    def answer(planes: Floats, global_inputs: Floats, symmetry: int) -> Answer:
        is_white = global_inputs[5] > 0  # own komi, which is White's and positive
        policy = np.zeros(LENGTH**2 + 1, np.float32)
        policy[-1] = -30.0  # no line ends, as nobody passes
        return Answer(policy, win_loss=win_loss if is_white else -win_loss)

    return answer


def test_each_row_is_of_one_network_alone() -> None:
    """Neither tree nor kept evaluations of the old one are met by searches of the new one."""
    text = selfplay_text(
        switchNetsMidGame=True, cheapSearchProb=0.5, sidePositionProb=0.3, useReanalyze=True, reanalyzeProp=0.5,
        reanalyzePolicySurpriseWeight=1, reanalyzeValueSurpriseWeight=1, reanalyzeSurpriseExponent=1,
        reanalyzeUseOutcomeTargets=True, drawRandRadius=0, komiMean=6.5, komiStdev=0, komiBigStdevProb=0,
        scoringRules="AREA", reduceVisits=False,
    )  # fmt: skip
    says = {NET: 0.5, OTHER: -0.25}
    games = play_with(
        orders(8, text),
        with_other,
        load=lambda network, length: ScriptedEvaluator(length, constant(says[network])),
    )
    kinds = set()
    for game in games:
        change = game.net_changes[0].turn if game.net_changes else 10**6
        for turn, move in enumerate(read(game.sgf).moves):
            if move.values is not None and move.values.reanalysis_visits is None and turn < game.facts.game_length - 12:
                told = says[NET] if turn < change else says[OTHER]
                assert move.values.win - move.values.loss == pytest.approx(told, abs=0.011)
        columns = rows_of(game).global_targets
        is_later = is_side_row(rows_of(game)) | (columns[:, G.REANALYSED] == 1)
        by_new = (columns[:, G.TURN] >= change) | (is_later & bool(game.net_changes))
        assert np.abs(columns[:, G.NET_WIN_LOSS]) == pytest.approx(np.where(by_new, 0.25, 0.5))
        assert (columns[:, G.NET_CHANGES_AFTER] == (~by_new & bool(game.net_changes))).all()
        assert audited(game, text) == ""
        kinds |= set(zip(is_later.tolist(), by_new.tolist(), strict=True))
    assert kinds == {(False, False), (False, True), (True, True)}, "all games have changed"


@pytest.mark.parametrize("name", ["a,b", " padded"])
def test_a_network_that_no_record_can_name_does_not_do(name: str) -> None:
    text = selfplay_text(switchNetsMidGame=True)
    games = play_with(orders(3, text), lambda order, network: Network(name, None))
    assert not any(game.net_changes for game in games)


def test_a_network_with_another_idea_of_pass_alive_does_not_do() -> None:
    def load(network: Network, length: int) -> Evaluator:
        return OpinionatedEvaluator(length, pass_alive_suicide=network == AGAIN)

    text = selfplay_text(switchNetsMidGame=True)
    games = play_with(orders(3, text), lambda order, network: AGAIN, load=load)
    assert not any(game.net_changes for game in games)


def test_an_asymmetric_game_keeps_its_network() -> None:
    text = selfplay_text(
        switchNetsMidGame=True, normalAsymmetricPlayoutProb=1.0, maxVisits=30, cheapSearchProb=0, reduceVisits=False
    )
    games = play_with(orders(3, text), with_other)
    assert {game.facts.game_type for game in games} == {"asym"}
    assert not any(game.net_changes for game in games)


# -- the audit --


def changed_game() -> tuple[FinishedGame, str]:
    text = selfplay_text(switchNetsMidGame=True)
    game = next(game for game in play_with(orders(6, text), with_other) if game.net_changes and game.rows is not None)
    assert audited(game, text) == ""
    return game, text


def test_the_audit_refuses_what_is_told_otherwise() -> None:
    game, text = changed_game()
    config, rows = parse_selfplay(text), rows_of(game)
    (turn, name) = game.facts.net_changes[0]
    told = f"newNeuralNetTurn{turn}={name}"
    start, end = start_of(game), game.facts.game_length

    def reasons(sgf: str, changes: tuple[tuple[int, str], ...], rows: Rows = rows) -> list[Reason]:
        return audit_training_game(sgf, rows, replace(game.facts, net_changes=changes), config).reasons

    assert reasons(game.sgf, ()) == [Reason.NET_CHANGES]
    assert reasons(game.sgf, ((turn, "net-z"),)) == [Reason.NET_CHANGES]
    assert Reason.NET_CHANGES in reasons(game.sgf.replace("," + told, ""), ((turn, name),))
    for bad in (
        ((start, name),),  # before anything was searched
        ((end + 1, name),),  # after the end
        ((turn, "net-a"),),  # by which it began
        ((turn, name), (turn + 1, name)),
    ):
        written = ",".join(f"newNeuralNetTurn{at}={net}" for at, net in bad)
        assert Reason.NET_CHANGES in reasons(game.sgf.replace(told, written), bad)
    forbidden = parse_selfplay(selfplay_text())
    assert audit_training_game(game.sgf, rows, game.facts, forbidden).reasons == [Reason.NET_CHANGES]


@pytest.mark.parametrize(("column", "change"), [(G.NET_CHANGED, -1.0), (G.NET_CHANGES_AFTER, 1.0)])
def test_the_audit_refuses_rows_that_say_otherwise(column: GlobalTarget, change: float) -> None:
    game, text = changed_game()
    rows = copied(rows_of(game))
    rows.global_targets[-1, column] += change
    findings = audit_training_game(game.sgf, rows, game.facts, parse_selfplay(text))
    assert findings.reasons == [Reason.GAME_COLUMNS]
