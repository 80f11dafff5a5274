"""Networks over HTTP: the one to fetch in advance, a read-only list, and the files themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any, Final

from django.core.files.storage import default_storage
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.wire import NetworkInfo, format_created_at
from server.api import model_file_url, model_zip_url, network_url, paged, run_url
from server.errors import NoRun
from server.networks.models import Network
from server.networks.selectors import network_by_name, networks
from server.runs.selectors import current_run

_CHUNK: Final = 1 << 16
_RANGE: Final = re.compile(r"(?:bytes\s*=\s*)?(\d{0,15})\s*-\s*(\d{0,15})")
"""One range; KataGo's client leaves out the unit (contribute-protocol.md 7)."""


def network_info(request: Request, network: Network) -> NetworkInfo:
    """A network as the protocol tells it (contribute-protocol.md 4.3)."""
    return NetworkInfo(
        name=network.name,
        url=network_url(request, network.name),
        model_file=None if network.is_random else model_file_url(request, network.name),
        model_file_bytes=network.file_bytes,
        model_file_sha256=network.file_sha256,
        is_random=network.is_random,
        created_at=format_created_at(network.created_at),
        run=run_url(request, network.run.name),
    )


def network_details(request: Request, network: Network) -> dict[str, Any]:
    """A network for readers."""
    parent = network.parent
    return network_info(request, network).to_object() | {
        "state": network.state,
        "network_size": network.architecture,
        "parent_network": None if parent is None else network_url(request, parent.name),
        "train_step": network.train_step,
        "total_num_data_rows": network.data_rows,
        "training_games_enabled": network.training_games_enabled,
        "rating_games_enabled": network.rating_games_enabled,
        "training_games": network.training_games,
        "training_rows": network.training_rows,
        "match_games": network.match_games,
        "notes": network.notes,
        "suits_katago_client": network.suits_katago_client,
        "katago_fault": network.katago_fault,
        "model_zip_file": model_zip_url(request, network.name) if network.zip_file else None,
        "extra_stats": network.extra_stats,
        "log_gamma_offset": network.log_gamma_offset,
    }


class NewestTrainingNetworkApi(APIView):
    """The network that the next self-play job will name."""

    @extend_schema(operation_id="network_newest_training", responses=NetworkInfo)
    def get(self, request: Request) -> Response:
        """Answer the current network of the current run."""
        run = current_run()
        if run is None or run.current_network is None:
            raise NoRun
        return Response(network_info(request, run.current_network).to_object())


class NetworkListApi(APIView):
    """All networks."""

    @extend_schema(operation_id="network_list", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request) -> Response:
        """Answer a page of networks, newest first; ``?run__name=`` keeps those of one run."""
        found = networks()
        run = request.query_params.get("run__name")
        if run is not None:
            found = found.filter(run__name=run.replace("\0", ""))  # PostgreSQL knows no such character
        return paged(request, self, found, lambda network: network_details(request, network))


class NetworkApi(APIView):
    """One network."""

    @extend_schema(operation_id="network_details", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request, name: str) -> Response:
        """Answer the network of that name."""
        network = network_by_name(name)
        if network is None:
            raise Http404
        return Response(network_details(request, network))


# -------------------------------------------------------------------------------------------------------------- files


def model_file(request: HttpRequest, name: str) -> HttpResponseBase:
    """The bytes of a network's file as they are stored: no login, no redirect, no encoding; ranges are understood.

    Every error has an empty body, since KataGo's client would write it into the file.
    """
    return _file_of(request, name, _model_of)


def model_zip(request: HttpRequest, name: str) -> HttpResponseBase:
    """The same of a network's training checkpoint, if there is one."""
    return _file_of(request, name, _zip_of)


@dataclass(frozen=True)
class _StoredFile:
    name: str
    size: int
    tag: str


def _model_of(network: Network) -> _StoredFile | None:
    return None if network.is_random else _StoredFile(network.file, network.file_bytes, network.file_sha256)


def _zip_of(network: Network) -> _StoredFile | None:
    if not network.zip_file:
        return None
    return _StoredFile(network.zip_file, default_storage.size(network.zip_file), network.zip_file.rpartition("/")[2])


def _file_of(request: HttpRequest, name: str, file_of: Callable[[Network], _StoredFile | None]) -> HttpResponseBase:
    if request.method not in ("GET", "HEAD"):
        return HttpResponse(status=405, headers={"Allow": "GET, HEAD"})
    try:
        network = network_by_name(name)
    except (OperationalError, InterfaceError):
        return HttpResponse(status=503)
    try:
        stored = None if network is None else file_of(network)
        if stored is None:
            return HttpResponse(status=404)
        size = stored.size
        wanted = byte_range(request.headers.get("Range", ""), size)
        if wanted is None:
            return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
        start, stop = wanted
        file = default_storage.open(stored.name, "rb")
    except FileNotFoundError:
        return HttpResponse(status=404)
    except Exception:  # each storage has errors of its own; this one is ours, and may pass
        return HttpResponse(status=503)
    response = StreamingHttpResponse(_chunks(file, start, stop), content_type="application/octet-stream")
    if (start, stop) != (0, size) or request.headers.get("Range"):
        response.status_code = 206
        response.headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
    response.headers["Content-Length"] = str(stop - start)
    response.headers["Accept-Ranges"] = "bytes"
    response.headers["ETag"] = f'"{stored.tag}"'
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable, no-transform"
    return response


def byte_range(header: str, size: int) -> tuple[int, int] | None:
    """First byte, and the byte after the last, that a Range header asks for out of ``size``.

    The whole file where there is no header, or one that we need not understand (another unit, several ranges); None
    where the range lies outside of the file.
    """
    found = _RANGE.fullmatch(header.strip())
    if found is None or not any(found.groups()):
        return 0, size
    first, last = found.groups()
    if not first:  # the last bytes
        return (max(0, size - int(last)), size) if int(last) > 0 else None
    start = int(first)
    stop = min(size, int(last) + 1) if last else size
    return (start, stop) if start < stop else None


def _chunks(file: IO[bytes], start: int, stop: int) -> Iterator[bytes]:
    """Bytes ``start`` to ``stop`` of a file, which is closed at the end."""
    with file:
        file.seek(start)
        while start < stop and (chunk := file.read(min(_CHUNK, stop - start))):
            start += len(chunk)
            yield chunk
