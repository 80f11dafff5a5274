"""The tables of a match: pairs of games, what players are told, how games end, players that do not play along."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from client.matches.ledger import MatchResult
from client.matches.players import Decision, PlayerError
from client.matches.playing import Hall
from client.matches.schedule import schedule_of
from common import sgf
from common.go.game import Game
from common.go.points import BLACK, PASS, WHITE, from_vertex
from common.go.rules import Rules
from common.go.start import GameStart
from common.parameters import PairingParameters

Choose = Callable[[Game], int | None]
RULES = Rules.parse("tromp-taylor").with_komi(0.5)


def passes(game: Game) -> int:
    return PASS


def first_point(game: Game) -> int:
    return next((point for point in game.legal_moves() if point != PASS), PASS)


@dataclass
class ScriptedPlayer:
    """Decides at once by a function; remembers what it was told."""

    name: str
    choose: Choose
    told: list[tuple[str, int]] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)
    games: dict[int, Game] = field(default_factory=dict)
    _due: list[tuple[int, Decision]] = field(default_factory=list)

    def warm_up(self, start: GameStart) -> None:
        pass

    def begin(self, table: int, game: Game, seed: int) -> None:
        assert table not in self.games
        self.games[table] = game.copy()
        self.seeds.append(seed)

    def think(self, table: int, game: Game) -> None:
        assert str(game) == str(self.games[table]), "it was told all moves"
        self._due.append((table, Decision(self.choose(game), 0.5)))

    def poll(self) -> list[tuple[int, Decision]]:
        due, self._due = self._due, []
        return due

    def played(self, table: int, colour: int, point: int, win_loss: float | None) -> None:
        self.games[table].play(point, colour)

    def leave(self, table: int) -> None:
        del self.games[table]

    def close(self) -> None:
        pass


@dataclass
class Beginning:
    """Pair k begins on a board of edge 5 + k % 3, after one move."""

    def start_of(self, pair: int) -> GameStart:
        edge = 5 + pair % 3
        return GameStart(edge, edge, RULES).followed_by([(BLACK, from_vertex("C3", edge, edge))])


def play(first: Choose, second: Choose, games: int, tables: int = 3, max_moves: int | None = None) -> list[MatchResult]:
    players = ScriptedPlayer("one", first), ScriptedPlayer("two", second)
    numbers: Iterator[int] = iter(range(games))
    results: list[MatchResult] = []
    hall = Hall(players, Beginning(), tables=tables, seed=3, max_moves=max_moves)
    hall.play(lambda: next(numbers, None), results.append)
    assert not players[0].games
    assert not players[1].games
    return sorted(results, key=lambda result: result.number)


def test_pairs_share_their_opening_and_swap_colours() -> None:
    results = play(first_point, passes, 6)
    assert [result.number for result in results] == list(range(6))
    assert [result.first_is_black for result in results] == [True, False] * 3
    for result in results:
        record = sgf.read(result.sgf)
        assert record.x_size == 5 + result.number // 2
        assert record.moves[0].at == (2, record.y_size - 3)
        names = ("one", "two") if result.first_is_black else ("two", "one")
        assert (record.black_name, record.white_name) == names
        assert record.result == result.result
    # who plays stones owns the board, but for the one stone of the opening
    assert [result.points for result in results] == [1.0] * 6
    assert {result.result[0] for result in results[::2]} == {"B"}
    assert {result.result[0] for result in results[1::2]} == {"W"}


def test_of_several_players_only_two_sit_at_a_table() -> None:
    schedule = schedule_of(PairingParameters(secondary_bots=(1, 2)), 3)
    players = [ScriptedPlayer(name, choose) for name, choose in zip("abc", (first_point, passes, passes), strict=True)]
    numbers, results = iter(range(8)), list[MatchResult]()
    hall = Hall(players, Beginning(), tables=3, seed=3, schedule=schedule)
    hall.play(lambda: next(numbers, None), results.append)
    assert not any(player.games for player in players)
    assert [len(player.seeds) for player in players] == [8, 4, 4]
    results.sort(key=lambda result: result.number)
    assert [result.players for result in results] == [(0, 1), (0, 1), (0, 2), (0, 2)] * 2
    assert [result.points for result in results] == [1.0] * 8
    records = [sgf.read(result.sgf) for result in results]
    assert [record.black_name + record.white_name for record in records] == ["ab", "ba", "ac", "ca"] * 2
    assert [record.x_size for record in records] == [5] * 4 + [6] * 4, "a round has one opening"


def test_points_and_times_are_those_of_the_first_player() -> None:
    (black, white) = play(passes, passes, 2)
    # two passes: Black owns all 25 points by its stone of the opening, less komi
    assert (black.result, white.result) == ("B+24.5", "B+24.5")
    assert (black.points, white.points) == (1.0, 0.0)
    # White, to move after the opening, and Black passed once each
    assert black.seconds == white.seconds == (0.5, 0.5)
    assert black.moves == 2


def test_resignation() -> None:
    (black, white) = play(lambda game: None, first_point, 2)
    assert (black.points, white.points) == (0.0, 0.0)
    assert (black.result, white.result) == ("W+R", "B+R")


def test_a_game_without_end_is_stopped_and_counted() -> None:
    (result,) = play(first_point, first_point, 1, max_moves=4)
    assert result.moves == 4
    # counted as it stands, by playing the record again
    score = Game(Beginning().start_of(0))
    for move in sgf.read(result.sgf).moves[1:]:
        assert move.at is not None
        score.play(from_vertex(f"{'ABCDE'[move.at[0]]}{5 - move.at[1]}", 5, 5), move.colour)
    assert result.result == ("B" if score.score() < 0 else "W") + f"+{abs(score.score()):g}"


def test_decided_games_are_not_played_out() -> None:
    """Nobody needs to fill in what is pass-alive; a game ends there though neither side has passed."""

    def wall_and_eyes(game: Game) -> int:
        for vertex in ("C1", "C2", "C4", "C5", "B3", "D3", "A3", "E3", "B1", "D5"):
            point = from_vertex(vertex, 5, 5)
            if game.colour_at(point) == 0 and game.why_illegal(point) is None:
                return point
        return PASS

    results = play(wall_and_eyes, passes, 2)
    for result in results:
        record = sgf.read(result.sgf)
        assert record.moves[-1].at is not None or record.result is not None
        assert result.points == 1.0


def test_seeds_are_of_games_not_of_tables() -> None:
    def seeds(tables: int) -> list[int]:
        players = ScriptedPlayer("one", passes), ScriptedPlayer("two", passes)
        numbers = iter(range(4))
        Hall(players, Beginning(), tables=tables, seed=3).play(lambda: next(numbers, None), lambda result: None)
        return sorted(players[0].seeds)

    assert seeds(1) == seeds(3)
    assert len(set(seeds(1))) == 4


def test_an_illegal_move_ends_the_match() -> None:
    with pytest.raises(PlayerError, match="one plays illegally in game 0"):
        play(lambda game: from_vertex("C3", 5, 5), passes, 1)


def test_random_players_finish_many_games() -> None:
    random = np.random.default_rng(5)

    def any_move(game: Game) -> int:
        return int(random.choice(game.legal_moves()))

    results = play(any_move, any_move, 12, tables=5)
    assert len(results) == 12
    for result in results:
        winner = result.result[0]
        expected = {"B": float(result.first_is_black), "W": float(not result.first_is_black)}.get(winner, 0.5)
        assert result.points == expected


def test_white_begins_where_the_opening_says_so() -> None:
    seen: list[int] = []

    def note(game: Game) -> int:
        seen.append(game.to_move)
        return PASS

    play(note, passes, 1)
    assert seen == [BLACK]
    seen.clear()
    play(passes, note, 1)
    assert seen == [WHITE]
