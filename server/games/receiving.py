"""Receiving games: what can be checked in milliseconds is, files are stored, then the row; the audit follows.

Files are stored before rows: a row never names a file that is not there. Run, networks and job are looked at before
files are stored, and files of a row that is refused go again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import DataError, IntegrityError, transaction

from common.wire_uploads import GameUpload, TrainingGameUpload
from server.accounts.models import Contributor
from server.errors import GameExists, GameRefused
from server.games.identity import identity_of
from server.games.models import Game, GameKind
from server.games.quick_checks import check_rows, check_sgf
from server.games.quotas import quota_check, quota_use
from server.hints import AUDIT
from server.jobs.models import Job, JobKind
from server.jobs.services import JobClaim, job_for_upload, job_game_received
from server.jobs.tokens import is_token_of
from server.networks.models import Network
from server.networks.selectors import network_of_upload
from server.runs.models import Run, RunState, UnprovenGames
from server.runs.selectors import may_play, run_of_upload
from server.storage import NewFiles, space_check


@dataclass(frozen=True)
class Names:
    """What the addresses in an upload stand for; None where an address is none of ours."""

    run: str | None
    black_network: str | None
    white_network: str | None
    net_changes: tuple[tuple[int, str | None], ...] = ()
    """Turns, and what stands for the networks by which the game went on."""


def game_receive(*, contributor: Contributor, form: GameUpload, names: Names, sgf: bytes, rows: bytes | None) -> Game:
    """Check what can be checked in milliseconds, store the files, then the row; the audit follows.

    ``rows`` is None exactly for a rating game.

    Raises:
        GameExists: a game of this kind and uid is known, possibly since a moment ago on another connection.
        GameRefused: the game can never be taken, with the reason; nothing was stored.
        QuotaUsedUp: this login has sent as much as one may on a day.
        NoSpace: the disk is nearly full.
        Unavailable: the storage failed.
        django.db.OperationalError: the database failed.
    """
    kind = GameKind.RATING if rows is None else GameKind.TRAINING
    if Game.objects.filter(kind=kind, uid=form.kg_game_uid).exists():
        raise GameExists(form.kg_game_uid)
    run = _run_of(names.run, contributor)
    black = _network_of(names.black_network, run, kind)
    same = names.white_network == names.black_network
    white = black if same else _network_of(names.white_network, run, kind)
    if max(form.board_size_x, form.board_size_y) > run.data_board_len:
        raise GameRefused(f"the board is larger than the {run.data_board_len} of the run {run.name}")
    size = len(sgf) + len(rows or b"")
    quota_check(contributor, size)
    space_check(size)
    nodes = check_sgf(sgf)
    num_training_rows = 0
    if rows is not None:
        assert isinstance(form, TrainingGameUpload)
        num_training_rows = form.num_training_rows
        check_rows(rows, count=num_training_rows, length=run.data_board_len)
    changes = _net_changes(names, black, run)
    game = _as_told(form, kind, run, contributor)
    game.black_network, game.white_network = black, white
    game.net_changes = [(turn, network.name) for turn, network in changes]
    game.later_networks = [network.pk for _, network in changes]
    game.num_training_rows = num_training_rows
    game.content = identity_of(
        nodes, x_size=form.board_size_x, y_size=form.board_size_y, black=black.pk, white=white.pk
    )
    claim = JobClaim(form.job_id, form.job_token, form.game_number)
    with _doubles_first(game):  # asked again with the row; before it, so that a stranger's files are not even stored
        game.job = _job_of(game, claim)
        if game.content is not None:
            _refuse_known_content(game)
    with NewFiles() as files:
        game.sgf_file = files.store(f"sgfs/{run.name}", game.uid, sgf, ".sgf")
        game.rows_file = "" if rows is None else files.store(f"rows/{run.name}", game.uid, rows, ".npz")
        _insert(game, claim, size)
    return game


def _as_told(form: GameUpload, kind: GameKind, run: Run, contributor: Contributor) -> Game:
    """A game with what its form alone says, not saved."""
    return Game(
        kind=kind,
        uid=form.kg_game_uid,
        run=run,
        contributor=contributor,
        board_size_x=form.board_size_x,
        board_size_y=form.board_size_y,
        handicap=form.handicap,
        komi=form.komi,
        rules=form.rules.to_object(),
        gametype=form.gametype,
        extra_metadata=form.extra_metadata.to_object(),
        winner=form.winner,
        score=form.score,
        resigned=form.resigned,
        game_length=form.game_length,
        job_number=form.game_number,
        fork=None if form.fork is None else form.fork.to_object(),
    )


def _refuse_known_content(game: Game) -> None:
    """Refuse a game that was sent before with another uid."""
    same = Game.objects.filter(run=game.run, kind=game.kind, content=game.content).values_list("uid", flat=True).first()
    if same is not None:
        raise GameRefused(f"it is the game {same}, move for move, which this server has already")


def _run_of(name: str | None, contributor: Contributor) -> Run:
    run = run_of_upload(name) if name else None
    if run is None:
        raise GameRefused("its run is unknown to this server")
    if run.state_now == RunState.CLOSED:
        raise GameRefused(f"the run {run.name} is closed")
    if not may_play(run, contributor.user.get_username()):
        raise GameRefused(f"you are not among the users who play for the run {run.name}")
    return run


def _network_of(name: str | None, run: Run, kind: GameKind) -> Network:
    network = network_of_upload(name, run) if name else None
    if network is None:
        raise GameRefused(f"its network {name or ''!r} is no network of the run {run.name}")
    enabled = network.training_games_enabled if kind == GameKind.TRAINING else network.rating_games_enabled
    if not enabled:
        raise GameRefused(f"the network {network.name} takes no {kind} games any more")
    return network


def _net_changes(names: Names, first: Network, run: Run) -> list[tuple[int, Network]]:
    """Turns and networks of the run by which a game went on that began by ``first``; each is newer."""
    changes, before = [], first
    for turn, name in names.net_changes:
        network = _network_of(name, run, GameKind.TRAINING)
        if network.created_at <= before.created_at:
            raise GameRefused(f"it went on with {network.name}, which is not newer than {before.name}")
        changes.append((turn, network))
        before = network
    return changes


def _job_of(game: Game, claim: JobClaim) -> Job:
    """The job that asked for a game. Says of the game whether that is proved.

    A match game that is proved, and that says which of its job it is, may have the moves of another: between two strong
    networks on a small board many have.

    Raises:
        GameRefused: none did; or that is not proved, and the run takes no such games.
    """
    job = job_for_upload(
        contributor=game.contributor,
        kinds=(JobKind.SELFPLAY,) if game.kind == GameKind.TRAINING else (JobKind.GATING, JobKind.RATING),
        run=game.run,
        black=game.black_network,
        white=game.white_network,
        claim=claim,
    )
    game.is_proved = is_token_of(job, claim.token)
    if not game.is_proved and game.run.unproven_games == UnprovenGames.REFUSE:
        raise GameRefused(f"it does not bring the token of job {job.pk}, which the run {game.run.name} asks for")
    if game.kind == GameKind.RATING and game.is_proved and claim.number is not None:
        game.content = None
    return job


def _insert(game: Game, claim: JobClaim, size: int) -> None:
    """Write the row and everything that follows from it in one transaction."""
    try:
        with _doubles_first(game), transaction.atomic():
            while not job_game_received(game.job):
                game.job = _job_of(game, claim)  # another upload took the last place of the first one
            game.save(force_insert=True)
            quota_use(game.contributor, size)
            transaction.on_commit(AUDIT.send)
    except IntegrityError as error:
        match _constraint(error):
            case "game_uid":
                raise GameExists(game.uid) from None
            case "game_content":
                _refuse_known_content(game)
            case "game_of_job_once":
                raise GameRefused(f"game {game.job_number} of job {game.job_id} has arrived already") from None
        raise
    except DataError as error:  # a value beyond its column, whatever the checks before have let through
        raise GameRefused("it holds a value that cannot be stored") from error


@contextmanager
def _doubles_first(game: Game) -> Iterator[None]:
    """What its job refuses may be a double: the same upload on another connection may have taken the last place."""
    try:
        yield
    except GameRefused:
        if Game.objects.filter(kind=game.kind, uid=game.uid).exists():
            raise GameExists(game.uid) from None
        raise


def _constraint(error: IntegrityError) -> str | None:
    return getattr(getattr(error.__cause__, "diag", None), "constraint_name", None)
