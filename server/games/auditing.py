"""The audit: games wait in a queue, are judged one by one, and moved together to where they belong.

Importing this compiles the game's kernels, so only a worker does it; nothing of a web process may.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import numpy as np
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F, Q
from django.utils import timezone

from common import audit
from common.audit_report import Deadline, Findings, OutOfTime, Reason
from common.go.rules import Rules
from common.parameters import MatchConfig, SelfplayConfig, parse_match, parse_selfplay
from common.rows import GlobalTarget, Rows, RowsError, read_npz
from common.wire import StartPosition
from common.wire_uploads import form_game_type
from server.games.figures import figures_of
from server.games.models import Game, GameState
from server.games.moving import Refusal, StateChange, games_lock, passed_change, states_change
from server.games.quick_checks import ROWS_LIMITS
from server.games.rechecks import rechecks_draw
from server.jobs.selectors import other_texts, positions_of_game
from server.runs.models import UnprovenGames
from server.storage import load
from server.trust.models import Trust
from server.trust.services import standing_of, standings_lock

logger = logging.getLogger(__name__)

AUDIT_LEASE: Final = timedelta(minutes=5)
"""How long a claimed batch of games is left to its worker."""
MAX_AUDITS: Final = 3
"""Audits that may fail by error or by a dying worker before a game is set aside."""
AUDIT_FAILED: Final = "audit_failed"
BAD_RULES: Final = "rules"
AUDIT_SECONDS: Final = 20.0
"""Processor time that one game may take. The longest honest game of 19x19 takes a tenth of it."""
_TRIES: Final = 2
"""A game is refused when it took too long so often: the first time, kernels may have been compiled meanwhile."""
_OTHER_TEXTS: Final = 3
_CLEANUP: Final = "cleanuptraining"
"""The one game type that the form spells differently from the SGF."""


@dataclass(frozen=True)
class Accepted:
    """Nothing speaks against a game."""

    is_unfinished: bool = False
    """The move limit stopped it."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """What it was like; see `server.trust.figures`."""
    later_rows: Sequence[int] = ()
    """Rows that each network made with which it went on, if any were made by these."""


Verdict = Accepted | Refusal
Judge = Callable[[Game, bytes, "bytes | None"], Verdict]
"""The audit of one game: its row, the content of its SGF and of its rows (None for a rating game)."""


# ----------------------------------------------------------------------------------------------------------- the queue


def games_audit(judged_by: Judge, limit: int) -> int:
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
                verdicts[game.pk] = judged_by(game, sgf, rows)
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
        waiting = waiting.select_related(
            "run", "contributor", "black_network", "white_network", "job__text", "job__run"
        )
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
        changes = []
        games = games_lock(verdicts, GameState.RECEIVED)
        trusts = _trusts_lock(games)
        for game in games:
            verdict, trust = verdicts[game.pk], trusts[game.run_id, game.contributor_id]
            if isinstance(verdict, Refusal):
                changes.append(StateChange(game, GameState.REFUSED, verdict))
                continue
            game.is_decisive = _is_decisive(game, verdict)
            game.figures = dict(verdict.figures)
            game.later_rows = list(verdict.later_rows)
            changes.append(passed_change(game, trust))
        states_change(changes)
        rechecks_draw([change.game for change in changes if change.to != GameState.REFUSED], trusts)


def _trusts_lock(games: Sequence[Game]) -> dict[tuple[int, int], Trust]:
    """How far the runs trust the games' contributors, by run and contributor; locked, and made for new ones."""
    wanted = {(game.run_id, game.contributor_id): game for game in games}
    if new := wanted.keys() - standings_lock(wanted.keys()).keys():
        for key in sorted(new):
            standing_of(wanted[key].run, wanted[key].contributor)
    return standings_lock(wanted.keys())


def _is_decisive(game: Game, verdict: Accepted) -> bool:
    """Whether an accepted match game counts for gates and ratings, as its run says."""
    run = game.run
    may_decide = game.is_proved or run.unproven_games == UnprovenGames.COUNT
    return may_decide and (not verdict.is_unfinished or run.unfinished_games_count)


# ---------------------------------------------------------------------------------------------------------- one game


