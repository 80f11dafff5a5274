"""Registering networks and changing what they may be used for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.core.files import File
from django.db import transaction

from common.files import sum_of
from server.errors import InvalidSettings
from server.jobs.services import candidate_admit
from server.networks.models import NAME_PATTERN, Network, NetworkState
from server.runs.models import Run
from server.storage import NewFiles

SUFFIX: Final = ".bin.gz"


@dataclass(frozen=True)
class ModelFile:
    """A network file that has been read as a whole: `server.training.model_files.read_model` makes it, nobody else."""

    path: Path
    name: str
    """The name inside the file; its makers gave it, and it need not be the network's name in a run."""
    architecture: str
    """Blocks and channels, such as ``b6c96``."""
    version: int
    """Version of the file's format."""
    sha256: str
    size: int


def network_register(
    *,
    run: Run,
    name: str,
    model: ModelFile,
    architecture: str = "",
    parent: Network | None = None,
    train_step: int = 0,
    data_rows: int = 0,
    is_candidate: bool = True,
    suits_katago_client: bool = False,
    notes: str = "",
) -> Network:
    """Store a network file that was read and register it: as a candidate, which opens its gate, or as a seed.

    A seed becomes the current network at once, as when a run starts from a trained one. Registering the same file under
    the same name again gives the network that is there, so that a killed trainer may repeat itself. ``architecture`` is
    the run's word for what the file's own description says less exactly.

    Raises:
        InvalidSettings: the name is malformed, or taken by another file; or the run has the file under another name; or
            the file has changed since it was read.
        Unavailable: the storage failed.
    """
    sha256, size = sum_of(model.path)
    if (sha256, size) != (model.sha256, model.size):
        raise InvalidSettings(f"{model.path} has changed since it was read; try again")
    known = Network.objects.filter(name__iexact=name).first()
    if known is not None:
        if known.run_id == run.pk and known.file_sha256 == sha256:
            return known
        raise InvalidSettings(f"a network {known.name} with another file exists already; choose another name")
    same = Network.objects.filter(run=run, file_sha256=sha256).first()
    if same is not None:
        raise InvalidSettings(f"run {run.name} has this file already: it is the network {same.name}")
    if not re.fullmatch(NAME_PATTERN, name) or not name.startswith(run.name + "-"):
        raise InvalidSettings(f"network name {name!r}: letters, digits and hyphens, beginning with {run.name + '-'!r}")
    with model.path.open("rb") as stream, NewFiles() as files:
        network = Network(
            run=run,
            name=name,
            state=NetworkState.CANDIDATE if is_candidate else NetworkState.SEED,
            architecture=architecture or model.architecture,
            file=files.store_file("networks", sha256, name, File(stream, name=model.path.name), SUFFIX),
            file_bytes=size,
            file_sha256=sha256,
            parent=parent,
            train_step=train_step,
            data_rows=data_rows,
            training_games_enabled=not is_candidate,
            suits_katago_client=suits_katago_client,
            notes=notes,
        )
        with transaction.atomic():
            network.save(force_insert=True)
            if is_candidate:
                candidate_admit(network)
            else:
                Run.objects.filter(pk=run.pk).update(current_network=network)
    network.refresh_from_db()
    return network
