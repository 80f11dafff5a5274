"""The upload of a finished game: its form, its files, and where it goes. Specification: contribute-protocol.md 8, 9."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from client.contribute.task_kinds import networks_of
from common import wire, wire_uploads
from common.rows import to_npz

if TYPE_CHECKING:  # slow to import, and the parent has no finished games
    from client.contribute.job_orders import JobOrder
    from client.games.orders import FinishedGame
    from client.games.starts import GivenStart
    from client.networks import Network
    from common.audit import GameFacts


@dataclass(frozen=True)
class UploadKind:
    """A kind of games on the wire."""

    path: str  # of the server
    form: type[wire_uploads.GameUpload]
    games: str  # what the volunteer reads of them


UPLOAD_KINDS: Final = {
    "training": UploadKind(wire.PATH_TRAINING_GAMES, wire_uploads.TrainingGameUpload, "self-play"),
    "rating": UploadKind(wire.PATH_RATING_GAMES, wire_uploads.RatingGameUpload, "matches"),
}
"""By `client.games.kinds.GameKind.upload`, which the spool writes down with each game."""


def upload_parts(
    game: FinishedGame, order: JobOrder, url: Callable[[Network], str]
) -> tuple[dict[str, str], dict[str, tuple[str, bytes]]]:
    """Form fields and files of the upload of a finished game, which was played by ``order``.

    ``url`` gives the address of a network that came later.
    """
    uid, job = game.facts.uid, order.job
    networks = networks_of(job.task)
    fields: dict[str, Any] = _fields_of(game.facts, game.order.start) | {
        "run": job.task.run.url,
        "black_network": networks[order.black.name].url or "",
        "white_network": networks[order.white.name].url or "",
        "job_id": job.task.job_id,
        "job_token": job.task.job_token,
        "game_number": order.number if job.task.job_id is not None else None,
        "fork": _fork_of(order.start),
    }
    files = {"sgf_file": (f"{uid}.sgf", game.sgf.encode())}
    if game.net_changes:
        fields["net_changes"] = [{"turn": change.turn, "network": url(change.network)} for change in game.net_changes]
    if game.rows is not None:
        fields["num_training_rows"] = game.rows.count
        files["training_data_file"] = (f"{uid}.npz", to_npz(game.rows))
    return UPLOAD_KINDS[order.kind.upload].form(**fields).to_form(), files


def _fields_of(facts: GameFacts, start: GivenStart | None) -> dict[str, Any]:
    """What both kinds of upload tell of a game that began at ``start``."""
    extra: dict[str, Any] = {}
    if facts.draw_white_wins is not None:
        extra["draw_equivalent_wins_for_white"] = facts.draw_white_wins
    if facts.white_doublings is not None:
        extra["playout_doubling_advantage"] = abs(facts.white_doublings)
        extra["playout_doubling_advantage_pla"] = _favoured(facts.white_doublings)
    if isinstance(start, wire.StartPosition) and start.metadata is not None:
        extra["pos_metadata"] = start.metadata
    return {
        "board_size_x": facts.x_size,
        "board_size_y": facts.y_size,
        "handicap": facts.handicap,
        "komi": facts.rules.komi,
        "gametype": wire_uploads.form_game_type(facts.game_type),
        "rules": facts.rules.to_json(komi=False, compact=True),
        "extra_metadata": extra,
        "winner": facts.winner,
        "score": facts.score,
        "resigned": facts.resigned,
        "game_length": facts.game_length,
        "kg_game_uid": facts.uid,
    }


def _fork_of(start: GivenStart | None) -> wire_uploads.ForkOrigin | None:
    """What the record does not tell of the game that this one goes on with, if it goes on with one."""
    from client.games.starts import Fork

    if not isinstance(start, Fork):
        return None
    kind: Any = start.kind.name.lower()
    return wire_uploads.ForkOrigin(kind=kind, komi=start.start.rules.komi, training_weight=start.training_weight)


def _favoured(white_doublings: float) -> str:
    """Who has more playouts, as the form spells it."""
    if white_doublings == 0.0:
        return "Empty"
    return "White" if white_doublings > 0.0 else "Black"
