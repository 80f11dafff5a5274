"""Streams of games: what comes out passes the audit, follows from its seed, and stops when told to."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from client.games.orders import FinishedGame, GameOrder
from client.games.stream import StreamControl, StreamStats, play_stream
from client.networks import Network
from client.search.cache import CacheForm, CacheSettings
from client.search.pool import NonFiniteEvaluationError
from common.audit import audit_rating_game, audit_training_game
from common.config_text import ConfigError
from common.rows import read_npz, to_npz
from common.sgf import read
from nets.evaluation.uniform import UniformEvaluator
from tests.client.games.evaluators import FailingEvaluator, LateEvaluator, OpinionatedEvaluator, SidedEvaluator
from tests.client.games.games import LENGTH, NET, OTHER, match_text, orders, play, selfplay_text

ALL_RULES = {
    "koRules": "SIMPLE,POSITIONAL,SITUATIONAL",
    "scoringRules": "AREA,TERRITORY",
    "taxRules": "NONE,SEKI,ALL",
    "multiStoneSuicideLegals": "false,true",
    "hasButtons": "false,true",
}


def audited(games: list[FinishedGame]) -> list[str]:
    texts = []
    for game in games:
        if game.rows is not None:
            findings = audit_training_game(game.sgf, read_npz(to_npz(game.rows), length=LENGTH), game.facts)
        else:
            findings = audit_rating_game(game.sgf, game.facts)
        texts.append(str(findings))
    return texts


def test_games_of_self_play_pass_the_audit() -> None:
    games = play(orders(24, selfplay_text(**ALL_RULES)))
    assert audited(games) == [""] * 24
    with_rows = [game for game in games if game.rows is not None]
    assert len(with_rows) > 15
    assert len({(game.facts.x_size, game.facts.y_size) for game in games}) == 4
    assert len({game.facts.rules.to_short(komi=False) for game in games}) > 12
    assert len({game.facts.draw_white_wins for game in games}) == 24


def test_a_net_without_knowledge_plays() -> None:
    games = play(orders(4, selfplay_text()), load=lambda network, length: UniformEvaluator(length))
    assert audited(games) == [""] * 4


def test_a_net_may_have_its_own_idea_of_pass_alive() -> None:
    text = selfplay_text(multiStoneSuicideLegals="false")
    games = play(orders(4, text), load=lambda network, length: OpinionatedEvaluator(length, pass_alive_suicide=True))
    assert audited(games) == [""] * 4
    rows = [game.rows.global_targets for game in games if game.rows is not None]
    assert rows
    assert all((columns[:, 68] == 1).all() for columns in rows)


def test_a_game_follows_from_its_seed_alone() -> None:
    wanted = orders(6, selfplay_text())
    together, one_by_one = play(wanted, games=6), play(wanted, games=1)
    for first, second in zip(together, one_by_one, strict=True):
        assert first.sgf == second.sgf
        assert (first.rows is None) == (second.rows is None)
        if first.rows is not None and second.rows is not None:
            assert to_npz(first.rows) == to_npz(second.rows)
    assert len({game.sgf for game in together}) == 6


def test_what_is_kept_of_evaluations_changes_no_game() -> None:
    found, evaluated = {}, {}
    for max_bytes in (0, 3000, 1 << 24):
        stats, games = StreamStats(), dict[int, str]()
        waiting = iter([*orders(6, selfplay_text()), *orders(3, match_text(), NET, OTHER, first_seed=6)])
        play_stream(
            lambda waiting=waiting: next(waiting, None),  # type: ignore[misc]
            lambda game, games=games: games.setdefault(game.order.seed, game.sgf),  # type: ignore[misc]
            games=4,
            load=lambda network, length: SidedEvaluator(length),
            control=StreamControl(),
            stats=stats,
            cache=CacheSettings(CacheForm.INPUTS, max_bytes),
            until_empty=True,
        )
        found[max_bytes], evaluated[max_bytes] = games, stats
    assert found[0] == found[3000] == found[1 << 24]
    hits = [stats.found for stats in evaluated.values()]
    assert 0 == hits[0] < hits[1] < hits[2]
    assert len({stats.evaluations + stats.found for stats in evaluated.values()}) == 1


@pytest.mark.parametrize("output", ["policy", "win_loss", "no_result", "score_mean", "score_stdev", "lead"])
def test_what_is_not_a_number_ends_the_stream_and_is_in_no_row(output: str) -> None:
    """The devices' evaluators refuse it already (`nets.evaluation.pipeline`); the search does not rely on that."""
    evaluator, finished, waiting = (
        FailingEvaluator(LENGTH, output, 3000),
        list[FinishedGame](),
        iter(orders(40, selfplay_text())),
    )
    with pytest.raises(NonFiniteEvaluationError, match="not finite: try another net, or a device and precision"):
        play_stream(
            lambda: next(waiting, None),
            finished.append,
            games=6,
            load=lambda network, length: evaluator,
            control=StreamControl(),
            stats=StreamStats(),
            cache=CacheSettings(CacheForm.INPUTS, 0),
            until_empty=True,
        )
    assert finished, "games that had ended before are kept"
    assert audited(finished) == [""] * len(finished)
    assert evaluator.closed == 1


