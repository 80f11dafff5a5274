"""Games of self-play with one network: how they begin, and what is made of them at the end.

The turns between are in `client.games.selfplay_turns`; what they say becomes rows in `client.games.recorder`.
Specification: selfplay.md 1.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from client.games.afterwards import Afterwards
from client.games.beginning import Plan, begin
from client.games.finish import finish_selfplay
from client.games.forks import ForkSource, forks_of
from client.games.game import Notes, begin_game, new_alive_scratch, new_records
from client.games.inquiries import Inquirer
from client.games.orders import FinishedGame, GameOrder
from client.games.played import PlayedGame, new_turn_notes, played_game, with_more_room
from client.games.playing import Script
from client.games.selfplay_turns import SELFPLAY_GAME, options_of, play_turns, set_up_turns
from client.search.turns import Slots, new_turns
from common.parameters import SearchParameters, SelfplayConfig
from common.replay import ending


class SelfplayGames:
    """Games of self-play with one network; see `client.games.playing.Games`.

    Args:
        config: how to set up and play.
        capacity: most games at once.
        length: edge of the tensors.
        pass_alive_suicide: what the net takes for pass-alive (rules.md 9.4).
    """

    def __init__(self, config: SelfplayConfig, capacity: int, length: int, *, pass_alive_suicide: bool = False) -> None:
        self.records = new_records(capacity, SELFPLAY_GAME)
        self.notes: dict[int, Notes] = {}
        self.turn_notes = new_turn_notes(capacity, length, policies=True)
        self.turns = new_turns(self.records["state"], self.records["history"], length)
        self._config = config
        self._options = options_of(config)
        self._plan = Plan(
            init=config.init,
            searches=(config.search,),
            runner=config.selfplay,
            length=length,
            pass_alive_suicide=pass_alive_suicide,
        )
        self._scratch = new_alive_scratch()
        self._over = np.zeros(capacity, np.int32)

    def begin(self, slot: int, order: GameOrder) -> Script[None]:
        """Begin a game by its seed, where the order says or on the empty board."""
        config, game = self._config, self.records[slot]
        plan = replace(self._plan, knows_nothing=order.black.path is None)
        begun = yield from begin(plan, order.seed, order.start)
        begin_game(
            game,
            begun.state,
            begun.history,
            begun.moves,
            seed=order.seed,
            hash_words=begun.hash_words,
            max_searched_moves=config.selfplay.max_moves_per_game,
            first_turn=begun.start.first_turn,
        )
        search = self._search(begun.no_result_utility, begun.view.draw_white_wins)
        set_up_turns(game, search, begun.provenance, stops_early=begun.stops_early)
        self.notes[slot] = Notes(begun.start, begun.view, begun.provenance)

    def _search(self, no_result_utility: float, draw_white_wins: float) -> SearchParameters:
        """How a turn is searched in full, with a game's own utilities."""
        return replace(
            self._config.search,
            no_result_utility_for_white=no_result_utility,
            draw_equivalent_wins_for_white=draw_white_wins,
        )

    def go_on(self, slots: Slots) -> list[int]:
        """Take the turns' moves, and order the searches of the next."""
        count = play_turns(self.records, self.turn_notes, self.turns, slots, self._options, self._scratch, self._over)
        if self.turn_notes.is_full[0]:
            self.turn_notes = with_more_room(self.turn_notes)
        over: list[int] = self._over[:count].tolist()
        return over

    def end(self, slot: int, order: GameOrder) -> Script[FinishedGame]:
        """SGF, rows and facts of a game, and what goes on from it."""
        game, options = self.records[slot], self._config.selfplay
        played = played_game(game, self.notes.pop(slot), self.turn_notes, slot)
        search = self._search(float(game["full_search"]["no_result_utility_for_white"]), played.view.draw_white_wins)
        doublings = played.provenance.white_doublings
        inquirer = Inquirer(order.seed, (search,), options.estimate_lead_visits, doublings, is_after=True)
        afterwards = Afterwards(
            game=game,
            played=played,
            search=search,
            options=options,
            turn_options=self._options,
            inquirer=inquirer,
            turns=self.turns,
            slot=slot,
            length=order.length,
        )
        finished = finish_selfplay(order, (yield from afterwards.script()), options.sgf_top_moves)
        end = None if played.hit_move_limit else ending(game["state"], order.length)
        forks = yield from forks_of(_source_of(played), end, self._config, order.seed, inquirer, order.length)
        return replace(finished, forks=forks.plain, seki_forks=forks.seki)


def _source_of(played: PlayedGame) -> ForkSource:
    """A finished game, as forks see it."""
    return ForkSource(
        start=played.start,
        pass_alive_suicide=played.view.pass_alive_suicide,
        moves=tuple(zip(played.colours.tolist(), played.points.tolist(), strict=True)),
        first_turn=played.first_turn,
        hint=played.provenance.hint,
        is_seki_fork=played.provenance.is_seki_fork,
        training_weight=played.provenance.training_weight,
    )
