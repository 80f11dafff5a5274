"""JSON of strangers: anything nested deeply is refused by a sentence, wherever it is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.go.rules import Rules
from common.json_text import MAX_DEPTH, JsonError, loads
from common.wire import MessageError, SelfplayTask, read_error

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_what_json_writes_is_read(value: object) -> None:
    assert loads(json.dumps(value)) == value
    assert loads(json.dumps(value, ensure_ascii=False)) == value


def test_the_limit_counts_what_is_inside_each_other() -> None:
    assert loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert len(loads("[" + ",".join(["[]"] * 1000) + "]")) == 1000
    assert loads('["' + "[" * 1000 + '\\"["]') == ["[" * 1000 + '"[']
    with pytest.raises(JsonError, match="nested too deeply"):
        loads("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))


@pytest.mark.parametrize(
    "text",
    ["[" * 10**6, '{"a":' * 10**5, "[{" * 10**5, "]" * 10**6, '"' * 10**6, '"\\' * 10**6, "", "1 2", "9" * 10**5],
    ids=range(9),
)
def test_refusals_take_linear_time_and_little_stack(text: str) -> None:
    with pytest.raises(JsonError):
        loads(text)


@pytest.mark.parametrize("deep", ['{"ko":' + "[" * 10**5, "{" + '"ko":{' * 10**5, '{"komi":1' + "0" * 400 + "}"])
def test_rules(deep: str) -> None:
    with pytest.raises(ValueError, match=r"rules are nested too deeply|must be an integer"):
        Rules.parse(deep)


def test_messages() -> None:
    with pytest.raises(MessageError):
        SelfplayTask.from_json("[" * 10**5)
    assert "status 500" in read_error(500, "[" * 10**5).detail
