"""Making runs and changing their settings. No setting is saved before it was checked as a whole."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from django.core.exceptions import ValidationError
from django.db import transaction

from common.config_text import ConfigError, overridden
from common.parameters import MatchConfig, SelfplayConfig, parse_match, parse_selfplay
from common.wire import MAX_CONFIG_BYTES
from server.errors import InvalidSettings
from server.hints import Hint
from server.runs.checks import CHECKS
from server.runs.models import Run, RunState, RunTotals
from server.runs.overrides import parse_variants
from server.runs.revisions import parse_revisions
from server.runs.texts import KINDS, is_waiting

PROVE: Final = Hint("server.runs.tasks.prove_texts")
"""Texts wait until a game has been played by them."""
OTHER_LENGTH: Final = "the run has rows of another length already; make a new run"
CONFIG_FIELDS: Final = ("selfplay_config", "gating_config")


def run_add(run: Run) -> None:
    """Save a new run with its totals. `server.networks.services.run_create` gives it a network too.

    Raises:
        InvalidSettings: with every fault, one a line.
    """
    unknown = [f"{field}: {fault}" for field in CONFIG_FIELDS for fault in unknown_keys(run, field)]
    if unknown:
        raise InvalidSettings("\n".join(unknown))
    with transaction.atomic():
        run_save(run)
        RunTotals.objects.create(run=run)


def run_save(run: Run, fields: Collection[str] | None = None) -> None:
    """Save a run whose settings were changed, if they hold: all of them, or only ``fields``.

    Raises:
        InvalidSettings: with every fault, one a line.
    """
    faults = settings_faults(run)
    if faults:
        raise InvalidSettings("\n".join(faults))
    run.save(update_fields=fields)
    if any(is_waiting(run, kind) for kind in KINDS):
        transaction.on_commit(PROVE.send)


def run_change(run: Run, changes: Mapping[str, object]) -> None:
    """Change some of a run's settings, if all of them hold then; what takes long to check is checked if it changed.

    Raises:
        InvalidSettings: with every fault, one a line.
    """
    for field, value in changes.items():
        setattr(run, field, value)
    faults = [f"{field}: {fault}" for field in CONFIG_FIELDS if field in changes for fault in unknown_keys(run, field)]
    if "data_board_len" in changes and has_rows(run):
        faults.append(f"data_board_len: {OTHER_LENGTH}")
    for check in CHECKS:
        if check.is_slow and not check.reads.isdisjoint(changes) and not faults:
            faults += [f"{check.field}: {fault}" for fault in check.faults(run)]
    if faults:
        raise InvalidSettings("\n".join(faults))
    run_save(run, fields=list(changes))


def has_rows(run: Run) -> bool:
    """Whether a run has counted rows, which have its length for good."""
    return RunTotals.objects.filter(run=run, last_row__gt=0).exists()


def settings_faults(run: Run) -> list[str]:
    """What is wrong with a run's settings, one sentence each; a bad one would take down every volunteer at once."""
    faults = []
    try:
        run.full_clean(exclude=["current_network"])
    except ValidationError as error:
        faults += [f"{field}: {text}" for field, texts in error.message_dict.items() for text in texts]
    for field in CONFIG_FIELDS:
        faults += [f"{field}: {fault}" for fault in config_faults(run, field)]
    for check in CHECKS:
        if not check.is_slow:
            faults += [f"{check.field}: {fault}" for fault in check.faults(run)]
    try:
        parse_revisions(run.client_revisions)
    except ValueError as error:
        faults.append(f"client_revisions: {error}")
    return faults + [f"selfplay_overrides: {fault}" for fault in override_faults(run)]


def override_faults(run: Run) -> list[str]:
    """What is wrong with the settings that hold for a share of the games; the text itself has `config_faults`."""
    try:
        variants = parse_variants(run.selfplay_overrides)
    except ValueError as error:
        return [str(error)]
    faults = []
    for variant in variants:
        try:
            changed = overridden(run.selfplay_config, variant.overrides)
        except ConfigError:
            return []  # told of the text
        found = _faults_of(run, "selfplay_config", changed)
        found += _unknown_in(run, "selfplay_config", changed)
        faults += [f"{variant.overrides}: {fault}" for fault in found]
    return faults


def config_faults(run: Run, field: str) -> list[str]:
    """What is wrong with the configuration text in ``field``."""
    return _faults_of(run, field, getattr(run, field))


def _faults_of(run: Run, field: str, text: str) -> list[str]:
    if len(text.encode()) > MAX_CONFIG_BYTES:
        return [f"has more than {MAX_CONFIG_BYTES} bytes"]
    try:
        parsed = _parsed(run, field, text)
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
    return _unknown_in(run, field, getattr(run, field))


def _unknown_in(run: Run, field: str, text: str) -> list[str]:
    try:
        return list(_parsed(run, field, text).warnings)
    except ConfigError:
        return []


def _parsed(run: Run, field: str, text: str) -> SelfplayConfig | MatchConfig:
    parse = parse_selfplay if field == "selfplay_config" else parse_match
    return parse(text, data_board_len=run.data_board_len)


def run_set_state(run: Run, state: RunState) -> None:
    """Let a run go on, pause, or end, whatever its settings are: they are not written. Its dates stay."""
    run.state = state
    run.save(update_fields=["state"])
