"""``manage.py set_role NAME ROLE``: what somebody may do besides contributing."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser

from server.accounts.roles import Role, role_set


class Command(BaseCommand):
    """Give a user a role in place of the one before."""

    help = "Give a user a role: volunteer, moderator, operator or admin."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command line."""
        parser.add_argument("username")
        parser.add_argument("role", choices=[role.value for role in Role])

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command."""
        user = get_user_model().objects.filter(username=options["username"]).first()
        if user is None:
            raise CommandError(f"there is no user {options['username']!r}")
        role_set(user, Role(options["role"]))
        self.stdout.write(f"{options['username']} is {options['role']} now")