@pytest.mark.parametrize("lanes", [2, 3])
@pytest.mark.parametrize("games", [1, 7, 12])
def test_where_a_device_works_by_itself_the_games_are_the_same(lanes: int, games: int) -> None:
    evaluators: list[LateEvaluator] = []

    def load(network: Network, length: int) -> LateEvaluator:
        evaluators.append(LateEvaluator(length, lanes))
        return evaluators[-1]

    wanted = [
        *orders(8, selfplay_text()),
        *orders(5, match_text(), NET, OTHER, first_seed=8),
        *orders(3, selfplay_text(), OTHER, OTHER, first_seed=13),
    ]
    found, expected = play(wanted, games=games, load=load), play(wanted, games=1)
    assert [game.sgf for game in found] == [game.sgf for game in expected]
    assert all(evaluator.closed == 1 for evaluator in evaluators)


def test_a_device_has_the_next_batch_while_the_last_is_taken_in() -> None:
    evaluator = LateEvaluator(LENGTH, 2)
    play(orders(24, selfplay_text(maxMovesPerGame=12)), games=16, load=lambda network, length: evaluator)
    assert set(evaluator.others) == {0, 1}
    assert np.mean(evaluator.others) > 0.9  # all but the first, and the end when few games are left
    assert max(evaluator.batch_sizes) == 8


def test_the_sgf_reads_as_katagos_do() -> None:
    game = play(orders(1, selfplay_text(bSizes=5, bSizeRelProbs=1, allowRectangleProb=0)))[0]
    record = read(game.sgf)
    assert game.sgf.startswith(f"(;FF[4]GM[1]SZ[5]PB[net-a]PW[net-a]HA[0]KM[{game.facts.rules.komi:g}]RU[ko")
    assert "\n" not in game.sgf
    assert record.info is not None
    assert record.info.game_hash == game.facts.uid
    assert record.info.game_type == "normal"
    assert len(record.moves) == game.facts.game_length
    searched = [move.values for move in record.moves[record.info.start_turn :]]
    assert all(values is not None and values.weight is not None for values in searched)


def test_match_games_pass_the_audit_and_give_no_rows() -> None:
    games = play([*orders(4, match_text(), NET, OTHER), *orders(4, match_text(), OTHER, NET, first_seed=4)])
    assert audited(games) == [""] * 8
    assert all(game.rows is None for game in games)
    assert {(game.facts.black_network, game.facts.white_network) for game in games} == {
        ("net-a", "net-b"),
        ("net-b", "net-a"),
    }


def test_finished_games_can_be_sent_between_processes() -> None:
    game = play(orders(1, selfplay_text()))[0]
    again = pickle.loads(pickle.dumps(game))
    assert again.sgf == game.sgf
    assert again.facts == game.facts


