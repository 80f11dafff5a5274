"""A run's settings as options of commands: one for each that a maintainer may give, under the name of its field."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser
from django.db import models
from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_naive, make_aware

from common.files import in_words
from common.text_files import TextError, read_json_object, read_text
from server.runs.models import Run

_ELSEWHERE: Final = {"id", "name", "state", "created_at", "inputs_version", "current_network"}
"""Fields that are no settings, or that have a command or an argument of their own."""
TEXTS: Final = ("selfplay_config", "gating_config")
NOTHING: Final = "none"
"""Said instead of a file or a moment: empty."""


def setting_fields() -> list[models.Field[Any, Any]]:
    """The fields that hold a run's settings, in their order."""
    fields = (field for field in Run._meta.concrete_fields if field.editable and not field.primary_key)
    return [field for field in fields if field.name not in _ELSEWHERE]


def add_settings(parser: CommandParser, defaults: Mapping[str, object], without: tuple[str, ...] = ()) -> None:
    """An option for every setting but those ``without``; where one is not given and has no default, nothing is said."""
    for field in setting_fields():
        if field.name not in without:
            _add(parser, field, defaults.get(field.name, argparse.SUPPRESS))


def _add(parser: CommandParser, field: models.Field[Any, Any], default: object) -> None:
    told = str(field.help_text) or f"the run's {field.name.replace('_', ' ')}"
    kind: dict[str, Any] = {"help": told.replace("%", "%%"), "default": default}
    if isinstance(field, models.BooleanField):
        kind["action"] = argparse.BooleanOptionalAction
    elif field.choices is not None:
        kind["choices"] = [value for value, _ in field.choices]
    elif isinstance(field, models.FloatField):
        kind["type"] = float
    elif isinstance(field, models.IntegerField):
        kind["type"] = int
    elif isinstance(field, models.DateTimeField):
        kind |= {"type": _moment, "metavar": "MOMENT"}
    elif isinstance(field, models.TextField | models.JSONField):
        kind |= {"type": _file, "metavar": "FILE"}
    parser.add_argument("--" + field.name.replace("_", "-"), **kind)


def _file(text: str) -> Path | None:
    return None if text == NOTHING else Path(text)


def _moment(text: str) -> datetime | None:
    """A moment, of UTC if it does not say otherwise.

    Raises:
        ValueError: it is none.
    """
    if text == NOTHING:
        return None
    moment = parse_datetime(text)
    if moment is None:
        raise ValueError(text)
    return make_aware(moment) if is_naive(moment) else moment


def given_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a command was given, files read, by name.

    Raises:
        CommandError: a file cannot be read.
    """
    return {field.name: _value_of(field, options[field.name]) for field in setting_fields() if field.name in options}


def _value_of(field: models.Field[Any, Any], given: Any) -> Any:
    """What was given, or what its file holds.

    Raises:
        CommandError: the file cannot be read.
    """
    is_json = isinstance(field, models.JSONField)
    if not isinstance(field, models.TextField | models.JSONField) or field.choices is not None:
        return given
    if given is None:
        return {} if is_json else ""
    try:
        return read_json_object(given) if is_json else read_text(given)
    except (TextError, OSError) as error:
        raise CommandError(in_words(error)) from None


def told_value(run: Run, name: str) -> str:
    """A setting's value for a list, in one line; of a text, how long it is."""
    value = getattr(run, name)
    if isinstance(value, str) and ("\n" in value or len(value) > 60):
        return f"({len(value.splitlines())} lines)"
    return "" if value is None else str(value)
