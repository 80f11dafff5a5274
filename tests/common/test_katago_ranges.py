"""What we read and write is in the ranges that KataGo 1.17.2 takes: else its programs end where our texts are given.

The ranges are facts of its ``setup.cpp`` and ``playsettings.cpp``; a key of one of our classes alone stands with that.
"""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any, Final

import pytest

from common import config_text
from common.config_text import ConfigError
from common.parameter_classes import (
    GameInitParameters,
    MatchParameters,
    PairingParameters,
    RowFileParameters,
    SearchParameters,
    SelfplayParameters,
    ThinkingParameters,
    keys_of,
)
from common.parameters import CONFIGS, default_text, parse_match, parse_selfplay, written
from tests import FIXTURES

GROUPS: Final[tuple[type[Any], ...]] = (
    *(SearchParameters, ThinkingParameters, GameInitParameters, SelfplayParameters, MatchParameters),
    *(RowFileParameters, PairingParameters),
)
RANGES: Final[dict[str, list[float]]] = json.loads((FIXTURES / "katago_ranges.json").read_text())
KEYS: Final = [(group, key) for group in GROUPS for key in keys_of(group).values()]


def range_of(group: type[Any], name: str) -> tuple[float, float] | None:
    """KataGo's range of a number; None of what is no number, or ours alone."""
    found = RANGES.get(f"{group.__name__} {name}") or RANGES.get(name)
    return None if found is None else (found[0], found[1])


def test_most_keys_have_a_range() -> None:
    assert sum(range_of(group, key.name) is not None for group, key in KEYS) > 130


@pytest.mark.parametrize(("group", "key"), KEYS, ids=[f"{group.__name__}.{key.name}" for group, key in KEYS])
def test_no_value_is_read_that_katago_refuses(group: type[Any], key: Any) -> None:
    limits = range_of(group, key.name)
    if limits is None:
        return
    low, high = limits
    below = low - max(1.0, abs(low)) if low == int(low) else math.nextafter(low, -math.inf)
    for outside in (below, high + max(1.0, abs(high) * 1e-9)):
        text = str(int(outside)) if outside == int(outside) and abs(outside) < 1e18 else repr(outside)
        with pytest.raises(ValueError, match=r".+"):
            key.kind.read(text)


def in_range(group: type[Any], values: dict[str, str]) -> None:
    for name, text in values.items():
        limits = range_of(group, name)
        for part in text.split(",") if limits is not None else ():
            assert limits is not None
            assert limits[0] <= float(part) <= limits[1], f"{group.__name__}: {name} = {text}"


def test_what_is_written_is_in_range() -> None:
    selfplay, match = parse_selfplay(default_text("selfplay", "7x7")), parse_match(default_text("gating", "7x7"))
    groups = [selfplay.search, selfplay.init, selfplay.selfplay, *match.bots, match.init, match.match]
    for group in (*groups, ThinkingParameters(), RowFileParameters(), PairingParameters()):
        in_range(type(group), written(group))
    assert "futileVisitsThreshold" not in written(selfplay.search)
    some = dataclasses.replace(selfplay.search, futile_visits_threshold=0.15)
    assert written(some)["futileVisitsThreshold"] == "0.15"


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.cfg")), ids=lambda path: path.stem)
def test_texts_of_the_project_are_in_range(path: Any) -> None:
    told = {name: entry.value for name, entry in config_text.parse(path.read_text()).items()}
    for group in GROUPS:
        names = {key.name for key in keys_of(group).values()}
        if group is MatchParameters or names:
            in_range(group, {name: text for name, text in told.items() if name in names})


def test_a_text_that_says_what_cannot_be_said_is_refused() -> None:
    with pytest.raises(ConfigError, match="futileVisitsThreshold"):
        parse_selfplay(default_text("selfplay", "7x7") + "futileVisitsThreshold = 0\n")


@pytest.mark.parametrize("indices", [(0,), (1,), (0, 1)])
def test_bots_of_which_only_some_say_it_are_written_and_read(indices: tuple[int, ...]) -> None:
    match = parse_match(default_text("gating", "7x7"))
    some = dataclasses.replace(match.bots[0], futile_visits_threshold=0.15)
    asked = dataclasses.replace(match, bots=tuple(some if bot in indices else match.bots[0] for bot in (0, 1)))
    again = parse_match(asked.to_text())
    assert [bot.futile_visits_threshold for bot in again.bots] == [0.15 if bot in indices else 0.0 for bot in (0, 1)]
