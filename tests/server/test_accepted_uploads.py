"""Changes of games that are accepted: none of what a game means passes but what docs/trust.md lists as not provable.

The games are those that a real KataGo sent (tests/exchange.py). Each is changed in one thing, sent and audited.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from django.test import Client
from hypothesis import HealthCheck, assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from common.audit_rows import is_side_row
from common.rows import GLOBAL_TARGET_RANGES, GlobalTarget, PolicyTarget, QTarget, Rows, read_npz
from common.sgf import SgfError, read
from common.sgf_record import GameRecord
from deploy.installation import ROOT
from server.accounts.models import Contributor
from server.jobs.models import Job
from server.runs.models import Run
from tests.exchange import recorded_uploads
from tests.server.factories import KATAGO, ask, upload_training
from tests.server.false_uploads import Fate, fate_of, raw_npz
from tests.server.katago_session import make_session_run

pytestmark = pytest.mark.django_db

HEADING: Final = "## What one game cannot prove"
PRINTED: Final = 0.02
"""What is told twice, in the record and in a row, is the same up to the digits of the record."""
Examples = hypothesis_settings(deadline=None, suppress_health_check=list(HealthCheck))
FEW_OR_MANY: Final = pytest.mark.parametrize("share", [0.3, pytest.param(1.0, marks=pytest.mark.slow)])
"""Of the examples: each is an upload and an audit."""


@functools.cache
def free() -> frozenset[str]:
    """The names that the page lists."""
    page = (ROOT / "docs" / "trust.md").read_text()
    section = page.partition(HEADING)[2].partition("\n## ")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| ")]
    return frozenset(name for cell in cells for name in re.findall(r"`([^`]+)`", cell))


@dataclass(frozen=True)
class Accepted:
    """A game that passed."""

    form: dict[str, str]
    sgf: str
    rows: Rows


@functools.cache
def accepted() -> tuple[Accepted, ...]:
    """The recorded games of self-play."""
    return tuple(
        Accepted(one.form, one.sgf.decode(), read_npz(one.rows)) for one in recorded_uploads() if one.rows is not None
    )


Judge = Callable[[Accepted], Fate]


@pytest.fixture
def judge(client: Client, anna: Contributor, tmp_path: Path) -> Judge:
    """Sends a game over HTTP as Anna's, and tells what becomes of it."""
    make_session_run(tmp_path)
    Run.objects.update(gating_share=0.0)
    assert Job.objects.get(pk=ask(client, anna, agent=KATAGO).json()["job_id"]).kind == "selfplay"

    def send(game: Accepted) -> Fate:
        files: dict[str, Any] = {"sgf": game.sgf.encode(), "rows": raw_npz(game.rows)}
        return fate_of(lambda: upload_training(client, anna, game.form, agent=KATAGO, **files))

    return send


def test_the_games_themselves_pass(judge: Judge) -> None:
    assert len(accepted()) >= 6
    assert {judge(game).text for game in accepted()} == {""}


def test_what_is_listed_are_columns_and_parts_of_a_record() -> None:
    known = {column.name for column in GlobalTarget}
    known |= {f"{kind}.{channel.name}" for kind, channels in ARRAYS.items() for channel in channels}
    assert free()
    assert free() - known == OF_RECORDS


# ------------------------------------------------------------------------------------------------------------ the rows

ARRAYS: Final = {"policy_targets": PolicyTarget, "q_values": QTarget}
OF_RECORDS: Final = {"v=", "weight=", "result="}
COLUMNS: Final = {int(column): column for column in GlobalTarget}
WHOLE: Final = (0, 1, -1, 2, 5, 60, 120, 300, 3000)


