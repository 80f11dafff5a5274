"""Jobs over HTTP: ``POST /api/tasks/`` (contribute-protocol.md 4)."""

from __future__ import annotations

from typing import Any, Final, cast

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.wire import (
    ErrorAnswer,
    MessageError,
    RatingTask,
    RunReference,
    SelfplayTask,
    TaskRequest,
    own_client_version,
)
from server.accounts.selectors import require_contributor
from server.api import form_schema, read_form, refuse_oversized_body, run_url
from server.errors import NoJob
from server.jobs.models import Job, JobKind
from server.jobs.services import job_request, lease_seconds_of
from server.jobs.tokens import token_of
from server.networks.api import network_info
from server.positions.selectors import positions_by_key
from server.runs.revisions import parse_revisions, warning_of


def task_of(request: Request, job: Job) -> SelfplayTask | RatingTask:
    """A job as the protocol tells it: both kinds of match are tasks of kind ``rating``."""
    run = job.run
    parts: dict[str, Any] = {
        "job_id": str(job.pk),
        "lease_seconds": lease_seconds_of(run, job.kind),
        "job_token": token_of(job),
        "games": job.games,
        "notice": warning_of(job.client_revision, parse_revisions(run.client_revisions)),
    }
    if job.seed is not None:
        parts["seed"] = job.seed
    if job.start_positions:
        known = positions_by_key(job.start_positions)
        parts["start_poses"] = tuple(known[key] for key in job.start_positions)
    if job.overrides:
        parts["overrides"] = tuple(job.overrides)
    reference = RunReference(name=run.name, url=run_url(request, run.name))
    black, white = network_info(request, job.black_network), network_info(request, job.white_network)
    if job.kind == JobKind.SELFPLAY:
        return SelfplayTask(
            kind="selfplay",
            run=reference,
            config=job.config,
            network=black,
            **parts,
        )
    return RatingTask(
        kind="rating",
        run=reference,
        config=job.config,
        black_network=black,
        white_network=white,
        **parts,
    )


TASK: Final = PolymorphicProxySerializer(
    component_name="Task", serializers=cast(Any, [SelfplayTask, RatingTask]), resource_type_field_name=None
)
"""Either kind of task, for the schema; spectacular takes pydantic models where its types want serializers."""


class TaskApi(APIView):
    """Hands out jobs."""

    permission_classes = (IsAuthenticated,)

    @extend_schema(
        operation_id="task_request",
        request={"multipart/form-data": form_schema(TaskRequest)},
        responses={200: TASK, 400: ErrorAnswer, 401: ErrorAnswer, 403: ErrorAnswer, 429: ErrorAnswer},
    )
    def post(self, request: Request) -> Response:
        """Choose a job, lease it and answer it."""
        refuse_oversized_body(request)
        contributor = require_contributor(request.user)
        try:
            form = read_form(TaskRequest, request)
        except MessageError as error:
            raise NoJob(f"the request for a task is malformed: {error}") from None
        own_client = own_client_version(request.headers.get("User-Agent", "")) is not None
        job = job_request(contributor=contributor, request=form, own_client=own_client)
        return Response(task_of(request, job).to_object())
