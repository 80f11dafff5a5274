"""``POST /api/networks/``: a maintainer's program brings a network that was trained elsewhere.

The file is read as a whole by a process of its own (`server.training.model_files`), since no web process loads torch.
Specification: contribute-protocol.md 14.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response

from common.files import sum_of
from common.wire import (
    MAX_MODEL_BYTES,
    MAX_MODEL_ZIP_BYTES,
    MAX_NETWORK_UPLOAD_BYTES,
    PHRASE_ALREADY_EXISTS,
    ErrorAnswer,
    MessageError,
)
from common.wire_uploads import NetworkUpload
from server.api import (
    Malformed,
    form_schema,
    network_name_of,
    permission_to,
    read_form,
    refuse_oversized_body,
    run_name_of,
)
from server.errors import InvalidSettings, Unavailable
from server.gates.services import accepted_register, candidate_register
from server.networks.api import NetworkListApi, network_details
from server.networks.models import Network
from server.networks.selectors import network_by_name
from server.networks.services import SUFFIX, ZIP_SUFFIX, ModelFile, NewNetwork
from server.runs.models import Run
from server.runs.selectors import run_by_name

TIMEOUT_S: Final = 300.0
_PROGRAM: Final = "import django; django.setup(); from server.training.uploads import main; main()"


class NetworksApi(NetworkListApi):
    """The list of networks, and what adds to it."""

    def get_permissions(self) -> list[BasePermission]:
        """Everybody may read."""
        return [permission_to("networks.add_network")()] if self.request.method == "POST" else []

    @extend_schema(
        operation_id="network_upload",
        request={"multipart/form-data": form_schema(NetworkUpload, "model_file")},
        responses={201: OpenApiTypes.OBJECT, 400: ErrorAnswer, 403: ErrorAnswer},
    )
    def post(self, request: Request) -> Response:
        """Take a network: enabled for training games it becomes the current one at once, else it is a candidate."""
        refuse_oversized_body(request, MAX_NETWORK_UPLOAD_BYTES)
        try:
            form = read_form(NetworkUpload, request)
        except MessageError as error:
            raise Malformed(f"the form is malformed: {error}") from None
        if form.is_random:
            raise Malformed("a run makes its random network by itself")
        with tempfile.TemporaryDirectory(dir=settings.FILE_UPLOAD_TEMP_DIR) as folder:
            network = _register(form, request, Path(folder))
        return Response(network_details(request, network), status=201)


def _register(form: NetworkUpload, request: Request, folder: Path) -> Network:
    run = _run_of(form.run)
    path = _kept(request, "model_file", folder / f"model{SUFFIX}", MAX_MODEL_BYTES)
    if path is None:
        raise Malformed("the file model_file is missing from the form")
    archive = _kept(request, "model_zip_file", folder / f"model{ZIP_SUFFIX}", MAX_MODEL_ZIP_BYTES)
    sha256, size = sum_of(path)
    for what, told, found in (
        ("model_file_bytes", form.model_file_bytes, size),
        ("model_file_sha256", form.model_file_sha256 or None, sha256),
    ):
        if told is not None and told != found:
            raise Malformed(f"{what} is {told}, but the file's is {found}: it did not arrive whole")
    known = network_by_name(form.name)
    if known is not None and known.file_sha256 == sha256:
        raise Malformed(f"the network {form.name} {PHRASE_ALREADY_EXISTS}s, with this file")
    new = NewNetwork(
        run=run,
        name=form.name,
        model=model_read(path),
        architecture=form.network_size,
        parent=_parent_of(form.parent_network, run),
        train_step=form.train_step,
        data_rows=form.total_num_data_rows,
        rating_games_enabled=form.rating_games_enabled,
        zip_file=None if archive is None else (archive, sum_of(archive)[0]),
        extra_stats=form.extra_stats,
        log_gamma_offset=form.log_gamma_offset,
        notes=form.notes,
    )
    try:
        return accepted_register(new) if form.training_games_enabled else candidate_register(new)
    except InvalidSettings as error:
        raise Malformed(str(error)) from None


def _run_of(url: str) -> Run:
    name = run_name_of(url)
    run = run_by_name(name) if name else None
    if run is None:
        raise Malformed(f"{url} is no run of this server")
    return run


def _parent_of(url: str | None, run: Run) -> Network | None:
    if url is None:
        return None
    name = network_name_of(url)
    parent = network_by_name(name) if name else None
    if parent is None or parent.run_id != run.pk:
        raise Malformed(f"parent_network: {url} is no network of the run {run.name}")
    return parent


def _kept(request: Request, name: str, path: Path, limit: int) -> Path | None:
    """A file of the form under another name; None if the form has none."""
    part = request.FILES.get(name)
    if not isinstance(part, UploadedFile) or not part.size:
        return None
    if part.size > limit:
        raise Malformed(f"{name} has {part.size} bytes, the limit is {limit}")
    with path.open("wb") as file:
        for chunk in part.chunks():
            file.write(chunk)
    return path


def model_read(path: Path) -> ModelFile:
    """What a network file holds.

    Raises:
        Malformed: it is no network that clients can play.
        Unavailable: it could not be read now.
    """
    told = _told_here(path) if "torch" in sys.modules else _told_elsewhere(path)
    if "fault" in told:
        raise Malformed(told["fault"].replace(f"{path.parent}/", ""))
    return replace(ModelFile(**told), path=path)


def _told_elsewhere(path: Path) -> dict[str, Any]:
    """`_told_here` by a process of its own."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, str(path)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=True,
            cwd=settings.BASE_DIR,
            env=os.environ | {"DJANGO_SETTINGS_MODULE": "server.settings", "SECRET_KEY": settings.SECRET_KEY},
        )
    except (subprocess.SubprocessError, OSError) as error:
        raise Unavailable(f"the file could not be checked now ({type(error).__name__}); please try again") from error
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _told_here(path: Path) -> dict[str, Any]:
    """The fields of a file's `ModelFile`, or its ``fault``; loads torch."""
    from server.training.model_files import read_model

    try:
        return asdict(read_model(path))
    except InvalidSettings as error:
        return {"fault": str(error)}


def main() -> None:
    """Read the file that the command line names and write what it holds, or its fault, as JSON."""
    json.dump(_told_here(Path(sys.argv[1])), sys.stdout, default=str)
