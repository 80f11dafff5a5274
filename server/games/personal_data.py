"""All that the server keeps of somebody, told to them line by line, however many games that is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import QuerySet

from server.accounts.models import Contributor
from server.accounts.roles import role_of
from server.accounts.selectors import contributor_of
from server.accounts.tokens import tokens_of
from server.games.models import Game, UploadDay
from server.jobs.models import Job
from server.trust.models import Alarm, Decision, Standing

_ACCOUNT: Final = ("username", "email", "first_name", "last_name", "date_joined", "last_login", "is_active")
_HIDDEN: Final = {"id", "user", "contributor", "by"}
"""Fields that say nothing beside the line that they stand in, or name a maintainer."""
AT_ONCE: Final = 2000
"""Rows that are fetched together."""


def exported(user: Any) -> Iterator[str]:
    """Lines of JSON, each with what it tells of: an account, token, job, game …, and how runs trust its games."""
    account = {name: getattr(user, name) for name in _ACCOUNT}
    yield _line("account", account | {"role": role_of(user).value})
    for token in tokens_of(user):
        yield _line("token", {"name": token.name, "created_at": token.created_at, "last_used": token.last_used})
    contributor = contributor_of(user)
    if contributor is None:
        return
    yield from _lines("contributor", Contributor.objects.filter(pk=contributor.pk))
    yield from _lines("upload_day", UploadDay.objects.filter(contributor=contributor).order_by("-day"))
    yield from _lines("standing", Standing.objects.filter(contributor=contributor).order_by("-pk"))
    yield from _lines("alarm", Alarm.objects.filter(standing__contributor=contributor).order_by("-pk"))
    yield from _lines("decision", Decision.objects.filter(standing__contributor=contributor).order_by("-pk"))
    yield from _lines("job", Job.objects.filter(contributor=contributor).order_by("-pk"))
    yield from _lines("game", Game.objects.filter(contributor=contributor).order_by("-pk"))


def _lines(kind: str, rows: QuerySet[Any]) -> Iterator[str]:
    names = [field.name for field in rows.model._meta.concrete_fields if field.name not in _HIDDEN]
    for row in rows.values(*names).iterator(chunk_size=AT_ONCE):
        yield _line(kind, row)


def _line(kind: str, values: dict[str, Any]) -> str:
    return json.dumps({kind: values}, cls=DjangoJSONEncoder, ensure_ascii=False) + "\n"
