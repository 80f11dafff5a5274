"""A real KataGo as the judge of our net files: asked where ``TENGEN_KATAGO`` names its program, recorded elsewhere.

Both engines get the same lines of GTP, so that rules, inputs, file and forward pass are all under test. The positions
and what KataGo 1.17.2 (CPU) answered about our trained net are in ``tests/fixtures/katago``;
``python -m tests.katago NET.bin.gz`` prints such answers anew.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from common.precision import Precision
from nets.evaluation.evaluator import load_evaluator
from tests import FIXTURES
from tests.client.engine.gtp.talking import make_session, spoken

VARIABLE = "TENGEN_KATAGO"
RECORDED = FIXTURES / "katago"
SECONDS = 300.0
_CONFIG = """
rules = chinese
maxVisits = 1
numSearchThreads = 1
resignThreshold = -0.9
assumeMultipleStartingBlackMovesAreHandicap = false
preventCleanupPhase = false
logAllGTPCommunication = false
logSearchInfo = false
logToStderr = false
"""


def katago_program() -> Path:
    """The program that ``TENGEN_KATAGO`` names; skips where there is none."""
    name = os.environ.get(VARIABLE)
    if not name:
        pytest.skip(f"no KataGo to ask: set {VARIABLE} to the program")
    if not os.access(name, os.X_OK):
        pytest.fail(f"{VARIABLE}={name} is not a program")
    return Path(name)


def recorded(file: str = "answers.jsonl.gz") -> list[dict[str, Any]]:
    """Positions, as lines of GTP, and KataGo's answers about a net: by default the trained one of the fixtures."""
    with gzip.open(RECORDED / file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def positions() -> list[list[str]]:
    """The recorded positions: the lines that lead to each, and as last the question."""
    return [entry["lines"] for entry in recorded()]


def ask_katago(program: Path, net: Path, conversations: Sequence[Sequence[str]]) -> list[str]:
    """What KataGo answers to the last line of each conversation about ``net``."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "gtp.cfg"
        config.write_text(f"{_CONFIG}homeDataDir = {folder}\nlogFile = {folder}/log\n")
        lines = "\n".join(line for conversation in conversations for line in conversation)
        result = subprocess.run(
            [program, "gtp", "-model", net, "-config", config],
            input=f"{lines}\nquit\n",
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    assert result.returncode == 0, (result.stdout + result.stderr)[-2000:]
    return _last_answers(result.stdout, conversations)


def all_answers(program: Path, net: Path, lines: Sequence[str]) -> list[str]:
    """What KataGo answers to each line, as it stands, without the number."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "gtp.cfg"
        config.write_text(f"{_CONFIG}homeDataDir = {folder}\nlogFile = {folder}/log\n")
        numbered = "".join(f"{number} {line}\n" for number, line in enumerate(lines))
        result = subprocess.run(
            [program, "gtp", "-model", net, "-config", config],
            input=f"{numbered}quit\n",
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    answers: dict[int, str] = {}
    for answer in result.stdout.split("\n\n"):
        found = re.match(r"([=?])(\d+)(.*)", answer.lstrip("\n"), re.DOTALL)
        if found:
            answers[int(found[2])] = (found[1] + found[3]).rstrip()
    return [answers.get(number, "") for number in range(len(lines))]


def ask_tengen(net: Path, conversations: Sequence[Sequence[str]]) -> list[str]:
    """The same of our engine, in float32."""
    session = make_session(
        str(net),
        "maxVisits=2,preventCleanupPhase=false,assumeMultipleStartingBlackMovesAreHandicap=false",
        load=lambda network, length: load_evaluator(
            network.path, length=length, device="cpu", threads=1, precision=Precision.FLOAT32
        ),
    )
    try:
        output = spoken(session, *(line for lines in conversations for line in lines))
    finally:
        session.queries.close()
    return _last_answers(output, conversations)


def _last_answers(output: str, conversations: Sequence[Sequence[str]]) -> list[str]:
    """The answer that ends each conversation; every line must have been accepted."""
    answers = output.split("\n\n")
    last, index = [], -1
    for conversation in conversations:
        for line in conversation:
            index += 1
            assert answers[index].lstrip("\n").startswith("="), f"{line}: {answers[index]}"
        last.append(answers[index].strip())
    return last


def block(text: str) -> dict[str, Any]:
    """The answer to ``kata-raw-nn`` as numbers; maps as lists of rows, NaN where a move is illegal."""
    found: dict[str, Any] = {}
    rows: list[list[float]] = []
    for line in text.removeprefix("=").strip().splitlines():
        words = line.split()
        if len(words) == 1:
            rows = found[words[0]] = []
        elif words[0][0].isalpha() and words[0] != "NAN":
            found[words[0]] = float(words[1])
        else:
            rows.append([float(word) for word in words])
    return found


PROBABILITY = 2e-5
SCORE = 2e-3
"""Tolerances of vectors.md 5 for what is printed to 6 and to 3 digits; SCORE is of 1 + value / 200."""
_PROBABILITIES = ("whiteWin", "whiteLoss", "noResult", "policy", "policyPass", "whiteOwnership")


def assert_same_outputs(own: str, katagos: str) -> None:
    """Two answers to ``kata-raw-nn`` agree: the same lines, legal moves and numbers within the tolerances."""
    found, wanted = block(own), block(katagos)
    assert list(found) == list(wanted)
    for name, expected in wanted.items():
        value = found[name]
        if isinstance(expected, list):
            assert [len(row) for row in value] == [len(row) for row in expected], name
            pairs = list(zip(chain(*value), chain(*expected), strict=True))
        else:
            pairs = [(value, expected)]
        for one, other in pairs:
            relative = 2e-5 if name.endswith("Sq") else 1e-5  # a square errs by twice as much
            limit = PROBABILITY if name in _PROBABILITIES else SCORE + relative * abs(other)
            assert math.isnan(one) == math.isnan(other), name
            assert math.isnan(one) or abs(one - other) <= limit, (name, one, other)


if __name__ == "__main__":
    asked = positions()
    for conversation, answer in zip(asked, ask_katago(katago_program(), Path(sys.argv[1]), asked), strict=True):
        print(json.dumps({"lines": conversation, "answer": answer}))
