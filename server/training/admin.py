"""Training in the admin: to be read, and a stuck trainer's lease to be taken away."""

from __future__ import annotations

from django.contrib import admin

from server.admin_forms import ChangedFieldsAdmin, ReadOnlyAdmin
from server.admin_lists import KeyPagedAdmin
from server.training.models import TrainingMetric, TrainingState


@admin.register(TrainingState)
class TrainingStateAdmin(ChangedFieldsAdmin):
    """One line per run and size."""

    list_display = ("run", "architecture", "samples", "activity", "trouble", "lease_owner", "lease_until", "saved_at")
    readonly_fields = (
        *("run", "architecture", "from_seed", "samples", "saved_at", "last_candidate_samples"),
        *("checkpoint", "previous_checkpoint", "activity", "trouble"),
    )


@admin.register(TrainingMetric)
class TrainingMetricAdmin(KeyPagedAdmin, ReadOnlyAdmin):
    """What was measured."""

    list_display = ("run", "architecture", "samples", "rows", "samples_per_second", "waiting_share", "created_at")
    list_filter = ("run",)
