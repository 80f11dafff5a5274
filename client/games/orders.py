"""What goes into a stream of games and what comes out: plain data that can be pickled.

Specification of the upload's fields: contribute-protocol.md 8, 9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from client.networks import Network
from common import wire
from common.audit import GameFacts
from common.rows import Rows


@dataclass(frozen=True)
class GameOrder:
    """One game to play. It follows from this alone, up to the rounding of the evaluator.

    The same network on both sides is a game of self-play, which gives rows; two networks play a match game.
    """

    seed: int
    config: str  # KataGo configuration text (common.parameters)
    black: Network
    white: Network
    length: int  # edge of the tensors of the rows
    bots: tuple[int, int] = (0, 1)  # match: which bot of the configuration is Black, which White
    tag: Any = None  # comes back with the finished game

    @property
    def is_selfplay(self) -> bool:
        """Whether one network plays both sides."""
        return self.black == self.white


@dataclass(frozen=True)
class FinishedGame:
    """A game that came to its end."""

    order: GameOrder
    facts: GameFacts
    sgf: str  # one line
    rows: Rows | None  # None for match games, and for self-play of which no turn became a row
    leader: str  # who won, or is ahead where the move limit stopped the game: B, W, 0 for a draw, - for none

    def training_upload(self, *, run_url: str, network_url: str, job_id: str | None) -> wire.TrainingGameUpload:
        """The form of a game of self-play with rows."""
        rows = self.facts.num_training_rows
        return wire.TrainingGameUpload(
            **self._shared(run_url, network_url, network_url), num_training_rows=rows, job_id=job_id
        )

    def rating_upload(
        self, *, run_url: str, black_url: str, white_url: str, job_id: str | None
    ) -> wire.RatingGameUpload:
        """The form of a match game."""
        return wire.RatingGameUpload(**self._shared(run_url, black_url, white_url), job_id=job_id)

    def _shared(self, run_url: str, black_url: str, white_url: str) -> dict[str, Any]:
        facts = self.facts
        extra: dict[str, Any] = {}
        if facts.draw_white_wins is not None:
            extra["draw_equivalent_wins_for_white"] = facts.draw_white_wins
        return {
            "board_size_x": facts.x_size,
            "board_size_y": facts.y_size,
            "handicap": facts.handicap,
            "komi": facts.rules.komi,
            "gametype": wire.form_game_type(facts.game_type),
            "rules": facts.rules.to_json(komi=False, compact=True),
            "extra_metadata": extra,
            "winner": facts.winner,
            "score": facts.score,
            "resigned": facts.resigned,
            "game_length": facts.game_length,
            "kg_game_uid": facts.uid,
            "run": run_url,
            "white_network": white_url,
            "black_network": black_url,
        }
