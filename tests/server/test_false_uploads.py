"""False uploads over HTTP, each refused by its own reason: in the answer, or by the audit before the game counts.

The tables of the audit's tests, sent as KataGo's client would send them, and what an attacker with one login did to
the server. The games are a real KataGo's. What one game cannot prove is a table of docs/trust.md, which
tests/server/test_cheaters.py and tests/server/test_accepted_uploads.py hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from pprint import pformat
from typing import Any, Final

import numpy as np
import pytest
from django.test import Client

from common.audit_report import Reason
from common.config_text import overlay
from common.rows import GlobalTarget, PolicyTarget, Rows
from server.accounts.models import Contributor
from server.games.models import GameState
from server.jobs.models import Job
from tests.common import test_audit, test_audit_beginning, test_audit_reanalysis, test_audit_text
from tests.common.katago_games import (
    BEGINNINGS,
    REANALYSED,
    SELFPLAY_TEXTS,
    STOPPED_RATING,
    STOPPED_RATING_TEXT,
    Upload,
    gating_text,
    reanalysed,
    selfplay_text,
    stopped_game,
)
from tests.server.factories import KATAGO, ask, make_network, make_run
from tests.server.false_uploads import ANSWER, Desk, Fate

pytestmark = pytest.mark.django_db

LEAST_KINDS: Final = 180
Change = Callable[[Upload], Upload]


@dataclass(frozen=True)
class FalseUpload:
    """One false upload: the game as it is sent, the text of its job, and why it is refused."""

    game: Callable[[], Upload]
    text: str
    reason: str
    words: str = ""
    """Of the answer, where it is refused at once."""
    form: Mapping[str, Any] = field(default_factory=dict)


def desk(client: Client, contributor: Contributor, folder: Path, length: int, *, match: bool = False) -> Desk:
    """A job of a run with tensors of that edge."""
    run = make_run(data_board_len=length)
    make_network(run, folder, is_candidate=match, suits_katago_client=True)
    job = Job.objects.get(pk=ask(client, contributor, agent=KATAGO).json()["job_id"])
    assert (job.kind == "selfplay") is not match
    return Desk(client, contributor, job)


CLEAN = selfplay_text(SELFPLAY_TEXTS["clean"])
FULL = selfplay_text(SELFPLAY_TEXTS["full"])
WITH_SIDES = overlay(CLEAN, "sidePositionProb = 0.1\n")


def clean(change: Change = lambda game: game) -> Callable[[], Upload]:
    return lambda: change(test_audit.whole_game())


def in_rows(change: Callable[[Rows], object]) -> Change:
    def changed(game: Upload) -> Upload:
        rows = test_audit.copied(game.rows)
        change(rows)
        return replace(game, rows=rows)

    return changed


def side_changed(change: Callable[[Rows, int], None]) -> Upload:
    game, row = test_audit.side_game()
    return in_rows(lambda rows: change(rows, row))(game)


def again_changed(change: Callable[[Rows, int], object]) -> Upload:
    game = reanalysed()[0]
    row = int(np.flatnonzero(game.rows.global_targets[:, GlobalTarget.REANALYSED] == 1)[3])
    return in_rows(lambda rows: change(rows, row))(game)


# ------------------------------------------------------------------------------ what an attacker did, beside the tables


def heavy(game: Upload) -> Upload:
    """Each turn weighs 200, and has as many rows."""
    rows = game.rows.take(np.repeat(np.arange(42), 200))
    facts = replace(game.facts, num_training_rows=rows.count)
    return Upload(game.sgf.replace("weight=1.00", "weight=200.00"), rows, facts)


def two_passes(count: int) -> Change:
    """Nothing but two passes, and so many rows of them."""

    def change(game: Upload) -> Upload:
        values = f"C[0.50 0.50 0.00 0.0 v=24 weight={count / 2:.2f}"
        head = game.sgf[: game.sgf.index(";B[")].replace("RE[B+53]", "RE[W+7.5]")
        rows = game.rows.take(np.repeat([0, 1], count // 2))
        facts = replace(game.facts, winner="W", score=7.5, game_length=2, num_training_rows=count)
        return Upload(f"{head};B[]{values}];W[]{values} result=W+7.5])", rows, facts)

    return change


def without_its_last_move(game: Upload) -> Upload:
    """A copy of a game that ends a move earlier, as if something had stopped it."""
    last = game.rows.global_targets[:, GlobalTarget.TURN].max()
    rows = game.rows.take(np.flatnonzero(game.rows.global_targets[:, GlobalTarget.TURN] < last))
    facts = replace(game.facts, winner="0", score=0.0, game_length=int(last), num_training_rows=rows.count)
    return Upload(game.sgf[: game.sgf.rindex(";")].replace("RE[B+53]", "") + ")", rows, facts)


def stopped_at_once(game: Upload) -> Upload:
    """One move, and its row."""
    end = game.sgf.index(";W[")
    rows = game.rows.take(slice(0, 1))
    facts = replace(game.facts, winner="0", score=0.0, game_length=1, num_training_rows=1)
    return Upload(game.sgf[:end].replace("RE[B+53]", "") + ")", rows, facts)


def invented_side_rows(count: int) -> Change:
    """Rows of one position that claim to stand beside the game."""

    def change(game: Upload) -> Upload:
        rows = game.rows.take(np.append(np.arange(game.rows.count), [5] * count))
        for column in (GlobalTarget.OUTCOME_WEIGHT, GlobalTarget.REPLY_WEIGHT, GlobalTarget.FUTURE_WEIGHT):
            rows.global_targets[-count:, column] = 0
        return replace(game, rows=rows, facts=replace(game.facts, num_training_rows=rows.count))

    return change


def far_side_row() -> Upload:
    """A side row that says to stand 21 moves beside the game, of which it shows five."""
    return side_changed(lambda rows, row: rows.global_targets[row].__setitem__(GlobalTarget.TURN, 60.0))


def all_on_the_pass(rows: Rows) -> None:
    rows.policy_targets[:, PolicyTarget.OWN] = 0
    rows.policy_targets[:, PolicyTarget.OWN, -1] = 1000


def every(column: GlobalTarget, value: float) -> Change:
    return in_rows(lambda rows: rows.global_targets[:, column].fill(value))


def of_size(size: int) -> Change:
    """Another board in record and form; the rows stay."""
    told = test_audit.in_sgf(r"SZ\[[0-9:]*\]", f"SZ[{size}]")
    return lambda game: replace(told(game), facts=replace(game.facts, x_size=size, y_size=size))


in_sgf, in_form, komi = test_audit.in_sgf, test_audit.in_form, test_audit_text.komi
ATTACKS: Final[dict[str, FalseUpload]] = {
    "weights of 200 and 8,400 rows": FalseUpload(clean(heavy), CLEAN, Reason.JOB_WEIGHTS),
    "two passes and 9,800 rows": FalseUpload(clean(two_passes(9800)), CLEAN, ANSWER, "unpacks to"),
    "two passes and 3,000 rows": FalseUpload(clean(two_passes(3000)), CLEAN, Reason.JOB_WEIGHTS),
    "stopped after a move": FalseUpload(clean(stopped_at_once), CLEAN, Reason.NOT_FINISHED),
    "7,350 side rows": FalseUpload(clean(invented_side_rows(7350)), WITH_SIDES, Reason.SIDE_ROWS),
    "a few side rows": FalseUpload(clean(invented_side_rows(4)), WITH_SIDES, Reason.WEIGHTS),
    "21 moves beside the game": FalseUpload(far_side_row, FULL, Reason.SIDE_POSITION),
    "the policy all on the pass": FalseUpload(clean(in_rows(all_on_the_pass)), CLEAN, Reason.POLICY),
    "a row weight of 5": FalseUpload(clean(every(GlobalTarget.ROW_WEIGHT, 5.0)), CLEAN, Reason.JOB_WEIGHTS),
    "no row weight": FalseUpload(clean(every(GlobalTarget.ROW_WEIGHT, 0.0)), CLEAN, Reason.WEIGHTS),
    "a board of 2x2": FalseUpload(clean(of_size(2)), CLEAN, Reason.SGF_UNREADABLE),
    "a board of 3x3": FalseUpload(clean(of_size(3)), CLEAN, Reason.SGF_UNREADABLE),
    "a board beyond the run's": FalseUpload(clean(of_size(19)), CLEAN, ANSWER, "larger than the 9"),
    "komi 100": FalseUpload(clean(komi(100)), CLEAN, Reason.JOB_KOMI),
    "komi 2000": FalseUpload(clean(), CLEAN, ANSWER, "komi", {"komi": "2000"}),
    "infinity": FalseUpload(clean(every(GlobalTarget.VARIANCE_TIME, np.inf)), CLEAN, ANSWER, "NaN or infinity"),
    "no number": FalseUpload(clean(every(GlobalTarget.NET_SCORE_MEAN, np.nan)), CLEAN, ANSWER, "NaN or infinity"),
    "3e38 where it cannot be derived": FalseUpload(
        clean(every(GlobalTarget.VARIANCE_TIME, 3e38)), CLEAN, ANSWER, "column 22"
    ),
    "a copy without its last move": FalseUpload(clean(without_its_last_move), CLEAN, Reason.NOT_FINISHED),
    "a variation at the end": FalseUpload(
        clean(in_sgf(r"\)$", ";B[](;W[])(;W[aa]))")), CLEAN, ANSWER, "has variations"
    ),
    "a variation beside the game": FalseUpload(
        clean(lambda game: replace(game, sgf=game.sgf.replace(";W[", "(;W[", 1) + "(;W[aa]))")),
        CLEAN,
        ANSWER,
        "has variations",
    ),
    "two games": FalseUpload(clean(in_sgf(r"\)$", ")(;FF[4]GM[1];B[aa])")), CLEAN, ANSWER, "goes on after the game"),
    "words after the game": FalseUpload(clean(in_sgf(r"\)$", ") and more")), CLEAN, ANSWER, "goes on after the game"),
    "two komis": FalseUpload(clean(in_sgf(r"KM\[7.5\]", "KM[7.5]KM[6.5]")), CLEAN, ANSWER, "more than one KM"),
    "two results": FalseUpload(clean(in_sgf(r"RE\[B\+53\]", "RE[B+53][W+1]")), CLEAN, ANSWER, "more than one RE"),
    "two moves in one": FalseUpload(clean(in_sgf(r";W\[dg\]", ";W[dg][aa]")), CLEAN, ANSWER, "more than one W"),
    "another run": FalseUpload(
        clean(), CLEAN, ANSWER, "its run is unknown", {"run": "http://testserver/api/runs/other/"}
    ),
    "another network": FalseUpload(
        clean(), CLEAN, ANSWER, "is no network of the run", {"black_network": "http://testserver/api/networks/x-y/"}
    ),
    "another's job": FalseUpload(clean(), CLEAN, ANSWER, "was given to you", {"job_id": "99999999"}),
    "handicap that no record has": FalseUpload(clean(), CLEAN, Reason.HANDICAP, form={"handicap": "2"}),
    "a type of game in the form": FalseUpload(clean(), CLEAN, Reason.GAME_TYPE, form={"gametype": "cleanup_training"}),
    "the worth of draws": FalseUpload(
        clean(), CLEAN, Reason.JOB_DRAW, form={"extra_metadata": '{"draw_equivalent_wins_for_white": 0.9}'}
    ),
    "rules beside the record's": FalseUpload(
        clean(),
        CLEAN,
        Reason.RULES,
        form={"rules": '{"ko":"SIMPLE","scoring":"AREA","tax":"NONE","suicide":false}'},
    ),
    "more rows than the file has": FalseUpload(
        clean(), CLEAN, ANSWER, "num_training_rows is 88", {"num_training_rows": "88"}
    ),
}


# --------------------------------------------------------------------------------------------------------- match games


def match(change: Change = lambda game: game) -> Callable[[], Upload]:
    return lambda: change(stopped_game(STOPPED_RATING))


def resigned_at_once() -> Upload:
    return test_audit_text.resigned(2)[0]


MATCH: Final = gating_text(STOPPED_RATING_TEXT)
RESIGNING: Final = STOPPED_RATING_TEXT + "resignConsecTurns = 5\nresignThreshold = -0.9\n"
MATCH_ATTACKS: Final[dict[str, FalseUpload]] = {
    "won by resignation at move 0": FalseUpload(resigned_at_once, gating_text(RESIGNING), Reason.JOB_RESIGNATION),
    "colours changed in the record": FalseUpload(
        match(in_sgf("PB(.*?)PW(.*?)HA", r"PW\1PB\2HA")), MATCH, Reason.NETWORK_NAME
    ),
    "a match of 3x3": FalseUpload(match(of_size(3)), MATCH, Reason.SGF_UNREADABLE),
    "komi 150": FalseUpload(
        match(
            test_audit_text.also(
                lambda game: replace(game, facts=replace(game.facts, rules=game.facts.rules.with_komi(150))),
                in_sgf(r"KM\[7.5\]", "KM[150]"),
            )
        ),
        MATCH,
        Reason.JOB_KOMI,
    ),
    "a match stopped after a move": FalseUpload(
        match(
            lambda game: replace(
                game, sgf=game.sgf[: game.sgf.index(";W[")] + ")", facts=replace(game.facts, game_length=1)
            )
        ),
        MATCH,
        Reason.NOT_FINISHED,
    ),
    "a board full of black": FalseUpload(
        match(in_sgf(r"C\[startTurnIdx", "AB[aa:ih]C[startTurnIdx")), MATCH, Reason.JOB_START
    ),
    "one visit": FalseUpload(match(in_sgf("v=8", "v=1")), MATCH, Reason.JOB_VISITS),
    "a million visits": FalseUpload(match(in_sgf("v=8", "v=1000000")), MATCH, Reason.JOB_VISITS),
    "the same network on both sides": FalseUpload(match(), MATCH, ANSWER, "network", {"white_network": "black"}),
}


def of_matches() -> Iterable[tuple[str, FalseUpload]]:
    """The tables of the audit's tests about matches."""
    for name, (change, limit, reasons) in test_audit_text.UNFINISHED.items():
        if reasons:
            text = gating_text(STOPPED_RATING_TEXT.replace("= 60", f"= {limit}"))
            yield f"not finished: {name}", FalseUpload(match(change), text, "|".join(sorted(reasons)))
    for name, (options, text, accepted) in test_audit_text.RESIGNATIONS.items():
        if not accepted:
            game = test_audit_text.resigned(**options)[0]  # type: ignore[arg-type]
            text = gating_text(overlay(RESIGNING, text))
            yield f"resigned: {name}", FalseUpload(lambda game=game: game, text, Reason.JOB_RESIGNATION)  # type: ignore[misc]
    yield from MATCH_ATTACKS.items()