def judge(game: Game, sgf: bytes, rows: bytes | None) -> Verdict:
    """Hold the files of a game against each other, against its row, its job's text and the rules of Go.

    Raises:
        OutOfTime: it took too long, for the first time; it is to be audited again.
    """
    try:
        return _judge(game, sgf, rows)
    except OutOfTime:
        if game.audits < _TRIES:
            raise
        return Refusal(str(Reason.AUDIT_TIME), f"its audit takes more than {AUDIT_SECONDS:g} seconds")


def _judge(game: Game, sgf: bytes, rows: bytes | None) -> Verdict:
    deadline = Deadline(AUDIT_SECONDS)
    try:
        facts = facts_of(game)
    except ValueError as error:
        return Refusal(BAD_RULES, f"its rules contradict themselves: {error}")
    read = None
    if rows is not None:
        try:
            read = read_npz(rows, ROWS_LIMITS, length=facts.length)
        except RowsError as error:
            return Refusal(error.reason, str(error))
    first: Findings | None = None
    positions = positions_of_game(game.job, is_named=game.job_number is not None) if read is not None else []
    for text in _texts(game):
        findings = _findings(sgf, read, facts, text, deadline, positions)
        if findings.ok:
            return Accepted(findings.is_unfinished, figures_of(game, read), _later_rows(game, read))
        first = first or findings
    assert first is not None
    return Refusal(str(first.reasons[0]), str(first))


def _later_rows(game: Game, rows: Rows | None) -> list[int]:
    """How many rows each network made by which a game went on; column 50 has the changes after a row."""
    changes = len(game.later_networks)
    if rows is None or changes == 0:
        return []
    left = rows.global_targets[:, GlobalTarget.NET_CHANGES_AFTER].astype(np.intp)
    return [int(rows) for rows in np.bincount(left, minlength=changes)[:changes][::-1]]


def _texts(game: Game) -> Iterator[str]:
    """The text of the game's job, then others by which a client that names no job may have played it."""
    yield from game.job.configs_of(game.job_number)
    if game.job_number is None:
        yield from other_texts(game.job, _OTHER_TEXTS)


def _findings(
    sgf: bytes,
    rows: Rows | None,
    facts: audit.GameFacts,
    text: str,
    deadline: Deadline,
    positions: Sequence[StartPosition],
) -> Findings:
    if rows is None:
        return audit.audit_rating_game(sgf, facts, _match_config(text), deadline)
    return audit.audit_training_game(sgf, rows, facts, _selfplay_config(text), deadline, positions)


@functools.lru_cache(maxsize=64)
def _selfplay_config(text: str) -> SelfplayConfig:
    return parse_selfplay(text, to_be_played=False)


@functools.lru_cache(maxsize=64)
def _match_config(text: str) -> MatchConfig:
    return parse_match(text, to_be_played=False)


def _white_doublings(told: Mapping[str, Any]) -> float | None:
    """Of playouts, as the form's field ``extra_metadata`` tells them; None if it does not."""
    doublings = told.get("playout_doubling_advantage")
    if doublings is None:
        return None
    sign = {"White": 1.0, "Black": -1.0}.get(told.get("playout_doubling_advantage_pla", ""), 0.0)
    return sign * float(doublings)


def facts_of(game: Game) -> audit.GameFacts:
    """What the upload told of its game.

    Raises:
        ValueError: the rules contradict themselves.
    """
    is_cleanup = game.gametype == form_game_type(_CLEANUP)
    return audit.GameFacts(
        x_size=game.board_size_x,
        y_size=game.board_size_y,
        rules=Rules.from_json({**game.rules, "komi": float(game.komi)}),
        handicap=game.handicap,
        game_type=_CLEANUP if is_cleanup else game.gametype,
        winner=game.winner,
        score=None if game.score is None else float(game.score),
        resigned=game.resigned,
        game_length=game.game_length,
        uid=game.uid,
        black_network=game.black_network.name,
        white_network=game.white_network.name,
        length=game.run.data_board_len,
        num_training_rows=game.num_training_rows,
        draw_white_wins=game.extra_metadata.get("draw_equivalent_wins_for_white"),
        white_doublings=_white_doublings(game.extra_metadata),
        net_changes=tuple((int(turn), str(name)) for turn, name in game.net_changes),
    )
