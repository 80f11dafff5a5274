"""Commands whose output nobody takes any more end without a word, and others as before."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from common.pipes import EXIT_UNREAD, ends_with_its_reader
from tests import ROOT


def unread() -> int:
    """The end to write to of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


@pytest.mark.parametrize(
    ("words", "given", "unbuffered"),
    [
        ("-m client --help", "", ""),
        ("-m client --help", "", "1"),
        ("-m client gtp --help", "", ""),
        ("-m client gtp --model random", "name\nversion\nquit\n", ""),
        ("-m client gtp --model random", "name\nversion\nquit\n", "1"),
        ("-m client selfplay --print-config", "", ""),
        ("-m client selfplay --print-config", "", "1"),
        ("-m nets info --help", "", ""),
        ("manage.py help", "", ""),
    ],
)
def test_commands_that_nobody_reads(words: str, given: str, unbuffered: str) -> None:
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    writing = unread()
    try:
        done = subprocess.run(
            [sys.executable, *words.split()],
            input=given.encode(),
            stdout=writing,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=environment,
        )
    finally:
        os.close(writing)
    assert not re.search(b"Traceback|Broken pipe|ignored", done.stderr), done.stderr
    assert done.returncode == EXIT_UNREAD or "--help" in words  # of which argparse swallows every error


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no disk that is always full")
@pytest.mark.parametrize(
    ("words", "encoding"), [("client match --help", "ascii"), ("client selfplay --help", "latin-1")]
)
def test_letters_that_the_encoding_lacks(words: str, encoding: str) -> None:
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run([sys.executable, "-m", *words.split()], capture_output=True, cwd=ROOT, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"K=V,\u2026" in done.stdout


def test_output_that_finds_no_place_is_told() -> None:
    buffered = os.environ | {"PYTHONUNBUFFERED": ""}
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "client", "--help"], stdout=full, stderr=subprocess.PIPE, cwd=ROOT, env=buffered
        )
    assert done.returncode == EXIT_UNREAD
    assert done.stderr == b"error: the output cannot be written: No space left on device\n"


def test_other_broken_pipes_are_not_taken_for_the_readers() -> None:
    with open(unread(), "wb", buffering=0) as other, pytest.raises(BrokenPipeError):
        ends_with_its_reader(lambda: other.write(b"x"))


def test_what_is_read_ends_as_ever() -> None:
    assert ends_with_its_reader(lambda: 3) == 3
    with pytest.raises(SystemExit) as ended:
        ends_with_its_reader(lambda: sys.exit(4))
    assert ended.value.code == 4
