"""What people may do besides contributing: four roles, each a Django group whose permissions pages and admin ask for.

================  ======================================================================================
``volunteer``     contributes; no group
``moderator``     sees all in the admin pages; judges games and contributors
``operator``      the same, and changes runs, networks, gates, jobs and the training
``admin``         everything, accounts and roles included: Django's superuser
================  ======================================================================================

Permissions are named by app and verb, so that a new model of an app needs nothing here; they are given after each
``migrate``. Nobody below an admin may change users: who may, can make itself an admin.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.db import transaction
from django.db.models import Q

_OURS: Final = (
    *("runs", "networks", "positions", "gates", "jobs", "trust", "games", "inspection"),
    *("ratings", "training", "upkeep"),
    "contributor",
)
"""Apps; of ``accounts`` the one model that is no secret of its user's."""


class Role(StrEnum):
    """What somebody is, by the name of the group."""

    VOLUNTEER = "volunteer"
    MODERATOR = "moderator"
    OPERATOR = "operator"
    ADMIN = "admin"


_MODERATED: Final = {
    **dict.fromkeys(_OURS, ("view",)),
    **dict.fromkeys(("games", "trust", "inspection"), ("view", "add", "change")),
    "contributor": ("view", "change"),
}
PERMISSIONS: Final[Mapping[Role, Mapping[str, tuple[str, ...]]]] = {
    Role.MODERATOR: _MODERATED,
    Role.OPERATOR: _MODERATED
    | dict.fromkeys(("runs", "networks", "positions", "gates", "jobs", "training"), ("view", "add", "change")),
}
"""Verbs by app (or model of ``accounts``) of the roles that are groups."""


def roles_write() -> None:
    """Make the groups and give them their permissions, as far as those exist; safe to repeat."""
    for role, verbs in PERMISSIONS.items():
        group, _ = Group.objects.get_or_create(name=role.value)
        group.permissions.set(Permission.objects.filter(_allowed(verbs)))


def _allowed(verbs: Mapping[str, tuple[str, ...]]) -> Q:
    found = Q(pk__in=[])
    for place, names in verbs.items():
        model = {"content_type__app_label": "accounts", "content_type__model": place}
        for name in names:
            where = Q(**model) if place == "contributor" else Q(content_type__app_label=place)
            found |= where & Q(codename__startswith=f"{name}_")
    return found


def role_of(user: Any) -> Role:
    """The highest role that somebody has."""
    if user.is_superuser:
        return Role.ADMIN
    names = set(user.groups.values_list("name", flat=True))
    return next((role for role in (Role.OPERATOR, Role.MODERATOR) if role.value in names), Role.VOLUNTEER)


def role_set(user: Any, role: Role) -> None:
    """Give somebody a role in place of the one before."""
    with transaction.atomic():
        user.is_superuser = role is Role.ADMIN
        user.is_staff = role is not Role.VOLUNTEER
        user.save(update_fields=["is_superuser", "is_staff"])
        user.groups.remove(*Group.objects.filter(name__in=[kind.value for kind in PERMISSIONS]))
        if role in PERMISSIONS:
            user.groups.add(Group.objects.get_or_create(name=role.value)[0])


def give_permissions(sender: Any, **_: Any) -> None:
    """Receiver of ``post_migrate``, which comes once for each app: at the last one, all permissions are there."""
    with_models = [config for config in apps.get_app_configs() if config.models_module is not None]
    if sender is with_models[-1]:
        roles_write()
