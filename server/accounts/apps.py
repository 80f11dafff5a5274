"""The app of accounts: roles are written as their permissions come."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AccountsConfig(AppConfig):
    """Accounts."""

    name = "server.accounts"

    def ready(self) -> None:
        """Listen for the end of ``migrate``."""
        from server.accounts.roles import give_permissions

        post_migrate.connect(give_permissions, dispatch_uid="tengen.roles")
