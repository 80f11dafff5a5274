"""Making runs and changing their settings. No setting is saved before it was checked as a whole."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db import transaction

from common.config_text import ConfigError
from common.parameters import MatchConfig, SelfplayConfig, parse_match, parse_selfplay
from common.wire import MAX_CONFIG_BYTES
from server.errors import InvalidSettings
from server.networks.models import Network, NetworkState
from server.runs.models import Run, RunTotals
from server.runs.revisions import parse_revisions
from server.training.architectures import architecture_fault

CONFIG_FIELDS: Final = ("selfplay_config", "gating_config")


def run_create(*, name: str, selfplay_config: str, gating_config: str, **settings: Any) -> Run:
    """A new active run with its first network: the random one, which needs no file.

    ``settings`` are further fields of `Run`.

    Raises:
        InvalidSettings: with every fault, one a line.
    """
    run = Run(name=name, selfplay_config=selfplay_config, gating_config=gating_config, **settings)
    unknown = [f"{field}: {fault}" for field in CONFIG_FIELDS for fault in unknown_keys(run, field)]
    if unknown:
        raise InvalidSettings("\n".join(unknown))
    with transaction.atomic():
        run_save(run)
        RunTotals.objects.create(run=run)
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


def run_save(run: Run, fields: Collection[str] | None = None) -> None:
    """Save a run whose settings were changed, if they hold: all of them, or only ``fields``.

    Raises:
        InvalidSettings: with every fault, one a line.
    """
    faults = settings_faults(run)
    if faults:
        raise InvalidSettings("\n".join(faults))
    run.save(update_fields=fields)


def settings_faults(run: Run) -> list[str]:
    """What is wrong with a run's settings, one sentence each; a bad one would take down every volunteer at once."""
    faults = []
    try:
        run.full_clean(exclude=["current_network"])
    except ValidationError as error:
        faults += [f"{field}: {text}" for field, texts in error.message_dict.items() for text in texts]
    for field in CONFIG_FIELDS:
        faults += [f"{field}: {fault}" for fault in config_faults(run, field)]
    for field in ("architecture", "next_architecture"):
        if getattr(run, field) and (fault := architecture_fault(getattr(run, field))):
            faults.append(f"{field}: {fault}")
    try:
        parse_revisions(run.client_revisions)
    except ValueError as error:
        faults.append(f"client_revisions: {error}")
    return faults


def config_faults(run: Run, field: str) -> list[str]:
    """What is wrong with the configuration text in ``field``."""
    text: str = getattr(run, field)
    if len(text.encode()) > MAX_CONFIG_BYTES:
        return [f"has more than {MAX_CONFIG_BYTES} bytes"]
    try:
        parsed = _parsed(run, field)
    except ConfigError as error:
        return str(error).splitlines()
    searches = (parsed.search,) if isinstance(parsed, SelfplayConfig) else parsed.bots
    promised = run.max_search_threads_allowed
    if any(search.num_search_threads > promised for search in searches):
        return [f"numSearchThreads is above max_search_threads_allowed, which is {promised}"]
    return []


def unknown_keys(run: Run, field: str) -> list[str]:
    """The keys of a configuration text that nothing reads, each with the one that was probably meant.

    Asked where a text is written anew: misspelt, a setting would silently not hold. A text that is broken otherwise has
    `config_faults`.
    """
    try:
        return list(_parsed(run, field).warnings)
    except ConfigError:
        return []


def _parsed(run: Run, field: str) -> SelfplayConfig | MatchConfig:
    parse = parse_selfplay if field == "selfplay_config" else parse_match
    return parse(getattr(run, field), data_board_len=run.data_board_len)
