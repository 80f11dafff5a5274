"""What counts on command lines may be: no number is taken that could only fail later."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import pytest

from client.commands import gtp, match
from client.commands import selfplay as command
from common.arguments import MAX_COUNT, positive, seed, threads, whole


@pytest.mark.parametrize(
    ("kind", "text", "bounds"),
    [
        (positive, "0", "1 to 1,000,000,000,000"),
        (positive, str(MAX_COUNT + 1), "1 to 1,000,000,000,000"),
        (positive, "9" * 5000, "1 to 1,000,000,000,000"),
        (positive, "²", "1 to 1,000,000,000,000"),
        (threads, "1025", "1 to 1,024"),
        (seed, str(2**63), "0 to 9,223,372,036,854,775,807"),
        (seed, "-1", "0 to 9,223,372,036,854,775,807"),
        (whole(2, 19), "20", "2 to 19"),
    ],
)
def test_what_is_out_of_bounds_is_told_with_them(kind: Callable[[str], int], text: str, bounds: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        kind(text)
    assert str(caught.value) == f"must be a whole number from {bounds}, not {text[:40]!r}"


def test_the_bounds_themselves_are_taken() -> None:
    assert (positive("1"), positive(str(MAX_COUNT)), seed("0"), seed("007")) == (1, MAX_COUNT, 0, 7)


SELFPLAY = ("--model", "random", "--config", "c", "--output", "o", "--games", "1")
MATCH = ("--models", "random", "--program", "gnugo", "--games", "1", "--output", "o")


@pytest.mark.parametrize(
    ("declare", "words", "options"),
    [
        (command.add_arguments, SELFPLAY, "--games --parallel-games --cpu-streams --seed --length"),
        (match.add_arguments, MATCH, "--games --parallel-games --cpu-streams --seed --opening-length --policy-moves"),
        (gtp.add_arguments, ("--model", "random"), "--threads --seed"),
    ],
)
@pytest.mark.parametrize("number", [str(10**30), "-1", "1.5", "nan"])
def test_the_clients_commands_refuse_absurd_numbers(
    declare: Callable[[argparse.ArgumentParser], None],
    words: tuple[str, ...],
    options: str,
    number: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for option in options.split():
        parser = argparse.ArgumentParser()
        declare(parser)
        with pytest.raises(SystemExit):
            parser.parse_args([*words, f"{option}={number}"])
        assert f"argument {option}: must be a whole number from " in capsys.readouterr().err
