"""Games of self-play with one network: how they begin, and what is made of them at the end.

The turns between are in `client.games.selfplay_turns`; what they say becomes rows in `client.games.recorder`.
Specification: selfplay.md 2 to 5.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from client.games import draws
from client.games.chance import Draw, generator, search_seed
from client.games.finish import finish_selfplay
from client.games.game import Game, Notes, is_over, new_alive_scratch, play_move
from client.games.orders import FinishedGame, GameOrder
from client.games.played import new_turn_notes, played_game, with_more_room
from client.games.playing import Purpose, Script, SearchOrder
from client.games.selfplay_turns import SELFPLAY_GAME, options_of, play_turns
from client.games.setup import begin_drawn_game
from client.search.parameters import to_record, without_exploration
from client.search.turns import Slots, new_turns
from common.go.points import point_of
from common.parameters import SelfplayConfig

EARLY_END_PROB: Final = 0.98
"""Share of games that stop as soon as everything is pass-alive."""


class SelfplayGames:
    """Games of self-play with one network; see `client.games.playing.Games`.

    Args:
        config: how to set up and play.
        capacity: most games at once.
        length: edge of the tensors.
        pass_alive_suicide: what the net takes for pass-alive (rules.md 9.4).
    """

    def __init__(self, config: SelfplayConfig, capacity: int, length: int, *, pass_alive_suicide: bool = False) -> None:
        self.records = np.zeros(capacity, SELFPLAY_GAME)
        self.notes: dict[int, Notes] = {}
        self.turn_notes = new_turn_notes(capacity, length, policies=True)
        self.turns = new_turns(self.records["state"], self.records["history"], length)
        self._config = config
        self._options = options_of(config)
        self._length = length
        self._pass_alive_suicide = pass_alive_suicide
        self._scratch = new_alive_scratch()
        self._over = np.zeros(capacity, np.int32)

    def begin(self, slot: int, order: GameOrder) -> Script[None]:
        """Set a game up from its seed, and play its opening from the raw policy."""
        config, game = self._config, self.records[slot]
        setup, view, random = begin_drawn_game(
            game,
            config.init,
            config.search,
            config.selfplay,
            seed=order.seed,
            max_searched_moves=config.selfplay.max_moves_per_game,
            pass_alive_suicide=self._pass_alive_suicide,
        )
        search = replace(
            config.search,
            no_result_utility_for_white=setup.no_result_utility,
            draw_equivalent_wins_for_white=setup.draw_white_wins,
        )
        game["stops_early"] = draws.coin(random, EARLY_END_PROB)
        game["full_search"] = to_record(search)
        game["cheap_search"] = to_record(without_exploration(search))
        self.notes[slot] = Notes(setup.start, view)
        while game["turn"] < setup.opening_moves and not is_over(game):
            found = yield _opening_search(game)
            play_move(game, self._opening_move(game, found.raw_policy))
        game["first_searched_turn"] = game["turn"]

    def go_on(self, slots: Slots) -> list[int]:
        """Take the turns' moves, and order the searches of the next."""
        count = play_turns(self.records, self.turn_notes, self.turns, slots, self._options, self._scratch, self._over)
        if self.turn_notes.is_full[0]:
            self.turn_notes = with_more_room(self.turn_notes)
        over: list[int] = self._over[:count].tolist()
        return over

    def end(self, slot: int, order: GameOrder) -> Script[FinishedGame]:
        """SGF, rows and facts of a game."""
        game, random = self.records[slot], generator(order.seed, 0, Draw.ROWS)
        played = played_game(game, self.notes.pop(slot), self.turn_notes, slot)
        yield from ()
        return finish_selfplay(order, game["state"], played, self._config.selfplay, random)

    def _opening_move(self, game: Game, policy: np.ndarray[tuple[int], np.dtype[np.float32]]) -> int:
        temperature = self._config.selfplay.policy_init_area_temperature
        random = generator(int(game["seed"]), int(game["turn"]), Draw.OPENING_MOVE)
        return int(point_of(draws.opening_position(policy, temperature, random), self._length))


def _opening_search(game: Game) -> SearchOrder:
    """The raw policy of the present position."""
    return SearchOrder(
        seat=0,
        state=game["state"],
        history=game["history"],
        parameters=game["cheap_search"],
        visits=1,
        seed=search_seed(game["seed"], game["turn"], Purpose.OPENING),
        symmetry_salt=int(game["symmetry_salt"]),
    )
