"""``manage.py add_contributor NAME``: a login for somebody who wants to contribute."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from server.accounts.roles import Role
from server.accounts.selectors import contributors
from server.accounts.services import contributor_create, password_set
from server.errors import InvalidSettings


class Command(BaseCommand):
    """Make a contributor, and print the password if one was made up."""

    help = "Make a contributor. Without --password-stdin a password is made up and printed."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command line."""
        parser.add_argument("username")
        parser.add_argument("--password-stdin", action="store_true", help="Read the password from standard input.")
        parser.add_argument("--if-missing", action="store_true", help="Do nothing if there is a user of that name.")
        parser.add_argument("--set-password", action="store_true", help="Give a user of that name a new password.")
        parser.add_argument("--email", default="", help="Address for a forgotten password; needs no confirmation.")
        roles = parser.add_mutually_exclusive_group()
        names = [role.value for role in Role]
        roles.add_argument("--role", choices=names, default=Role.VOLUNTEER.value, help="What the user may do besides.")
        roles.add_argument("--maintainer", dest="role", action="store_const", const=Role.ADMIN.value, help="An admin.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command."""
        if options["if_missing"] and contributors().filter(user__username=options["username"]).exists():
            return
        given = sys.stdin.readline().rstrip("\n") if options["password_stdin"] else None
        known = contributors().filter(user__username=options["username"]).first() if options["set_password"] else None
        try:
            if known is not None:
                password = password_set(known, given)
            else:
                told = {name: options[name] for name in ("username", "email")}
                _, password = contributor_create(**told, password=given, role=Role(options["role"]))
        except InvalidSettings as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"contributor {options['username']} {'added' if known is None else 'has a new password'}")
        if given is None:
            self.stdout.write(f"password: {password}")
