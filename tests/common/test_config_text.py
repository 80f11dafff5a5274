"""The grammar of configuration texts (spec contribute-protocol.md 5)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common import config_text
from common.config_text import ConfigError


def values(text: str) -> dict[str, str]:
    return {key: entry.value for key, entry in config_text.parse(text).items()}


def test_lines_comments_and_quotes() -> None:
    text = """
    # a comment
    maxVisits = 600   # to the end of the line
    koRules=SIMPLE, POSITIONAL
    equation = a = b
    quoted = "a # b" # comment
    escaped = "say \\"hi\\" \\\\ \\n"
    plain = say "hi" \\n
    short = 600#to the end
    """
    assert values(text) == {
        "maxVisits": "600",
        "koRules": "SIMPLE, POSITIONAL",
        "equation": "a = b",
        "quoted": "a # b",
        "escaped": 'say "hi" \\ n',  # as KataGo's parser: a backslash only takes the next character as it is
        "plain": 'say "hi" \\n',
        "short": "600",
    }
    assert values("a = 1\r\nb = 2\r\n") == {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nb = 2\na = 3", "^line 3: a is given a second time, first on line 1$"),
        ("\n@include other.cfg", "^line 2: directives such as @include are not allowed"),
        ("maxVisits 600", "^line 1: 'maxVisits 600' is not of the form key = value"),
        ("= 5", "^line 1: '' is not a key"),
        ("max visits = 5", "^line 1: 'max visits' is not a key"),
        ("3a = 5", "is not a key"),
        ('a = "open', "^line 1: a: the closing quote is missing$"),
        ('a = "open\\', "closing quote is missing"),
        ('a = "b" c', "^line 1: a: 'c' follows the closing quote$"),
        ("a =", "^line 1: a has no value"),
        ('a = ""', "^line 1: a has no value"),
        ("a = # b", '^line 1: a has no value.*written in quotes, as in "#1"'),
        ("\ufeffa = 1", "^line 1: the text begins with a byte order mark"),
        ("a = 1\rb = 2", "^line 1: a carriage return in the middle"),
        ("a\u00a0= 1", "is not a key"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config_text.parse(text)


def test_all_problems_are_listed() -> None:
    with pytest.raises(ConfigError) as caught:
        config_text.parse("a\nb = 1\nb = 2\n@x")
    assert [line[:7] for line in str(caught.value).splitlines()] == ["line 1:", "line 3:", "line 4:"]


@settings(deadline=None)
@given(
    st.dictionaries(
        st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True),
        st.text(st.characters(exclude_characters="\r\n"), min_size=1, max_size=20),
    )
)
def test_what_is_written_reads_back(entries: dict[str, str]) -> None:
    assert values(config_text.write(entries)) == entries


@pytest.mark.parametrize("value", ["", "a\nb", "a\r"])
def test_a_value_that_no_line_can_hold_is_not_written(value: str) -> None:
    with pytest.raises(ConfigError):
        config_text.write({"a": value})


@pytest.mark.parametrize(
    ("line", "value", "cut"),
    [
        ("a = abc#123", "abc", "#123"),
        ("a=abc#123 # more", "abc", "#123 # more"),
        ("a = abc #123", "abc", ""),
        ("a = abc\t#123", "abc", ""),
        ('a = "abc#123"', "abc#123", ""),
        ('a = "abc"#123', "abc", ""),
        ("a = abc", "abc", ""),
    ],
)
def test_a_comment_right_after_a_value_is_noted(line: str, value: str, cut: str) -> None:
    found = config_text.parse(line)["a"]
    assert (found.value, found.cut) == (value, cut)


def test_overrides() -> None:
    found = config_text.parse_overrides('maxVisits=5,koRules=SIMPLE,POSITIONAL, name="a,b=c"')
    assert {key: entry.value for key, entry in found.items()} == {
        "maxVisits": "5",
        "koRules": "SIMPLE,POSITIONAL",
        "name": "a,b=c",
    }
    assert config_text.parse_overrides("") == {}
    with pytest.raises(ConfigError, match="override: a is given twice"):
        config_text.parse_overrides("a=1,a=2")
    with pytest.raises(ConfigError, match="override: 'maxVisits' is not of the form"):
        config_text.parse_overrides("maxVisits")


def test_an_overlay_keeps_comments_and_order() -> None:
    base = "# head\na = 1\nb = 2  # two\n\nc = 3\n"
    assert config_text.overlay(base, "# ignored\nb = 5\nd = x\n") == "# head\na = 1\nb = 5\n\nc = 3\nd = x\n"
    with pytest.raises(ConfigError, match="second time"):
        config_text.overlay("a=1\na=2", "")