def of_rows() -> Iterable[tuple[str, FalseUpload]]:
    """The tables of the audit's tests about games of 7x9 and their rows."""
    for name, (of_row, reason) in test_audit.ROW_MUTATIONS.items():
        yield f"row: {name}", FalseUpload(clean(in_rows(of_row)), CLEAN, reason)
    for name, (of_game, reason) in test_audit.GAME_MUTATIONS.items():
        if name != "edge":  # which no form tells
            yield f"game: {name}", FalseUpload(clean(of_game), CLEAN, reason)
    for name, (of_side, reason) in test_audit.SIDE_MUTATIONS.items():
        yield f"side row: {name}", FalseUpload(lambda change=of_side: side_changed(change), FULL, reason)  # type: ignore[misc]
    for name, (of_text, text, reason) in test_audit_text.DISHONEST.items():
        text = selfplay_text(overlay(test_audit_text.PLAIN_TEXT, text))
        yield f"text: {name}", FalseUpload(clean(of_text), text, reason)
    yield from ATTACKS.items()


FROM_POSITIONS: Final = (
    test_audit_beginning.SGF_POSITION,
    test_audit_beginning.POSITION_FORK,
    test_audit_beginning.HINT,
    test_audit_beginning.HINT_FORK,
)


def of_beginnings() -> Iterable[tuple[str, FalseUpload]]:
    """The tables of the audit's tests about games that begin elsewhere, on 11x11."""
    whole = (BEGINNINGS / "text.cfg").read_text()
    for name, (game, change, text, reason) in test_audit_beginning.REFUSED.items():
        if game in FROM_POSITIONS:
            continue  # of these the job would have to tell
        changed = lambda game=game, change=change: change(game)  # noqa: E731
        yield f"beginning: {name}", FalseUpload(changed, overlay(whole, text), reason)


