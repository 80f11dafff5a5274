"""Runs in the admin pages: settings are checked as a whole before they are saved."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from server.admin_forms import ChangedFieldsAdmin, ShownForm, changed_fields
from server.runs.checks import CHECKS, SettingsCheck
from server.runs.models import Run, RunTotals
from server.runs.revisions import parse_revisions
from server.runs.services import (
    CONFIG_FIELDS,
    OTHER_LENGTH,
    config_faults,
    has_rows,
    override_faults,
    run_save,
    unknown_keys,
)


class RunForm(ShownForm):
    """A run's settings, with every fault beside its field."""

    class Meta:
        model = Run
        fields = "__all__"

    def clean(self) -> dict[str, Any] | None:
        """Check the texts that clients and the server parse."""
        cleaned = super().clean()
        values = {name: value for name, value in self.cleaned_data.items() if name != "current_network"}
        run = Run(**values)
        for field in CONFIG_FIELDS:
            if {field, "data_board_len", "max_search_threads_allowed"} <= values.keys():
                unknown = unknown_keys(run, field) if field in self.changed_data else []
                for fault in [*config_faults(run, field), *unknown]:
                    self.add_error(field, fault)
        run.name = self.instance.name
        for check in CHECKS:
            if self._is_due(check):
                for fault in check.faults(run):
                    self.add_error(check.field, fault)
        try:
            parse_revisions(run.client_revisions)
        except ValueError as error:
            self.add_error("client_revisions", str(error))
        if {"selfplay_config", "selfplay_overrides", "data_board_len", "max_search_threads_allowed"} <= values.keys():
            for fault in override_faults(run):
                self.add_error("selfplay_overrides", fault)
        self._check_changes()
        return cleaned

    def _is_due(self, check: SettingsCheck) -> bool:
        """Whether another app's demand is to be looked at: what it reads is sound, and changed if it takes long."""
        if check.reads & self.errors.keys():
            return False
        return not check.is_slow or not check.reads.isdisjoint(self.changed_data)

    def _check_changes(self) -> None:
        """Refuse what would spoil a run that has begun."""
        if "data_board_len" in self.changed_data and has_rows(self.instance):
            self.add_error("data_board_len", OTHER_LENGTH)
        network = self.cleaned_data.get("current_network") if "current_network" in self.changed_data else None
        if network is not None and (network.run_id != self.instance.pk or not network.training_games_enabled):
            text = "choose a network of this run that has passed its gate, or a seed; a candidate passes by its gate"
            self.add_error("current_network", text)


@admin.register(Run)
class RunAdmin(ChangedFieldsAdmin):
    """Settings of runs; a run is made by ``manage.py create_run``."""

    form = RunForm
    list_display = ("name", "state", "current_network", "architecture", "created_at")
    list_filter = ("state",)
    raw_id_fields = ("current_network",)
    readonly_fields = ("name", "created_at", "inputs_version")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """A run needs its totals and its first network, which the command makes with it."""
        return False

    def save_model(self, request: HttpRequest, obj: Run, form: Any, change: bool) -> None:
        """Save what was changed through the service."""
        run_save(obj, fields=changed_fields(obj, form))


@admin.register(RunTotals)
class RunTotalsAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable without stubs
    """What runs have counted, for reading."""

    list_display = ("run", "training_games", "training_rows", "match_games", "refused_games")
    readonly_fields = tuple(field.name for field in RunTotals._meta.fields)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Made with its run."""
        return False
