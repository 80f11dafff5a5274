"""``manage.py add_token NAME``: a token by which a client logs in instead of a password."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from server.accounts.models import ClientToken
from server.accounts.selectors import contributors
from server.accounts.tokens import token_create, token_revoke, tokens_of
from server.errors import InvalidSettings


class Command(BaseCommand):
    """Make a token, and print it: nobody can tell it again."""

    help = "Make a token of a contributor's, and print it alone; whoever has it can contribute under that name."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command line."""
        parser.add_argument("username")
        length = ClientToken._meta.get_field("name").max_length
        parser.add_argument("--label", default="command", help=f"to tell tokens apart, up to {length} characters")
        parser.add_argument("--replace", action="store_true", help="revoke older tokens of that label")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command."""
        contributor = contributors().filter(user__username=options["username"]).first()
        if contributor is None:
            raise CommandError(f"there is no contributor {options['username']!r}")
        label, length = options["label"], ClientToken._meta.get_field("name").max_length
        if not label or len(label) > (length or 0):
            raise CommandError(f"a label has 1 to {length} characters")
        if options["replace"]:
            for token in tokens_of(contributor.user).filter(name=label):
                token_revoke(contributor.user, token.pk)
        try:
            self.stdout.write(token_create(contributor.user, label))
        except InvalidSettings as error:
            raise CommandError(str(error)) from None
