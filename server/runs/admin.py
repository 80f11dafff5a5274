"""Runs in the admin pages: settings are checked as a whole before they are saved."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from server.runs.models import Run, RunTotals
from server.runs.revisions import parse_revisions
from server.runs.services import config_faults, run_save


class RunForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable without stubs
    """A run's settings, with every fault beside its field."""

    class Meta:
        model = Run
        fields = "__all__"

    def clean(self) -> dict[str, Any] | None:
        """Check the texts that clients and the server parse."""
        cleaned = super().clean()
        values = {name: value for name, value in self.cleaned_data.items() if name != "current_network"}
        run = Run(**values)
        for field in ("selfplay_config", "gating_config"):
            if {field, "data_board_len", "max_search_threads_allowed"} <= values.keys():
                for fault in config_faults(run, field):
                    self.add_error(field, fault)
        try:
            parse_revisions(run.client_revisions)
        except ValueError as error:
            self.add_error("client_revisions", str(error))
        return cleaned


@admin.register(Run)
class RunAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable without stubs
    """Settings of runs; a run is made by ``manage.py create_run``."""

    form = RunForm
    list_display = ("name", "state", "current_network", "architecture", "created_at")
    list_filter = ("state",)
    raw_id_fields = ("current_network",)
    readonly_fields = ("created_at",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """A run needs its totals and its first network, which the command makes with it."""
        return False

    def save_model(self, request: HttpRequest, obj: Run, form: Any, change: bool) -> None:
        """Save through the service."""
        run_save(obj)


@admin.register(RunTotals)
class RunTotalsAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable without stubs
    """What runs have counted, for reading."""

    list_display = ("run", "training_games", "training_rows", "match_games", "refused_games")
    readonly_fields = tuple(field.name for field in RunTotals._meta.fields)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Made with its run."""
        return False
