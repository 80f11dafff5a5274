"""Sending a game as KataGo's client would, true or false, and what becomes of it; each leaves nothing behind."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from django.db import transaction
from django.test import Client

from common import npz
from common.rows import ARRAYS, Rows
from server.accounts.models import Contributor
from server.games.models import Game, GameState
from server.games.tasks import audit_pending
from server.jobs.models import Job, JobText
from tests.common.katago_games import Upload
from tests.server.factories import KATAGO, upload, upload_training
from tests.server.games.test_real_games import form_of

ANSWER: Final = "answer"
"""The code of what is refused while the client waits."""


@dataclass(frozen=True)
class Fate:
    """What became of an upload."""

    state: str
    """Of the game; `ANSWER` if there is none."""
    code: str
    text: str

    @property
    def counts(self) -> bool:
        """Nothing spoke against it."""
        return self.state == GameState.COUNTED


def raw_npz(rows: Rows) -> bytes:
    """The file of rows of any content."""
    return npz.to_bytes({spec.member: getattr(rows, spec.field) for spec in ARRAYS})


def named(game: Upload, black: str, white: str) -> str:
    """The record, with networks of this server's in place of those of the game."""
    sgf = game.sgf.replace(f"PB[{game.facts.black_network}]", f"PB[{black}]")
    return sgf.replace(f"PW[{game.facts.white_network}]", f"PW[{white}]")


def whole_form(game: Upload, job: Job) -> dict[str, Any]:
    """The form that goes with what a game says of itself, whether that can be or not."""
    facts = game.facts
    told: dict[str, Any] = {}
    if facts.draw_white_wins is not None:
        told["draw_equivalent_wins_for_white"] = facts.draw_white_wins
    if facts.white_doublings is not None:
        whose = "White" if facts.white_doublings > 0 else "Black"
        told["playout_doubling_advantage"] = abs(facts.white_doublings)
        told["playout_doubling_advantage_pla"] = whose
    changed = game if facts.score is not None else Upload(game.sgf, game.rows, replace(facts, score=0.0))
    return form_of(changed, job) | {
        "resigned": str(facts.resigned).lower(),
        "extra_metadata": json.dumps(told),
        **({} if facts.score is not None else {"score": ""}),
    }


def fate_of(send: Callable[[], Any]) -> Fate:
    """Send a game, audit it, and take everything back."""
    with transaction.atomic():
        try:
            answer = send()
            assert answer.status_code in (201, 400), answer.content
            if answer.status_code == 400:
                assert answer.json()["code"] == "drop_game", answer.content
                return Fate(ANSWER, ANSWER, answer.json()["detail"])
            assert audit_pending() == 1
            game = Game.objects.latest("pk")
            return Fate(game.state, game.reason_code, game.reason)
        finally:
            transaction.set_rollback(True)


class Desk:
    """A login with a job, by which games are sent again and again, each as if it were the first."""

    def __init__(self, client: Client, contributor: Contributor, job: Job) -> None:
        self.client = client
        self.contributor = contributor
        self.job = job

    def fate(
        self,
        game: Upload,
        text: str,
        *,
        form: dict[str, Any] | None = None,
        sgf: bytes | None = None,
        rows: bytes | None = None,
    ) -> Fate:
        """Send a game as one of a job with that text, audit it, and take everything back.

        ``form`` is put over the game's; ``sgf`` and ``rows`` are sent instead of its own.
        """
        digest = hashlib.sha256(text.encode()).hexdigest()
        kept = JobText.objects.get_or_create(sha256=digest, defaults={"text": text})[0]
        Job.objects.filter(pk=self.job.pk).update(text=kept)
        whole = whole_form(game, self.job) | (form or {})
        return fate_of(lambda: self._send(whole, game, sgf, rows))

    def _send(self, form: dict[str, Any], game: Upload, sgf: bytes | None, rows: bytes | None) -> Any:
        job = self.job
        if sgf is None:
            sgf = named(game, job.black_network.name, job.white_network.name).encode()
        if job.kind == "selfplay":
            if rows is None:
                rows = raw_npz(game.rows)
            return upload_training(self.client, self.contributor, form, sgf=sgf, rows=rows, agent=KATAGO)
        del form["num_training_rows"]
        return upload(self.client, self.contributor, form, sgf=sgf, agent=KATAGO)
