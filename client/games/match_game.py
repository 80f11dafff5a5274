"""Match games between two networks, move by move: each side keeps its own tree, and may resign.

The counterpart of `client.games.selfplay_game`. Specification: selfplay.md 7, 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from client.games.chance import search_seed, symmetry_salt
from client.games.decided import first_resignation_turn, should_resign
from client.games.finish import MatchTurn, finish_match
from client.games.game import (
    Game,
    Notes,
    all_pass_alive,
    game_dtype,
    guidance_for,
    hit_move_limit,
    is_over,
    new_alive_scratch,
    play_move,
    recent_win_losses,
)
from client.games.orders import FinishedGame, GameOrder
from client.games.playing import Found, Purpose, SearchOrder
from client.games.setup import begin_drawn_game
from client.search.parameters import to_record
from common.go.points import EMPTY, WHITE
from common.parameters import MatchConfig

BLACK_SEAT: Final = 0
WHITE_SEAT: Final = 1

MATCH_GAME: Final = game_dtype(
    ("bots", np.int32, 2),  # by seat, which of the configuration
    ("resigned_by", np.int8),  # a colour; EMPTY: nobody
)


class MatchGames:
    """Games between two networks; see `client.games.playing.Games`.

    Args:
        config: how to set up and play.
        capacity: most games at once.
    """

    def __init__(self, config: MatchConfig, capacity: int) -> None:
        self.records = np.zeros(capacity, MATCH_GAME)
        self.notes: dict[int, Notes[MatchTurn]] = {}
        self._config = config
        self._parameters = [to_record(bot) for bot in config.bots]
        self._scratch = new_alive_scratch()

    def begin(self, slot: int, order: GameOrder) -> None:
        """Set a game up from its seed."""
        config, game = self._config, self.records[slot]
        setup, view, _ = begin_drawn_game(
            game,
            config.init,
            config.bots[order.bots[BLACK_SEAT]],
            None,
            seed=order.seed,
            max_searched_moves=config.match.max_moves_per_game,
        )
        game["bots"], game["resigned_by"] = order.bots, EMPTY
        self.notes[slot] = Notes(setup.start, view)

    def next_searches(self, due: Sequence[int]) -> list[SearchOrder | None]:
        """The searches of the players to move; None: the game is over."""
        return [self._next_search(self.records[slot]) for slot in due]

    def take(self, due: Sequence[int], found: Sequence[Found]) -> list[int | None]:
        """Play the moves that were found; a player may resign with one."""
        return [self._take(slot, each) for slot, each in zip(due, found, strict=True)]

    def finish(self, slot: int, order: GameOrder) -> FinishedGame:
        """SGF and facts of a game."""
        game = self.records[slot]
        return finish_match(order, game, self.notes.pop(slot), int(game["resigned_by"]))

    def _next_search(self, game: Game) -> SearchOrder | None:
        if game["resigned_by"] or is_over(game) or hit_move_limit(game) or all_pass_alive(game, self._scratch):
            return None
        seat = WHITE_SEAT if game["state"]["to_move"] == WHITE else BLACK_SEAT
        bot = game["bots"][seat]
        return SearchOrder(
            purpose=Purpose.TURN,
            seat=seat,
            state=game["state"],
            history=game["history"],
            parameters=self._parameters[bot],
            visits=self._config.bots[bot].max_visits,
            playouts=self._config.bots[bot].max_playouts,
            seconds=self._config.bots[bot].max_time,
            seed=search_seed(game["seed"], game["turn"], Purpose.TURN),
            keep_tree=True,
            guidance=guidance_for(game, self._parameters[bot]),
            symmetry_salt=symmetry_salt(game["seed"]),
        )

    def _take(self, slot: int, found: Found) -> int:
        assert found.result is not None
        assert found.point is not None
        game, mean = self.records[slot], found.result.mean
        game["win_losses"][game["turn"]] = mean.win_loss
        turn = MatchTurn(mean.win_loss, mean.no_result, mean.score_mean, found.result.visits)
        self.notes[slot].turns.append(turn)
        mover = game["state"]["to_move"]
        play_move(game, found.point)
        if self._resigns(game, white_moved=bool(mover == WHITE)):
            game["resigned_by"] = mover
        return found.point

    def _resigns(self, game: Game, *, white_moved: bool) -> bool:
        match, state = self._config.match, game["state"]
        area = int(state["x_size"]) * int(state["y_size"])
        if not match.allow_resignation or game["turn"] <= first_resignation_turn(area):
            return False
        turns = match.resign_consec_turns
        return should_resign(
            recent_win_losses(game, turns), white_moved=white_moved, threshold=match.resign_threshold, turns=turns
        )