def of_reanalysis() -> Iterable[tuple[str, FalseUpload]]:
    """The tables of the audit's tests about turns that were searched again."""
    text = (REANALYSED / "text.cfg").read_text()
    for name, (change, reason) in test_audit_reanalysis.MUTATIONS.items():
        yield f"again: {name}", FalseUpload(lambda change=change: again_changed(change), text, reason)  # type: ignore[misc]


TABLES: Final[dict[str, Callable[[], Iterable[tuple[str, FalseUpload]]]]] = {
    "rows": of_rows,
    "matches": of_matches,
    "beginnings": of_beginnings,
    "reanalysis": of_reanalysis,
}
HONEST: Final[dict[str, tuple[Callable[[], Upload], str]]] = {
    "rows": (clean(), CLEAN),
    "matches": (match(), MATCH),
    "beginnings": (lambda: test_audit_beginning.FORK, (BEGINNINGS / "text.cfg").read_text()),
    "reanalysis": (lambda: reanalysed()[0], (REANALYSED / "text.cfg").read_text()),
}


FIRST: Final[dict[str, str]] = {
    "no row weight": Reason.JOB_WEIGHTS,
    "row: Q out of range": ANSWER,
    "row: faint policy": ANSWER,
    "row: final score": Reason.SCORE_DISTRIBUTION,
    "row: handicap": Reason.JOB_START,
    "row: row weight": Reason.JOB_WEIGHTS,
    "game: cut short": ANSWER,
    "game: moves after the end": Reason.GAME_LENGTH,
    "game: not SGF": ANSWER,
    "game: other move": Reason.RESULT,
    "game: row count": ANSWER,
    "game: two moves in a row": Reason.HANDICAP,
    "game: weight in a comment": Reason.JOB_WEIGHTS,
    "text: a clean-up game": Reason.GAME_TYPE,
    "text: a fork": Reason.GAME_TYPE,
    "text: a later phase": Reason.GAME_TYPE,
    "text: a start position": Reason.GAME_TYPE,
    "text: black stones": Reason.HANDICAP,
    "text: doublings": Reason.GAME_TYPE,
    "text: handicap": Reason.GAME_TYPE,
    "text: too many doublings": Reason.GAME_TYPE,
    "a board full of black": Reason.HANDICAP,
    "not finished: another type of game": Reason.GAME_TYPE,
    "beginning: a handicap stone less": Reason.HANDICAP,
    "beginning: another komi": Reason.RESULT,
    "beginning: extra stones of a fork": Reason.JOB_START,
    "beginning: more extra stones in the rows": Reason.JOB_START,
    "beginning: more stones than fixed ones": Reason.HANDICAP,
    "beginning: no doublings": Reason.GAME_TYPE,
    "beginning: white stones": Reason.HANDICAP,
}
"""Where a change contradicts more than its table names, what the audit finds first; the other is told beside it."""


def is_own(name: str, false: FalseUpload, fate: Fate) -> bool:
    """Whether an upload was refused by the reason of its table."""
    reason = FIRST.get(name, false.reason)
    if reason == ANSWER:
        return fate.state == ANSWER and false.words in fate.text
    return fate.state == GameState.REFUSED and fate.code in reason.split("|")


@pytest.mark.parametrize("table", TABLES)
def test_each_false_upload_is_refused_by_its_own_reason(
    client: Client, anna: Contributor, tmp_path: Path, table: str
) -> None:
    honest, text = HONEST[table]
    game = honest()
    at = desk(client, anna, tmp_path, game.facts.length, match=table == "matches")
    assert at.fate(game, text).counts
    wrong = {}
    for name, false in TABLES[table]():
        fate = at.fate(false.game(), false.text, form=dict(false.form))
        if not is_own(name, false, fate):
            wrong[name] = (false.reason, fate.state, fate.code, fate.text[:300])
    assert not wrong, pformat(wrong)


def test_the_tables_hold_enough_kinds() -> None:
    names = [name for table in TABLES.values() for name, _ in table()]
    assert len(set(names)) == len(names) >= LEAST_KINDS
