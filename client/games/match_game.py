"""One match game between two networks, move by move: each side keeps its own tree, and may resign.

The counterpart of `client.games.selfplay_game`, which is one game of self-play. Specification: selfplay.md 7, 9.
"""

from __future__ import annotations

from typing import Final

from client.games.chance import Draw, generator, search_seed
from client.games.decided import first_resignation_turn, should_resign
from client.games.finish import MatchTurn, finish_match
from client.games.game import GameInProgress
from client.games.orders import FinishedGame, GameOrder
from client.games.playing import Found, Purpose, SearchOrder
from client.games.setup import draw_hash, new_game
from client.search.parameters import to_record
from common.go.points import WHITE
from common.go.start import PlayerView
from common.parameters import MatchConfig

BLACK_SEAT: Final = 0
WHITE_SEAT: Final = 1


class MatchGame:
    """A game between two networks.

    Args:
        seed: everything random follows from it.
        config: how to set up and play.
        bots: which bot of the configuration is Black, which White.
    """

    def __init__(self, seed: int, config: MatchConfig, bots: tuple[int, int]) -> None:
        self._match = config.match
        self._bots = [config.bots[bot] for bot in bots]
        self._records = [to_record(bot) for bot in self._bots]
        self._seed = seed
        random = generator(seed, 0, Draw.SETUP)
        self.hash_words = draw_hash(random)
        setup = new_game(config.init, self._bots[0], None, random)
        self.game = GameInProgress(setup.start, config.match.max_moves_per_game, PlayerView(setup.draw_white_wins))
        self.turns: list[MatchTurn] = []
        self.resigned_by: int | None = None  # colour
        self._win_losses: list[float] = []

    def next_search(self) -> SearchOrder | None:
        """The search of the player to move; None: the game is over."""
        game = self.game
        if self.resigned_by is not None or game.is_over or game.hit_move_limit or game.all_pass_alive():
            return None
        seat = WHITE_SEAT if game.white_to_move else BLACK_SEAT
        return SearchOrder(
            purpose=Purpose.TURN,
            seat=seat,
            state=game.state,
            history=game.history,
            parameters=self._records[seat],
            visits=self._bots[seat].max_visits,
            seed=search_seed(self._seed, game.turn, Purpose.TURN),
            keep_tree=True,
        )

    def take(self, found: Found) -> int | None:
        """Play the move that was found; its player may resign with it."""
        assert found.point is not None
        mean = found.result.mean
        self._win_losses.append(mean.win_loss)
        self.turns.append(MatchTurn(mean.win_loss, mean.no_result, mean.score_mean, found.result.visits))
        mover = int(self.game.state["to_move"])
        self.game.play(found.point)
        if self._resigns(white_moved=mover == WHITE):
            self.resigned_by = mover
        return found.point

    def _resigns(self, *, white_moved: bool) -> bool:
        match = self._match
        if not match.allow_resignation or self.game.turn <= first_resignation_turn(self.game.start.area):
            return False
        return should_resign(
            self._win_losses, white_moved=white_moved, threshold=match.resign_threshold, turns=match.resign_consec_turns
        )

    def finish(self, order: GameOrder) -> FinishedGame:
        """SGF and facts of the game."""
        return finish_match(order, self.game, self.turns, self.resigned_by, self.hash_words)
