"""What KataGo 1.17.2 answers to commands that do not search, refusals above all: word for word what we answer.

The fixture has a line of GTP and the answer in each row; null where the two answer differently, or need not agree.
"""

from __future__ import annotations

import json

from tests.client.engine.gtp.talking import make_session, spoken
from tests.katago import RECORDED, all_answers, katago_program

ROWS: list[tuple[str, str | None]] = [
    (line, answer)
    for line, answer in map(json.loads, (RECORDED / "gtp.jsonl").read_text(encoding="utf-8").splitlines())
]


def test_our_answers_are_those_of_katago() -> None:
    session = make_session(overrides="maxVisits=1,numSearchThreads=1", length=19)
    text = spoken(session, *(line for line, _ in ROWS))
    answers = [answer.rstrip() for answer in text.removesuffix("\n\n").split("\n\n")]
    assert len(answers) == len(ROWS)
    found = {line: answer for (line, wanted), answer in zip(ROWS, answers, strict=True) if wanted not in (None, answer)}
    assert found == {}
    assert sum(wanted is not None for _, wanted in ROWS) > 150
    session.queries.close()


def test_the_recorded_answers_are_those_of_this_katago() -> None:
    answers = all_answers(katago_program(), RECORDED / "trained-b2c32-bn.bin.gz", [line for line, _ in ROWS])
    found = {line: answer for (line, wanted), answer in zip(ROWS, answers, strict=True) if wanted not in (None, answer)}
    assert found == {}
