"""What all views of the API share: one shape of errors, pages of lists, forms, and absolute addresses.

Knows HTTP and the wire, nothing of runs or games. Addresses are built from the way by which the client reached us
(proxy and base path included), and recognised by their path alone.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, cast
from urllib.parse import unquote, urlsplit

from django.core.exceptions import SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, JsonResponse, UnreadablePostError
from django.urls import reverse
from rest_framework import exceptions
from rest_framework.pagination import PageNumberPagination
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView, exception_handler

from common.wire import MAX_BODY_BYTES, ErrorAnswer, ErrorCode, MessageError
from common.wire_base import FormMessage, storable
from server.errors import GameRefused, Refused, Unavailable
from server.paging import Cursor, key_page
from server.tables import MIGRATE, is_missing_table

logger = logging.getLogger(__name__)

_Form = TypeVar("_Form", bound=FormMessage)


class Pages(PageNumberPagination):
    """20 per page, ``?page=N``; ``{count, next, previous, results}``."""


def paged(request: Request, view: APIView, found: QuerySet[Any], describe: Callable[[Any], dict[str, Any]]) -> Response:
    """The page of ``found`` that the request asks for, each row as ``describe`` tells it."""
    pages = Pages()
    page = pages.paginate_queryset(found, request, view)
    return pages.get_paginated_response([describe(row) for row in page or ()])


def paged_by_key(
    request: Request,
    found: QuerySet[Any],
    describe: Callable[[Any], dict[str, Any]],
    *,
    count: int,
    key_at: Callable[[int], int | None],
) -> Response:
    """The same for a list that is too long to be counted: ``next`` and ``previous`` name keys, ``?page=N`` works too.

    ``key_at`` tells the key at a place of the list, the newest at 0; ``count`` how long it is.
    """
    size = cast(int, Pages.page_size)
    cursor = Cursor.of(request.query_params)
    number = request.query_params.get("page")
    if number is not None:
        first = key_at((_page_number(number) - 1) * size)
        if first is None and number != "1":
            raise exceptions.NotFound(f"there is no page {number}")
        cursor = Cursor() if first is None else Cursor(before=first + 1)
    page = key_page([found], cursor, size)
    here = request.build_absolute_uri(request.path)
    return Response(
        {
            "count": count,
            "next": page.older and f"{here}?{page.older}",
            "previous": page.newer and f"{here}?{page.newer}",
            "results": [describe(row) for row in page.object_list],
        }
    )


def _page_number(text: str) -> int:
    """The number in ``?page=``, from 1.

    Raises:
        NotFound: it is none.
    """
    if not re.fullmatch(r"[0-9]{1,12}", text) or int(text) < 1:
        raise exceptions.NotFound("there is no such page; pages are numbered from 1")
    return int(text)


# ------------------------------------------------------------------------------------------------------------- errors


def error_answer(status: int, detail: str, code: ErrorCode, retry_after: int | None = None) -> Response:
    """The one shape of a refusal: ``{"detail": text, "code": reaction}``."""
    headers = None if retry_after is None else {"Retry-After": str(retry_after)}
    return Response(ErrorAnswer(detail=detail, code=code).to_object(), status=status, headers=headers)


def handle_exception(error: Exception, context: dict[str, Any]) -> Response:
    """Turn whatever a view raised into an answer. Trouble of our own is never a 4xx."""
    away = Unavailable.retry_after
    if isinstance(error, Refused):
        return error_answer(error.status, str(error), error.code, error.retry_after)
    if isinstance(error, (OperationalError, InterfaceError)):
        logger.error("database is away: %s", error)
        return error_answer(503, "the server's database is away at the moment; try again", ErrorCode.RETRY, away)
    if is_missing_table(error):
        logger.error(MIGRATE)
        return error_answer(503, "the server's database is not set up yet; try again later", ErrorCode.RETRY, away)
    if isinstance(error, SuspiciousOperation):
        return error_answer(400, f"malformed request: {error}", ErrorCode.RETRY)
    if isinstance(error, UnreadablePostError):
        return error_answer(400, "the connection ended before the whole request had arrived", ErrorCode.RETRY)
    answer = exception_handler(error, context)
    if answer is None:
        logger.error("unexpected error in %s", type(context["view"]).__name__, exc_info=error)
        return error_answer(500, "unexpected error in the server; it has been logged", ErrorCode.RETRY)
    code = ErrorCode.STOP if answer.status_code in (401, 403) else ErrorCode.RETRY
    answer.data = ErrorAnswer(detail=_text(error), code=code).to_object()
    return answer


def _text(error: Exception) -> str:
    """One line for people out of what Django or DRF says."""
    if isinstance(error, Http404):
        return "there is nothing at this address"
    if isinstance(error, exceptions.APIException) and isinstance(error.detail, str):
        return str(error.detail)
    return str(error)


def not_found(request: HttpRequest) -> JsonResponse:
    """Answer to an API address that does not exist."""
    return plain_answer(404, f"there is no API at {request.path}; paths end with a slash")


def plain_answer(status: int, detail: str) -> JsonResponse:
    """A refusal in the API's shape from where no view of the API was reached."""
    return JsonResponse(ErrorAnswer(detail=detail, code=ErrorCode.RETRY).to_object(), status=status)


