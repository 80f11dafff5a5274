"""Checks of names whose refusal says what is allowed."""

from __future__ import annotations

from django.core.validators import RegexValidator


def name_validator(pattern: str, allowed: str) -> RegexValidator:
    """Refuses what does not match ``pattern``; ``allowed`` is the sentence that people read."""
    validator = RegexValidator(pattern)
    validator.message = allowed  # set afterwards, as words are no part of the database's state (migrations)
    return validator
