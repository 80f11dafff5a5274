"""A training per size of a run instead of one per run: the states get keys of their own."""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

CHECKPOINT = models.Q(("checkpoint", ""), ("samples", 0)) | models.Q(("checkpoint__gt", ""))
COPIED = ("samples", "checkpoint", "previous_checkpoint", "saved_at", "last_candidate_samples")


def copy_states(apps: Any, schema_editor: Any) -> None:
    """What was trained so far is of the run's one size."""
    new, old = apps.get_model("training", "TrainingState"), apps.get_model("training", "OldTrainingState")
    for state in old.objects.select_related("run"):
        fields = {name: getattr(state, name) for name in COPIED}
        new.objects.create(run=state.run, architecture=state.run.architecture, **fields)


def name_metrics(apps: Any, schema_editor: Any) -> None:
    """The same for the losses."""
    for run in apps.get_model("runs", "Run").objects.all():
        apps.get_model("training", "TrainingMetric").objects.filter(run=run).update(architecture=run.architecture)


class Migration(migrations.Migration):
    dependencies = [("training", "0001_initial"), ("runs", "0002_next_architecture")]

    operations = [
        migrations.RemoveConstraint("TrainingState", "training_samples_need_checkpoint"),
        migrations.RenameModel("TrainingState", "OldTrainingState"),
        migrations.AlterField(
            "OldTrainingState",
            "run",
            models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE,
                primary_key=True,
                related_name="old_training",
                serialize=False,
                to="runs.run",
            ),
        ),
        migrations.CreateModel(
            name="TrainingState",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="training", to="runs.run"
                    ),
                ),
                ("architecture", models.CharField(max_length=64)),
                (
                    "from_seed",
                    models.BooleanField(
                        default=True,
                        help_text="It began with the run's first network, if that has a file; not with random weights.",
                    ),
                ),
                ("samples", models.PositiveBigIntegerField(default=0, help_text="Trained up to the checkpoint.")),
                ("checkpoint", models.CharField(blank=True, help_text="Name in the storage.", max_length=200)),
                (
                    "previous_checkpoint",
                    models.CharField(blank=True, help_text="Kept until the next one is safe.", max_length=200),
                ),
                ("saved_at", models.DateTimeField(blank=True, null=True)),
                (
                    "last_candidate_samples",
                    models.PositiveBigIntegerField(default=0, help_text="Samples of the newest candidate."),
                ),
                (
                    "activity",
                    models.CharField(blank=True, help_text="What the trainer does, for people.", max_length=200),
                ),
                ("trouble", models.TextField(blank=True, help_text="Why it does not train, for people.")),
                ("lease_owner", models.CharField(blank=True, max_length=100)),
                (
                    "lease_until",
                    models.DateTimeField(blank=True, help_text="No other process trains until then.", null=True),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("run", "architecture"), name="training_once"),
                    models.CheckConstraint(condition=CHECKPOINT, name="training_samples_need_checkpoint"),
                ],
            },
        ),
        migrations.RunPython(copy_states, migrations.RunPython.noop),
        migrations.DeleteModel("OldTrainingState"),
        migrations.RemoveConstraint("TrainingMetric", "metric_once"),
        migrations.AddField(
            "TrainingMetric", "architecture", models.CharField(default="", max_length=64), preserve_default=False
        ),
        migrations.RunPython(name_metrics, migrations.RunPython.noop),
        migrations.AddConstraint(
            "TrainingMetric",
            models.UniqueConstraint(fields=("run", "architecture", "samples"), name="metric_once"),
        ),
    ]
