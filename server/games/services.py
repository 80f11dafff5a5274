"""Receiving games, auditing them, and moving them between counted and refused with everything that counts them.

::

    received ──audit──> counted <──moderation──> refused, with a reason
        └───────────────audit──────────────────────┘

Files are stored before rows: a row never names a file that is not there. Run, networks and job are looked at before
files are stored, and files of a row that is refused go again. A game's state, its number, and the totals of
run, contributor, networks and gate change in one transaction. Locks are taken in this order: games by key, run totals,
those of `server.jobs.services`, contributors and networks by key.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.db import DataError, IntegrityError, InterfaceError, OperationalError, transaction
from django.db.models import F, Q
from django.utils import timezone

from common.wire import GameUpload, TrainingGameUpload
from server.accounts.models import Contributor
from server.celery import send_hint
from server.errors import GameExists, GameRefused
from server.games.counting import Counts, counts_of
from server.games.models import Game, GameKind, GameState
from server.games.quick_checks import check_rows, check_sgf
from server.gates.services import gates_change
from server.jobs.models import Job, JobKind
from server.jobs.services import job_for_upload, job_game_received
from server.networks.models import Network
from server.networks.selectors import network_by_name
from server.runs.models import Run, RunState, RunTotals
from server.runs.selectors import run_by_name
from server.storage import NewFiles, load

logger = logging.getLogger(__name__)

AUDIT_TASK: Final = "server.games.tasks.audit_pending"
AUDIT_LEASE: Final = timedelta(minutes=5)
"""How long a claimed batch of games is left to its worker."""
MAX_AUDITS: Final = 3
"""Audits that may fail by error or by a dying worker before a game is set aside."""
_HINT_INTERVAL: Final = 0.5
"""Seconds between two messages of one process; what arrives in between is found by the same audit, or by beat."""
_BROKER_AWAY: Final = 10.0
"""Seconds without further messages after one that could not be sent: each try may hold an upload up."""


# --------------------------------------------------------------------------------------------------------- receiving


@dataclass(frozen=True)
class Names:
    """What the addresses in an upload stand for; None where an address is none of ours."""

    run: str | None
    black_network: str | None
    white_network: str | None


def game_receive(*, contributor: Contributor, form: GameUpload, names: Names, sgf: bytes, rows: bytes | None) -> Game:
    """Check what can be checked in milliseconds, store the files, then the row; the audit follows.

    ``rows`` is None exactly for a rating game.

    Raises:
        GameExists: a game of this kind and uid is known, possibly since a moment ago on another connection.
        GameRefused: the game can never be taken, with the reason; nothing was stored.
        Unavailable: the storage failed.
        django.db.OperationalError: the database failed.
    """
    kind = GameKind.RATING if rows is None else GameKind.TRAINING
    if Game.objects.filter(kind=kind, uid=form.kg_game_uid).exists():
        raise GameExists(form.kg_game_uid)
    run = _run_of(names.run)
    black = _network_of(names.black_network, run, kind)
    same = names.white_network == names.black_network
    white = black if same else _network_of(names.white_network, run, kind)
    if max(form.board_size_x, form.board_size_y) > run.data_board_len:
        raise GameRefused(f"the board is larger than the {run.data_board_len} of the run {run.name}")
    check_sgf(sgf)
    num_training_rows = 0
    if rows is not None:
        assert isinstance(form, TrainingGameUpload)
        num_training_rows = form.num_training_rows
        check_rows(rows, count=num_training_rows, length=run.data_board_len)
    game = Game(
        kind=kind,
        uid=form.kg_game_uid,
        run=run,
        contributor=contributor,
        black_network=black,
        white_network=white,
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
        num_training_rows=num_training_rows,
    )
    job_id = getattr(form, "job_id", None)
    with _doubles_first(game), transaction.atomic():
        _job_of(game, job_id)  # asked again with the row; before it, so that a stranger's files are not even stored
    with NewFiles() as files:
        game.sgf_file = files.store(f"sgfs/{run.name}", game.uid, sgf, ".sgf")
        game.rows_file = "" if rows is None else files.store(f"rows/{run.name}", game.uid, rows, ".npz")
        _insert(game, job_id)
    return game


def _run_of(name: str | None) -> Run:
    run = run_by_name(name) if name else None
    if run is None:
        raise GameRefused("its run is unknown to this server")
    if run.state == RunState.CLOSED:
        raise GameRefused(f"the run {run.name} is closed")
    return run


def _network_of(name: str | None, run: Run, kind: GameKind) -> Network:
    network = network_by_name(name) if name else None
    if network is None or network.run_id != run.pk:
        raise GameRefused(f"its network {name or ''!r} is no network of the run {run.name}")
    enabled = network.training_games_enabled if kind == GameKind.TRAINING else network.rating_games_enabled
    if not enabled:
        raise GameRefused(f"the network {network.name} takes no {kind} games any more")
    return network


def _job_of(game: Game, job_id: str | None) -> Job:
    """The job that asked for a game, locked; inside the caller's transaction."""
    return job_for_upload(
        contributor=game.contributor,
        kinds=(JobKind.SELFPLAY,) if game.kind == GameKind.TRAINING else (JobKind.GATING, JobKind.RATING),
        run=game.run,
        black=game.black_network,
        white=game.white_network,
        job_id=job_id,
    )


