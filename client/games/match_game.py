"""Match games between two networks: how they begin, and what is made of them at the end.

The counterpart of `client.games.selfplay_game`; the turns between are in `client.games.match_turns`.
Specification: selfplay.md 9.
"""

from __future__ import annotations

import numpy as np

from client.games.beginning import Plan, begin
from client.games.finish import finish_match
from client.games.game import Notes, begin_game, new_alive_scratch, new_records
from client.games.match_turns import MATCH_GAME, options_of, play_turns
from client.games.orders import FinishedGame, GameOrder
from client.games.played import new_turn_notes, played_game, with_more_room
from client.games.playing import Script
from client.search.turns import Slots, new_turns
from common.go.points import EMPTY
from common.parameters import MatchConfig


class MatchGames:
    """Games between two networks; see `client.games.playing.Games`.

    Args:
        config: how to set up and play.
        capacity: most games at once.
        length: edge of the tensors.
    """

    def __init__(self, config: MatchConfig, capacity: int, length: int) -> None:
        self.records = new_records(capacity, MATCH_GAME)
        self.notes: dict[int, Notes] = {}
        self.turn_notes = new_turn_notes(capacity, length, policies=False)
        self.turns = new_turns(self.records["state"], self.records["history"], length)
        self._config = config
        self._length = length
        self._options = options_of(config)
        self._scratch = new_alive_scratch()
        self._over = np.zeros(capacity, np.int32)

    def begin(self, slot: int, order: GameOrder) -> Script[None]:
        """Begin a game by its seed."""
        config, game = self._config, self.records[slot]
        plan = Plan(
            init=config.init,
            searches=tuple(config.bots[bot] for bot in order.bots),
            runner=config.match,
            length=self._length,
        )
        begun = yield from begin(plan, order.seed, order.start)
        begin_game(
            game,
            begun.state,
            begun.history,
            begun.moves,
            seed=order.seed,
            hash_words=begun.hash_words,
            max_searched_moves=config.match.max_moves_per_game,
        )
        game["bots"], game["resigned_by"], game["komi_bonus"] = order.bots, EMPTY, 0.0
        self.notes[slot] = Notes(begun.start, begun.view, begun.provenance)

    def go_on(self, slots: Slots) -> list[int]:
        """Take the turns' moves, and order the searches of the players to move; a player may resign with a move."""
        count = play_turns(self.records, self.turn_notes, self.turns, slots, self._options, self._scratch, self._over)
        if self.turn_notes.is_full[0]:
            self.turn_notes = with_more_room(self.turn_notes)
        over: list[int] = self._over[:count].tolist()
        return over

    def end(self, slot: int, order: GameOrder) -> Script[FinishedGame]:
        """SGF and facts of a game."""
        game = self.records[slot]
        played = played_game(game, self.notes.pop(slot), self.turn_notes, slot)
        yield from ()
        return finish_match(order, game["state"], played, int(game["resigned_by"]))