def changed_column(rows: Rows, row: int, data: st.DataObject) -> str:
    """Change one of the 80 columns of one row."""
    column = data.draw(st.integers(0, rows.global_targets.shape[1] - 1), "column")
    named = COLUMNS.get(column)
    low, high = GLOBAL_TARGET_RANGES.get(named, (-1.0, 1.0)) if named is not None else (-1.0, 1.0)
    old = float(rows.global_targets[row, column])
    near = st.sampled_from([old + 0.05, old - 0.05, old + 1, old - 1, -old, 0.0, 1.0, 2 * old, old / 2])
    new = data.draw(near | st.floats(low, high, width=32), "new")
    assume(abs(np.float32(new) - np.float32(old)) > PRINTED)
    rows.global_targets[row, column] = new
    return f"column {column}" if named is None else named.name


def changed_input(rows: Rows, row: int, data: st.DataObject) -> str:
    """Change one of the global inputs of one row."""
    which = data.draw(st.integers(0, rows.global_inputs.shape[1] - 1), "input")
    old = float(rows.global_inputs[row, which])
    new = data.draw(st.sampled_from([0.0, 1.0, -1.0, old + 0.1, old - 0.1, -old]), "new")
    assume(abs(new - old) > 1e-3)
    rows.global_inputs[row, which] = new
    return "global_inputs"


