"""How a message of the protocol is read, checked and written, and the checks of its fields; declares no message.

`JsonMessage` and `FormMessage` are the two shapes that `common.wire` fills. Reading is lenient about unknown fields,
unless a message forbids them, and strict about the type of known ones: numbers in JSON are JSON numbers (an integer is
not ``19.0`` or ``"19"``), numbers in a form are plain decimal text. A message that does not hold is a `MessageError`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    ValidationError,
)

from common.json_text import JsonError, loads


class MessageError(ValueError):
    """A message that does not hold; the text names each offending field."""


_UNKNOWN: Final = "is not known here, and cannot be passed over"


def describe(error: ValidationError) -> str:
    """What is wrong, field by field, in one line for people; input values are not repeated."""
    shown = []
    for problem in error.errors(include_url=False, include_input=False, include_context=False)[:5]:
        place = ".".join(str(part) for part in problem["loc"])
        text = _UNKNOWN if problem["type"] == "extra_forbidden" else problem["msg"].removeprefix("Value error, ")
        shown.append(f"{place}: {text}" if place else text)
    more = error.error_count() - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more > 0 else "")


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class JsonMessage(_Message):
    """A message whose body is one JSON object."""

    @classmethod
    def from_json(cls, body: bytes | str) -> Self:
        """Read and check a body.

        Raises:
            MessageError: not JSON, or a field is missing, of the wrong type or beyond its limit.
        """
        try:
            return cls.model_validate_json(body)
        except ValidationError as error:
            raise MessageError(describe(error)) from None

    @classmethod
    def from_object(cls, decoded: object) -> Self:
        """As `from_json`, for JSON that is decoded already."""
        try:
            return cls.model_validate(decoded)
        except ValidationError as error:
            raise MessageError(describe(error)) from None

    def to_object(self) -> dict[str, Any]:
        """The JSON object to send. Optional fields that were not set are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def to_json(self) -> str:
        """The text to send."""
        return json.dumps(self.to_object(), ensure_ascii=False, separators=(",", ":"))


class FormMessage(_Message):
    """A message sent as ``multipart/form-data``; files travel beside the fields and are not part of it."""

    left_out_if_none: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def from_form(cls, form: Mapping[str, object]) -> Self:
        """Read and check the text fields of a form (unknown ones are ignored).

        Raises:
            MessageError: a field is missing, of the wrong type or beyond its limit.
        """
        try:
            return cls.model_validate({name: form[name] for name in cls.model_fields if name in form})
        except ValidationError as error:
            raise MessageError(describe(error)) from None

    def to_form(self) -> dict[str, str]:
        """The text fields in the order of the protocol."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {
            name: _form_text(value)
            for name, value in values.items()
            if value is not None or name not in self.left_out_if_none
        }


def _form_text(value: object) -> str:
    """Spelling of one field, which may be a message or some of them.

    Floats are spelled as C++ streams print them: six digits, no trailing zeros.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, JsonMessage):
        return json.dumps(value.to_object(), sort_keys=True, separators=(",", ":"))
    if isinstance(value, tuple):
        return json.dumps([each.to_object() for each in value], sort_keys=True, separators=(",", ":"))
    return "" if value is None else str(value)


# -- checks of text ------------------------------------------------------------------------------------------------


def no_control_characters(text: str) -> str:
    """Refuse control characters, which would forge lines in logs."""
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise ValueError("contains a control character")
    return text


def storable(text: str) -> str:
    """Refuse what no database takes as text: NUL, and halves of surrogate pairs."""
    if "\0" in text:
        raise ValueError("contains a NUL character")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("contains half of a surrogate pair")
    return text


def address(text: str) -> str:
    """Refuse what is not an absolute http or https address."""
    if not re.match(r"https?://[^\s/]", text):
        raise ValueError("is not an absolute http or https address")
    return no_control_characters(text)


def sha256_or_empty(text: str) -> str:
    """Refuse what is neither empty nor 64 hexadecimal digits; gives lower case."""
    if not re.fullmatch(r"(?:[0-9a-fA-F]{64})?", text):
        raise ValueError("is not 64 hexadecimal digits")
    return text.lower()


def file_name(text: str) -> str:
    """Refuse names that cannot safely become a file's or folder's name."""
    if not re.fullmatch(r"[0-9A-Za-z_][0-9A-Za-z._+-]*", text):
        raise ValueError("may only have letters, digits, '-', '_', '.' and '+', as it becomes a file name")
    return text


def limit_bytes(limit: int) -> AfterValidator:
    """Refuse text of more than ``limit`` bytes in UTF-8."""

    def check(text: str) -> str:
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > limit:
            raise ValueError(f"has {size} bytes in UTF-8, the limit is {limit}")
        return text

    return AfterValidator(check)


# -- values of forms -----------------------------------------------------------------------------------------------


def _integer(value: object) -> object:
    if isinstance(value, str):
        if not re.fullmatch(r"-?[0-9]{1,15}", value):
            raise ValueError("is not a decimal integer")
        return int(value)
    return value


def _number(value: object) -> object:
    if isinstance(value, str):
        if not re.fullmatch(r"-?[0-9]{1,15}(?:\.[0-9]{0,15})?", value):
            raise ValueError("is not a decimal number")
        return float(value)
    return value


def _boolean(value: object) -> object:
    if isinstance(value, str):
        known = {"true": True, "false": False}
        if value.lower() not in known:
            raise ValueError("is neither true nor false")
        return known[value.lower()]
    return value


def _half_integer(value: float) -> float:
    if not math.isfinite(value) or not (2 * value).is_integer():
        raise ValueError("is neither an integer nor a half-integer")
    return value + 0.0  # turns -0.0 into 0.0


def absent_if_empty(value: object) -> object:
    """An empty field counts as absent."""
    return None if value == "" else value


def json_text(limit: int) -> Callable[[object], object]:
    """Decode a field that holds JSON of at most ``limit`` bytes."""

    def decode(value: object) -> object:
        if not isinstance(value, str):
            return value
        size = len(value.encode("utf-8", "surrogatepass"))
        if size > limit:
            raise ValueError(f"has {size} bytes, the limit is {limit}")
        try:
            return loads(value)
        except JsonError as error:
            raise ValueError(f"is {error}") from None

    return decode


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("is not a finite number")
    return value


Number = Annotated[float, Field(strict=True), AfterValidator(_finite)]
"""A finite number in JSON."""
FormInteger = Annotated[StrictInt, BeforeValidator(_integer)]
FormNumber = Annotated[Number, BeforeValidator(_number)]
FormBoolean = Annotated[StrictBool, BeforeValidator(_boolean)]
HalfInteger = Annotated[float, Field(strict=True), AfterValidator(_half_integer), BeforeValidator(_number)]
