"""The token of a job: what only this server can have written for this login, job, networks and text.

A job's key can be guessed; its token cannot, so a game that brings it was played by somebody to whom the job was given.
It is derived from the job's row, so nothing of it is stored, and a game is held against the row as it is now.
"""

from __future__ import annotations

import base64
from typing import Final

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac

from server.jobs.models import Job

_SALT: Final = "tengen.job"


def token_of(job: Job) -> str:
    """The token that goes out with a job."""
    return _token(job, settings.SECRET_KEY)


def is_token_of(job: Job, token: str | None) -> bool:
    """Whether ``token`` is this job's, under the server's secret or one of those before it."""
    if not token:
        return False
    secrets = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return any(constant_time_compare(_token(job, secret), token) for secret in secrets)


def _token(job: Job, secret: str) -> str:
    told = "\n".join(_bound(job))
    digest = salted_hmac(_SALT, told, secret=secret, algorithm="sha256").digest()
    return base64.urlsafe_b64encode(digest).decode("ascii").rstrip("=")


def _bound(job: Job) -> list[str]:
    """What the token binds, a line each. The networks by their files, the text by its sum."""
    networks = [job.black_network, job.white_network]
    return [
        str(job.contributor_id),
        str(job.pk),
        *(f"{network.pk} {network.file_sha256}" for network in networks),
        job.text.sha256 if job.text is not None else "",
        str(job.seed),
        *(str(key) for key in job.start_positions),
        *job.overrides,
    ]
