"""How passwords are kept, and which cannot be one."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.hashers import Argon2PasswordHasher
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from server.accounts.tokens import is_token


class Argon2(Argon2PasswordHasher):
    """Argon2id with 19 MiB, twice over, on one core (OWASP's first choice).

    Django's own numbers take 100 MiB and eight threads for each login: a dozen at once would take a small server down.
    """

    time_cost = 2
    memory_cost = 19 * 1024
    parallelism = 1


class NoTokenValidator:
    """A password that looks like a token would be taken for one."""

    def validate(self, password: str, user: Any = None) -> None:
        """Refuse it."""
        if is_token(password):
            raise ValidationError(self.get_help_text())

    def get_help_text(self) -> str:
        """What pages say beside the field."""
        return str(_("A password does not begin as the tokens of clients do."))
