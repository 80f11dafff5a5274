"""Real numbers in the forms in which the world writes them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.decimals import MAX_LENGTH, real_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("6.500000", 6.5),
        ("+6.5", 6.5),
        ("-6.5", -6.5),
        ("6,5", 6.5),
        (" 6.5 ", 6.5),
        ("\t7\r\n", 7.0),
        (".5", 0.5),
        ("7.", 7.0),
        ("1e1", 10.0),
        ("75E-1", 7.5),
        ("-0.0", 0.0),
        ("0" * 100 + "6.5" + "0" * 100, 6.5),
    ],
)
def test_forms(text: str, value: float) -> None:
    assert real_number(text) == value
    assert math.copysign(1, real_number(text)) == math.copysign(1, value)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            ".",
            "+",
            "-",
            "6.5.0",
            "6,5,0",
            "1.000,5",
            "6 5",
            "nan",
            "inf",
            "-Infinity",
            "1_0",
            "0x10",
            "٦",
            "6.5pt",
        ),
        *("1e", "e1", "1e9999", "9e999", "--1", "1" * (MAX_LENGTH + 1), "1" * 10**6, "6.5\0"),
    ],
)
def test_no_numbers(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a number|is too large"):
        real_number(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_python_writes(value: float) -> None:
    assert real_number(repr(value)) == value
    assert real_number(f"{value:.6f}".replace(".", ",")) == float(f"{value:.6f}")