def is_api(request: HttpRequest) -> bool:
    """Whether the address is one of the API's, where programs expect its shape of errors."""
    return request.path_info.startswith("/api/")


# -------------------------------------------------------------------------------------------------------------- forms


class Malformed(Refused):
    """What an administrator's program sent is not as it has to be."""


def refuse_oversized_body(request: Request, limit: int = MAX_BODY_BYTES) -> None:
    """Refuse a body that no honest upload has, before any of it is parsed or written to a disk.

    Raises:
        GameRefused: the Content-Length is above the ``limit``.
        ParseError: it is no number, or a web server that takes bodies in chunks has let one through, of which the
            program would see nothing.
    """
    if request.META.get("HTTP_TRANSFER_ENCODING"):
        raise exceptions.ParseError("this server takes no body in chunks: a proxy must send it with its Content-Length")
    told = str(request.META.get("CONTENT_LENGTH") or 0)
    if not re.fullmatch(r"[0-9]{1,15}", told):
        raise exceptions.ParseError("the header Content-Length is not a number of bytes")
    length = int(told)
    if length > limit:
        raise GameRefused(f"the request has {length} bytes, the limit is {limit}")


def read_form(form: type[_Form], request: Request) -> _Form:
    """The request's text fields as the wire message ``form``.

    Raises:
        common.wire.MessageError: a field is missing or wrong.
    """
    fields = cast(Mapping[str, object], request.data)  # a form is parsed to a mapping, whatever the stubs allow
    texts = {name: value for name, value in fields.items() if isinstance(value, str)}
    for name in form.model_fields.keys() & texts.keys():
        try:
            storable(texts[name])
        except ValueError as error:
            raise MessageError(f"{name}: {error}") from None
    return form.from_form(texts)


def form_schema(form: type[FormMessage], *files: str) -> dict[str, Any]:
    """JSON schema of a multipart form: the fields of ``form`` and the named files."""
    schema = form.model_json_schema(mode="validation")
    definitions = schema.pop("$defs", {})
    schema["properties"] = _resolved(schema["properties"], definitions)
    schema["properties"] |= {name: {"type": "string", "format": "binary"} for name in files}
    schema["required"] = [*schema.get("required", []), *files]
    return schema


_BOUNDS: Final = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum"}
"""Of numbers that pydantic reads by functions of ours, it tells the bounds by its own names."""


def _resolved(part: Any, definitions: dict[str, Any]) -> Any:
    """A part of a schema in which every reference is replaced by what it means, and bounds have JSON schema's names."""
    if isinstance(part, list):
        return [_resolved(each, definitions) for each in part]
    if not isinstance(part, dict):
        return part
    told = {_BOUNDS.get(key, key) if isinstance(value, (int, float)) else key: value for key, value in part.items()}
    here = {key: _resolved(value, definitions) for key, value in told.items() if key != "$ref"}
    meant = definitions.get(str(part.get("$ref", "")).rpartition("/")[2])
    return here | _resolved(meant, definitions) if meant else here


def permission_to(name: str) -> type[BasePermission]:
    """Lets users in whose role has a permission, such as ``networks.add_network`` (`server.accounts.roles`)."""

    class Allowed(BasePermission):
        def has_permission(self, request: Request, view: APIView) -> bool:
            return bool(request.user.has_perm(name))

    return Allowed


# ---------------------------------------------------------------------------------------------------------- addresses

_RUNS: Final = "/api/runs/"
_NETWORKS: Final = "/api/networks/"
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")


def run_url(request: HttpRequest | Request, name: str) -> str:
    """Address of a run, as the client can reach it."""
    return request.build_absolute_uri(reverse("run", args=[name]))


def network_url(request: HttpRequest | Request, name: str) -> str:
    """Address of a network, as the client can reach it."""
    return request.build_absolute_uri(reverse("network", args=[name]))


def model_file_url(request: HttpRequest | Request, name: str) -> str:
    """Address of a network's file, as the client can reach it."""
    return request.build_absolute_uri(reverse("network-file", args=[name]))


def model_zip_url(request: HttpRequest | Request, name: str) -> str:
    """Address of a network's training checkpoint, as the client can reach it."""
    return request.build_absolute_uri(reverse("network-zip", args=[name]))


def run_name_of(url: str) -> str | None:
    """Name of the run that an address from `run_url` stands for, whatever its host; None for another address."""
    return _name_in(url, _RUNS)


def network_name_of(url: str) -> str | None:
    """Name of the network that an address from `network_url` stands for; None for another address."""
    return _name_in(url, _NETWORKS)


def _name_in(url: str, collection: str) -> str | None:
    try:
        path = urlsplit(url).path
    except ValueError:  # brackets that are no IPv6 address, letters that become others when normalised
        return None
    _, found, tail = path.rpartition(collection)
    name = unquote(tail.removesuffix("/"))
    return name if found and _NAME.fullmatch(name) else None
