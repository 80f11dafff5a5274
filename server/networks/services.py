"""Making runs with their first network, and registering further ones; for candidates, `server.gates.services`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from django.core.files import File
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from common.files import sum_of
from server.errors import InvalidSettings
from server.networks.models import MAX_FAULT, NAME_PATTERN, Network, NetworkState
from server.runs.models import Run
from server.runs.services import run_add
from server.storage import NewFiles

SUFFIX: Final = ".bin.gz"
ZIP_SUFFIX: Final = ".zip"


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
    katago_fault: str = ""
    """Why KataGo's own client would end with it; empty if it passes that client's self-test."""


@dataclass(frozen=True)
class NewNetwork:
    """A network that is to join a run, and where it came from."""

    run: Run
    name: str
    """Beginning with the run's."""
    model: ModelFile
    architecture: str = ""
    """The run's word for what the file's own description says less exactly; empty: the file's."""
    parent: Network | None = None
    train_step: int = 0
    """Samples that it was trained on."""
    data_rows: int = 0
    """Rows of the run when it was exported."""
    rating_games_enabled: bool = True
    zip_file: tuple[Path, str] | None = None
    """A training checkpoint that goes with it, and its sum."""
    extra_stats: dict[str, Any] = field(default_factory=dict)
    log_gamma_offset: float = 0.0
    notes: str = ""


def run_create(*, name: str, selfplay_config: str, gating_config: str, **settings: Any) -> Run:
    """A new active run with its first network: the random one, which needs no file.

    ``settings`` are further fields of `Run`.

    Raises:
        InvalidSettings: with every fault, one a line.
    """
    run = Run(name=name, selfplay_config=selfplay_config, gating_config=gating_config, **settings)
    with transaction.atomic():
        run_add(run)
        first = Network(
            run=run,
            name=f"{name}-random",
            state=NetworkState.SEED,
            is_random=True,
            training_games_enabled=True,
        )
        first.save(force_insert=True)
        run.current_network = first
        run.save(update_fields=["current_network"])
    return run


def seed_register(new: NewNetwork) -> Network:
    """Store and register a network that becomes the current one at once, as when a run starts from a trained one.

    Raises:
        InvalidSettings, Unavailable: see `network_register`.
    """
    return network_register(new, NetworkState.SEED, _make_current)


def _make_current(network: Network) -> None:
    Run.objects.filter(pk=network.run_id).update(
        current_network=network, previous_network=F("current_network"), current_since=timezone.now()
    )


def network_register(new: NewNetwork, state: NetworkState, follow: Callable[[Network], object]) -> Network:
    """Store a network file that was read, and write its row; ``follow`` does what follows, in the row's transaction.

    Registering the same file under the same name again gives the network that is there, so that a killed trainer may
    repeat itself; nothing follows then.

    Raises:
        InvalidSettings: the name is malformed, or taken by another file; or the run has the file under another name; or
            the file has changed since it was read.
        Unavailable: the storage failed.
    """
    run, name, model = new.run, new.name, new.model
    sha256, size = sum_of(model.path)
    if (sha256, size) != (model.sha256, model.size):
        raise InvalidSettings(f"{model.path} has changed since it was read; try again")
    known = Network.objects.filter(name__iexact=name).first()
    if known is not None:
        if known.run_id == run.pk and known.file_sha256 == model.sha256:
            return known
        raise InvalidSettings(f"a network {known.name} with another file exists already; choose another name")
    same = Network.objects.filter(run=run, file_sha256=model.sha256).first()
    if same is not None:
        raise InvalidSettings(f"run {run.name} has this file already: it is the network {same.name}")
    if not re.fullmatch(NAME_PATTERN, name) or not name.startswith(run.name + "-"):
        raise InvalidSettings(f"network name {name!r}: letters, digits and hyphens, beginning with {run.name + '-'!r}")
    with model.path.open("rb") as stream, NewFiles() as files:
        zip_name = ""
        if new.zip_file is not None:
            path, sum_of_zip = new.zip_file
            with path.open("rb") as archive:
                zip_name = files.store_file("networks", sum_of_zip, name, File(archive, name=path.name), ZIP_SUFFIX)
        network = Network(
            run=run,
            name=name,
            state=state,
            architecture=new.architecture or model.architecture,
            file=files.store_file("networks", model.sha256, name, File(stream, name=model.path.name), SUFFIX),
            file_bytes=model.size,
            file_sha256=model.sha256,
            parent=new.parent,
            train_step=new.train_step,
            data_rows=new.data_rows,
            training_games_enabled=state != NetworkState.CANDIDATE,
            suits_katago_client=not model.katago_fault,
            katago_fault=model.katago_fault[:MAX_FAULT],
            rating_games_enabled=new.rating_games_enabled,
            zip_file=zip_name,
            extra_stats=new.extra_stats,
            log_gamma_offset=new.log_gamma_offset,
            notes=new.notes,
        )
        with transaction.atomic():
            network.save(force_insert=True)
            follow(network)
    network.refresh_from_db()
    return network


def network_examined(network: Network, katago_fault: str) -> None:
    """Keep what was found out about a network: why KataGo's client cannot play with it, or that it can."""
    found = {"suits_katago_client": not katago_fault, "katago_fault": katago_fault[:MAX_FAULT]}
    Network.objects.filter(pk=network.pk).update(**found)
