"""How games begin: forks are what was played, views change only what is the player's, the impossible is named."""

from __future__ import annotations

import numpy as np
import pytest

from common.go.game import Game
from common.go.points import BLACK, PASS, WHITE, from_vertex
from common.go.rules import Rules
from common.go.start import GameStart, PlayerView, Stone, start_position
from common.replay import replay


def moves_of(text: str, size: int = 4) -> list[Stone]:
    """Moves of Black and White in turn."""
    return [((BLACK, WHITE)[turn % 2], from_vertex(word, size, size)) for turn, word in enumerate(text.split())]


def same(one: np.void, other: np.void) -> bool:
    """Whether two records are equal but for their padding."""
    assert one.dtype.names is not None
    return all(np.array_equal(one[name], other[name]) for name in one.dtype.names)


@pytest.mark.parametrize("rules", ["tromp-taylor", "japanese"])
@pytest.mark.parametrize("turn", [0, 3, 7])
def test_a_fork_is_the_game_up_to_its_turn(rules: str, turn: int) -> None:
    start = GameStart(4, 4, Rules.parse(rules), first_turn=2)
    game, moves = Game(start), moves_of("C3 C2 B2 pass D2 B1 C1")
    for colour, point in moves[:turn]:
        game.play(point, colour)
    fork = start.followed_by(moves[:turn])
    state, history = start_position(fork)
    assert same(state, game.state)
    assert same(history, game.history)
    assert (fork.turn, Game(fork).turn) == (game.turn, game.turn)
    assert start.followed_by(moves[:1]).followed_by(moves[1:turn]) == fork or turn == 0


def test_a_fork_is_replayed_as_the_rest_of_its_game() -> None:
    start, moves = GameStart(4, 4), moves_of("C3 C2 B2 pass D2 B1 C1 A3")
    colours, points = zip(*moves, strict=True)
    turns = np.arange(4, 9)
    whole = replay(start, colours, points, length=5, encoded_turns=turns, legal_turns=turns)
    rest = replay(
        start.followed_by(moves[:4]), colours[4:], points[4:], length=5, encoded_turns=turns - 4, legal_turns=turns - 4
    )
    assert np.array_equal(rest.packed_planes, whole.packed_planes)
    assert np.array_equal(rest.global_inputs, whole.global_inputs)
    assert np.array_equal(rest.legal, whole.legal[4:])
    assert np.array_equal(rest.boards, whole.boards[4:])
    assert same(rest.state, whole.state)


def test_another_komi_or_scoring_keeps_stones_and_moves() -> None:
    start = GameStart(4, 4, Rules.parse("japanese"), phase=1).followed_by(moves_of("C3 C2"))
    dearer = start.under(start.rules.with_komi(-3))
    assert (dearer.rules.komi, dearer.phase, dearer.moves) == (-3, 1, start.moves)
    assert start.under(Rules()).phase == 0


def test_moves_before_may_break_rules_of_play_but_not_lie_on_stones() -> None:
    start = GameStart(4, 4, moves=((BLACK, from_vertex("C3", 4, 4)), (BLACK, from_vertex("C2", 4, 4))), first_turn=3)
    state, _ = start_position(start)
    assert (state["to_move"], state["turns"]) == (WHITE, 2)
    with pytest.raises(ValueError, match="move 6 of the start, of colour 2 at C3, cannot be played"):
        start_position(start.followed_by([(WHITE, from_vertex("C3", 4, 4))]))
    with pytest.raises(ValueError, match="of colour 7 at A1"):
        start_position(start.followed_by([(7, from_vertex("A1", 4, 4))]))
    with pytest.raises(ValueError, match="off the board"):
        start_position(start.followed_by([(WHITE, 10_000)]))


def test_moves_before_count_as_handicap_where_leading_moves_do() -> None:
    rules = Rules.parse("koSIMPLEscoreAREAtaxNONEsui0whbN")
    moves = [(BLACK, from_vertex("C3", 5, 5)), (WHITE, PASS), (BLACK, from_vertex("B2", 5, 5))]
    for counts, bonus in ((True, 2), (False, 0)):
        state, _ = start_position(GameStart(5, 5, rules, moves=tuple(moves), leading_moves_are_handicap=counts))
        assert state["handicap_bonus"] == bonus


def test_a_view_changes_the_players_fields_only() -> None:
    start = GameStart(4, 4, Rules(suicide=False))
    plain, _ = start_position(start)
    seen, _ = start_position(start, PlayerView(draw_white_wins=0.25, pass_alive_suicide=True))
    assert (seen["draw_white_wins"], seen["pass_alive_suicide"]) == (0.25, 1)
    assert (plain["draw_white_wins"], plain["pass_alive_suicide"]) == (0.5, 0)
    seen["draw_white_wins"], seen["pass_alive_suicide"] = 0.5, 0
    assert seen.tobytes() == plain.tobytes()


def test_a_position_for_a_search_is_a_copy() -> None:
    game = Game(GameStart(4, 4))
    game.play("C3")
    before = game.state.tobytes(), game.history.tobytes()
    state, _ = game.position(BLACK, PlayerView(0.25))
    assert (state["to_move"], state["draw_white_wins"]) == (BLACK, 0.25)
    assert (game.state.tobytes(), game.history.tobytes()) == before


def test_a_phase_is_kept_where_cleanup_is_prevented() -> None:
    start = GameStart(4, 4, Rules.parse("japanese"))
    free, kept = Game(start), Game(start, prevents_cleanup=True)
    for game in (free, kept):
        game.play("C3")
        game.play("pass")
    before = kept.state.tobytes(), kept.history["count"]
    for game in (free, kept):
        game.play("pass", tolerant=True)
    assert (free.phase, kept.phase, kept.state["consecutive_passes"]) == (1, 0, 1)
    kept.undo()
    assert (kept.state.tobytes(), kept.history["count"]) == before
    other = kept.under(Rules.parse("korean"))
    other.play("pass")
    assert other.phase == 0