class Stopping:
    """A source without end that presses a button after so many games were started."""

    def __init__(self, control: StreamControl, button: str, after: int) -> None:
        self._control, self._button, self._after = control, button, after
        self.started = 0

    def __call__(self) -> GameOrder | None:
        if self.started == self._after:
            getattr(self._control, self._button).set()
            return None
        self.started += 1
        return orders(1, selfplay_text(), first_seed=self.started)[0]


@pytest.mark.parametrize(("button", "finished"), [("finish", 5), ("stop_now", None)])
def test_a_stream_stops(button: str, finished: int | None) -> None:
    control, stats, games = StreamControl(), StreamStats(), list[FinishedGame]()
    evaluators: list[OpinionatedEvaluator] = []

    def load(network: Network, length: int) -> OpinionatedEvaluator:
        evaluators.append(OpinionatedEvaluator(length))
        return evaluators[-1]

    source = Stopping(control, button, after=5)
    play_stream(source, games.append, games=3, load=load, control=control, stats=stats)
    assert source.started == 5
    assert len(games) == finished if finished is not None else len(games) < 5
    assert stats.games == len(games)
    assert stats.games_running == 0
    assert [evaluator.closed for evaluator in evaluators] == [1]


def test_networks_change_between_games() -> None:
    loaded: list[tuple[str, OpinionatedEvaluator]] = []

    def load(network: Network, length: int) -> OpinionatedEvaluator:
        loaded.append((network.name, OpinionatedEvaluator(length)))
        return loaded[-1][1]

    names = ["first", "first", "second", "second", "third", "third"]
    wanted = []
    for seed, name in enumerate(names):
        net = Network(name, None)
        wanted += orders(1, selfplay_text(), net, net, first_seed=seed)
    games = play(wanted, games=2, load=load)
    assert [game.facts.black_network for game in games] == names
    assert [name for name, _ in loaded] == ["first", "second", "third"]
    assert all(evaluator.closed == 1 for _, evaluator in loaded)


def test_totals_are_kept() -> None:
    stats, games = StreamStats(), list[FinishedGame]()
    waiting = iter(orders(3, selfplay_text()))
    play_stream(
        lambda: next(waiting, None),
        games.append,
        games=2,
        load=lambda network, length: OpinionatedEvaluator(length),
        control=StreamControl(),
        stats=stats,
        until_empty=True,
    )
    assert stats.games == 3
    assert stats.moves == sum(game.facts.game_length for game in games)
    assert stats.rows == sum(game.rows.count for game in games if game.rows is not None)
    assert stats.evaluations + stats.found >= stats.moves
    assert stats.evaluations > stats.found > 0


def test_a_board_larger_than_the_tensor_is_refused() -> None:
    with pytest.raises(ConfigError, match="9"):
        play(orders(1, selfplay_text(bSizes=9, bSizeRelProbs=1)))


def test_rows_hold_what_the_specification_demands_of_writers() -> None:
    games = play(orders(8, selfplay_text(cheapSearchProb=0)))
    rows = [game.rows for game in games if game.rows is not None]
    columns = np.concatenate([part.global_targets for part in rows])
    distributions = np.concatenate([part.score_distribution for part in rows]).astype(int)
    targets = np.concatenate([part.value_targets for part in rows]).astype(int)
    scores = np.arange(distributions.shape[1]) - distributions.shape[1] / 2 + 0.5
    has_outcome = columns[:, 27] == 1
    assert (distributions.sum(axis=1) == 100).all()
    mean = (distributions * scores).sum(axis=1) / 100
    np.testing.assert_allclose(mean[has_outcome], columns[has_outcome, 20], atol=0.0051)
    for first in (0, 4, 8, 12, 16):
        np.testing.assert_allclose(columns[:, first : first + 3].sum(axis=1), 1, atol=1e-6)
    # area scoring without tax and button: ownership and komi are the score
    owned = targets[:, 0].sum(axis=(1, 2))
    np.testing.assert_allclose((owned + columns[:, 47])[has_outcome], columns[has_outcome, 20], atol=1e-5)