def _insert(game: Game, job_id: str | None) -> None:
    """Write the row and everything that follows from it in one transaction."""
    try:
        with _doubles_first(game), transaction.atomic():
            game.job = _job_of(game, job_id)
            game.save(force_insert=True)
            job_game_received(game.job)
            transaction.on_commit(audit_hint)
    except IntegrityError as error:
        if _constraint(error) != "game_uid":
            raise
        raise GameExists(game.uid) from None
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


_last_hint = float("-inf")


def audit_hint() -> None:
    """Tell the audit's workers that there is work. Never fails: beat says the same from time to time."""
    global _last_hint
    if time.monotonic() - _last_hint < _HINT_INTERVAL:
        return
    _last_hint = time.monotonic()
    if not send_hint(AUDIT_TASK):
        _last_hint = time.monotonic() + _BROKER_AWAY


# ---------------------------------------------------------------------------------------------------------- auditing


@dataclass(frozen=True)
class Refusal:
    """Why a game does not count; the code is for programs."""

    code: str
    reason: str


@dataclass(frozen=True)
class Accepted:
    """Nothing speaks against a game."""

    is_unfinished: bool = False
    """The move limit stopped it."""


Verdict = Accepted | Refusal
Judge = Callable[[Game, bytes, "bytes | None"], Verdict]
"""The audit of one game: its row, the content of its SGF and of its rows (None for a rating game)."""

AUDIT_FAILED: Final = "audit_failed"
_MODERATED_AT_ONCE: Final = 200
_MAX_REASON: Final = 2000
"""Characters of a reason that are kept; a record may quote much of itself."""


def games_audit(judge: Judge, limit: int) -> int:
    """Audit up to ``limit`` waiting games and move them to where they belong; returns how many were claimed.

    A claim is a lease: if this process dies, the games are claimed again later; after `MAX_AUDITS` such failures a
    game is refused, so that it cannot hold up the others for ever. Each game is judged on its own: what breaks one
    audit leaves the others their verdicts.
    """
    games = _claim(limit)
    verdicts: dict[int, Verdict] = {}
    for game in games:
        if game.audits > MAX_AUDITS:
            verdicts[game.pk] = Refusal(AUDIT_FAILED, f"its audit failed {MAX_AUDITS} times; a maintainer has to look")
            continue
        try:
            rows = load(game.rows_file) if game.rows_file else None
            sgf = load(game.sgf_file)
            with transaction.atomic():  # a question to the database that fails is this game's alone
                verdicts[game.pk] = judge(game, sgf, rows)
        except OSError as error:
            missing = isinstance(error, FileNotFoundError)
            logger.error("files of game %s cannot be read: %s", game.uid, error)
            if not missing:  # the storage is away, which is not the game's fault
                Game.objects.filter(pk=game.pk, state=GameState.RECEIVED).update(audits=F("audits") - 1)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            logger.exception("the audit of game %s failed", game.uid)
    if verdicts:
        _conclude(verdicts)
        _log_verdicts(games, verdicts)
    return len(games)


def _log_verdicts(games: Sequence[Game], verdicts: Mapping[int, Verdict]) -> None:
    """One line for the batch, and one for each game that was refused."""
    refused = {key: verdict for key, verdict in verdicts.items() if isinstance(verdict, Refusal)}
    logger.info("audited %d games: %d counted, %d refused", len(verdicts), len(verdicts) - len(refused), len(refused))
    for game in games:
        if game.pk in refused:
            logger.info("game %s refused (%s)", game.uid, refused[game.pk].code)


def _claim(limit: int) -> list[Game]:
    now = timezone.now()
    with transaction.atomic():
        free = Q(audit_until=None) | Q(audit_until__lte=now)
        waiting = Game.objects.select_for_update(no_key=True, skip_locked=True, of=("self",))
        waiting = waiting.select_related("run", "black_network", "white_network", "job__text", "job__run")
        games = list(waiting.filter(free, state=GameState.RECEIVED).order_by("pk")[:limit])
        keys = [game.pk for game in games]
        Game.objects.filter(pk__in=keys).update(audits=F("audits") + 1, audit_until=now + AUDIT_LEASE)
    for game in games:
        game.audits += 1
    return games


def _conclude(verdicts: dict[int, Verdict]) -> None:
    """Move the judged games, all at once; if that cannot be done, one by one, so that one's fault is not another's."""
    try:
        _move_judged(verdicts)
        return
    except (OperationalError, InterfaceError):
        raise  # the database is away; the games are claimed again
    except Exception:
        logger.exception("the verdicts about %d games cannot be kept together; each is tried alone", len(verdicts))
    for key, verdict in sorted(verdicts.items()):
        try:
            _move_judged({key: verdict})
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            logger.exception("the verdict about the game with the key %d cannot be kept", key)