def changed_plane(rows: Rows, row: int, data: st.DataObject) -> str:
    """Turn one bit of one plane of one row, those beyond the last point included."""
    plane = data.draw(st.integers(0, rows.packed_planes.shape[1] - 1), "plane")
    bit = data.draw(st.integers(0, 8 * rows.packed_planes.shape[2] - 1), "bit")
    rows.packed_planes[row, plane, bit // 8] ^= 128 >> bit % 8
    return "packed_planes"


def changed_whole(field: str) -> Callable[[Rows, int, st.DataObject], str]:
    """Change one number of one of the arrays of whole numbers."""

    def change(rows: Rows, row: int, data: st.DataObject) -> str:
        array = getattr(rows, field)
        place = tuple(data.draw(st.integers(0, size - 1)) for size in array.shape[1:])
        old, limits = int(array[row][place]), np.iinfo(array.dtype)
        new = data.draw(st.sampled_from([*WHOLE, -old, 2 * old, old + 1]), "new")
        assume(new != old and limits.min <= new <= limits.max)
        array[row][place] = new
        return f"{field}.{ARRAYS[field](place[0]).name}" if field in ARRAYS else field

    return change


CHANGES: Final[dict[str, Callable[[Rows, int, st.DataObject], str]]] = {
    "column": changed_column,
    "input": changed_input,
    "plane": changed_plane,
    **{field: changed_whole(field) for field in ("policy_targets", "q_values", "value_targets", "score_distribution")},
}


@FEW_OR_MANY
@pytest.mark.parametrize("kind", CHANGES)
def test_no_change_of_a_row_passes_but_of_what_is_listed(judge: Judge, kind: str, share: float) -> None:
    @hypothesis_settings(Examples, max_examples=round(share * (100 if kind == "column" else 25)))
    @given(data=st.data())
    def changes(data: st.DataObject) -> None:
        game = data.draw(st.sampled_from(accepted()))
        rows = game.rows.take(np.arange(game.rows.count))
        row = data.draw(st.integers(0, rows.count - 1), "row")
        is_side = bool(is_side_row(rows)[row])
        what = CHANGES[kind](rows, row, data)
        fate = judge(replace(game, rows=rows))
        assert not fate.counts or what in free(), f"{what} of a {'side' if is_side else 'main'} row"

    changes()


# ----------------------------------------------------------------------------------------------------------- the record

TOKEN: Final = re.compile(
    r"-?\d+\.\d+|-?\d+|(?<=\[)[a-z]{2}(?=\])|(?<=[;\]])[A-Z]{1,2}(?=\[)|(?<=[=,])[a-zA-Z]\w+|\[\]"
)


def meaning(record: GameRecord) -> tuple[Any, ...]:
    """All that a record says, but for what its searches found, and for comments that nobody reads."""
    moves = [(move.colour, move.at, move.is_pass_for_ko) for move in record.moves]
    head = (record.x_size, record.y_size, record.rules, record.handicap, record.black_name, record.white_name)
    return (*head, record.stones, record.beginner, record.result, record.info, moves)


def searches(game: Accepted, record: GameRecord) -> list[tuple[float, ...]]:
    """What the searches found of the turns that have rows of their own; visits are exact, values as printed."""
    turns = game.rows.global_targets[~is_side_row(game.rows), GlobalTarget.TURN].astype(int)
    found: list[tuple[float, ...]] = []
    for turn in sorted(set(turns)):
        values = record.moves[turn].values
        assert values is not None
        found.append((values.win, values.loss, values.no_result, values.score / 10, values.visits))
    return found


@FEW_OR_MANY
def test_no_change_of_what_a_record_says_passes(judge: Judge, share: float) -> None:
    @hypothesis_settings(Examples, max_examples=round(share * 150))
    @given(data=st.data())
    def changes(data: st.DataObject) -> None:
        game = data.draw(st.sampled_from(accepted()))
        tokens = list(TOKEN.finditer(game.sgf))
        token = tokens[data.draw(st.integers(0, len(tokens) - 1), "token")]
        old = token.group()
        number = re.fullmatch(r"-?[\d.]+", old)
        if number:
            value = float(old)
            new = data.draw(
                st.sampled_from(["0", "1", f"{value + 0.05:.2f}", f"{value + 1:g}", f"{-value:g}", old + "1"])
            )
        else:
            new = data.draw(
                st.sampled_from(["aa", "dd", "gg", "tt", "B", "W", "AB", "AE", "PL", "TR", "normal", "[dd]", "[]"])
            )
        text = game.sgf[: token.start()] + new + game.sgf[token.end() :]
        assume(text != game.sgf)
        if not judge(replace(game, sgf=text)).counts:
            return
        try:
            before, after = read(game.sgf), read(text)
        except SgfError:
            pytest.fail("a record that cannot be read was accepted")
        assert meaning(after) == meaning(before)
        assert searches(game, after) == [pytest.approx(values, abs=PRINTED) for values in searches(game, before)]

    changes()


# ------------------------------------------------------------------------------------------------------------- the form

FORMS: Final[dict[str, tuple[str, ...]]] = {
    "board_size_x": ("7", "8", "9"),
    "board_size_y": ("7", "8", "9"),
    "handicap": ("2", "9"),
    "komi": ("0", "0.5", "-7.5", "60"),
    "gametype": ("cleanup_training", "fork", "handicap", "sgfpos", "hintpos", "hintfork", "asym", "unknown"),
    "rules": tuple(
        f'{{"ko":"{ko}","scoring":"{scoring}","tax":"{tax}","suicide":{suicide}}}'
        for ko in ("SIMPLE", "POSITIONAL", "SITUATIONAL")
        for scoring in ("AREA", "TERRITORY")
        for tax in ("NONE", "SEKI", "ALL")
        for suicide in ("true", "false")
    ),
    "extra_metadata": (
        '{"playout_doubling_advantage":1.5,"playout_doubling_advantage_pla":"White"}',
        '{"draw_equivalent_wins_for_white":0.1}',
    ),
    "winner": ("B", "W", "0", "-"),
    "score": ("0", "0.5", "-0.5", "20", "-20", ""),
    "resigned": ("true",),
    "game_length": ("0", "1", "49999"),
    "kg_game_uid": ("0" * 32, "F" * 32),
    "black_network": ("both-b3c32-bn-v12-r1",),
    "white_network": ("both-b3c32-bn-v12-r1",),
    "num_training_rows": ("1", "9999"),
    "net_changes": ('[{"network":"http://x/api/networks/both-b3c32-bn-v12-r1/","turn":3}]',),
}


@pytest.mark.parametrize("field", FORMS)
def test_no_other_form_passes(judge: Judge, field: str) -> None:
    for game in accepted()[:2]:
        for value in FORMS[field]:
            new = re.sub("[^/]+/$", f"{value}/", game.form[field]) if field.endswith("network") else value
            if new == game.form.get(field) or (field == "rules" and json.loads(new) == json.loads(game.form["rules"])):
                continue
            assert not judge(replace(game, form=game.form | {field: new})).counts, (field, new)