def _move_judged(verdicts: dict[int, Verdict]) -> None:
    with transaction.atomic():
        moves = []
        for game in _lock(verdicts, GameState.RECEIVED):
            verdict = verdicts[game.pk]
            if isinstance(verdict, Refusal):
                moves.append(Move(game, GameState.REFUSED, verdict))
            else:
                game.is_decisive = not verdict.is_unfinished or game.run.unfinished_games_count
                moves.append(Move(game, GameState.COUNTED, None))
        _move(moves)


# --------------------------------------------------------------------------------------------------------- moderation


def games_refuse(keys: Sequence[int], refusal: Refusal) -> int:
    """Take counted games out of everything that counts them; returns how many were counted before.

    Gates that are decided already keep their result. Shards that hold the games are written anew before the next slice
    of training. Many games are moved in several transactions, so that uploads wait for none of them long.
    """
    return _moderate(keys, GameState.COUNTED, GameState.REFUSED, refusal)


def games_restore(keys: Sequence[int]) -> int:
    """Count refused games after all; returns how many were refused before."""
    return _moderate(keys, GameState.REFUSED, GameState.COUNTED, None)


def games_requeue(keys: Sequence[int]) -> int:
    """Let refused games be audited again; returns how many."""
    moved = _moderate(keys, GameState.REFUSED, GameState.RECEIVED, None)
    audit_hint()
    return moved


def contributor_refuse(contributor: Contributor, refusal: Refusal) -> int:
    """Let a contributor upload nothing more, and take all games that were counted out; returns how many."""
    Contributor.objects.filter(pk=contributor.pk).update(may_contribute=False)
    games = Game.objects.filter(contributor=contributor)
    waiting = games.filter(state=GameState.RECEIVED).order_by("pk")
    _moderate(list(waiting.values_list("pk", flat=True)), GameState.RECEIVED, GameState.REFUSED, refusal)
    counted = games.filter(state=GameState.COUNTED).order_by("pk")
    return games_refuse(list(counted.values_list("pk", flat=True)), refusal)


def _moderate(keys: Sequence[int], was: GameState, to: GameState, refusal: Refusal | None) -> int:
    moved = 0
    ordered = sorted(keys)
    for first in range(0, len(ordered), _MODERATED_AT_ONCE):
        with transaction.atomic():
            games = _lock(ordered[first : first + _MODERATED_AT_ONCE], was)
            _move([Move(game, to, refusal) for game in games])
            moved += len(games)
    return moved


# ----------------------------------------------------------------------------------------------------- moving a game


@dataclass(frozen=True)
class Move:
    """A locked game and the state to which it goes."""

    game: Game
    to: GameState
    refusal: Refusal | None


def _lock(keys: Sequence[int] | dict[int, Verdict], state: GameState) -> list[Game]:
    """Those of the games that are in ``state``, locked in the order of their keys, with their runs, jobs and gates."""
    games = Game.objects.select_for_update(no_key=True, of=("self",)).select_related("run", "job__gate")
    return list(games.filter(pk__in=list(keys), state=state).order_by("pk"))


def _move(moves: Sequence[Move]) -> None:
    """Change states and everything that follows from them, as one; inside the caller's transaction."""
    runs = sorted({move.game.run_id for move in moves})
    totals = {t.pk: t for t in RunTotals.objects.select_for_update(no_key=True).filter(pk__in=runs).order_by("pk")}
    counts = Counts()
    now = timezone.now()
    for move in moves:
        game = move.game
        was = GameState(game.state)
        counts.subtract(counts_of(game, was))
        counts.add(counts_of(game, move.to))
        game.state = move.to
        game.judged_at = None if move.to == GameState.RECEIVED else now
        game.audit_until = None
        game.audits = 0 if move.to == GameState.RECEIVED else game.audits
        game.reason_code = move.refusal.code if move.refusal else ""
        game.reason = _kept_text(move.refusal.reason) if move.refusal else ""
        if GameState.COUNTED in (was, move.to) and game.number is not None:
            totals[game.run_id].moderations += 1
        if move.to == GameState.COUNTED and game.number is None:
            _number(game, totals[game.run_id])
    fields = [
        "state",
        "judged_at",
        "audit_until",
        "audits",
        "reason_code",
        "reason",
        "number",
        "last_row",
        "is_decisive",
    ]
    Game.objects.bulk_update([move.game for move in moves], fields)
    for total in totals.values():
        total.save(update_fields=["last_number", "last_row", "moderations"])
    counts.apply_to(RunTotals, counts.runs)
    gates_change(counts.gates)
    counts.apply_to(Contributor, counts.contributors)
    counts.apply_to(Network, counts.networks)


def _kept_text(text: str) -> str:
    """A text that PostgreSQL takes, whatever a record brought into it: no NUL, no lone surrogates, not endless."""
    kept = text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")
    return kept if len(kept) <= _MAX_REASON else kept[: _MAX_REASON - 1] + "…"


def _number(game: Game, totals: RunTotals) -> None:
    """Give a game its number while the run's totals are locked, so that numbers appear in their order."""
    totals.last_number += 1
    totals.last_row += game.num_training_rows
    game.number = totals.last_number
    game.last_row = totals.last_row
