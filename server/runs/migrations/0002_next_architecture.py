"""A size that a run trains beside its own."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="next_architecture",
            field=models.CharField(
                blank=True,
                default="",
                help_text="The next size, trained beside the current one on the same rows. It offers candidates once "
                "its losses have caught up, and takes the current one's place when one of them is promoted. Empty: "
                "none.",
                max_length=64,
            ),
            preserve_default=False,
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("next_architecture", models.F("architecture")), _negated=True),
                name="run_next_architecture",
            ),
        ),
    ]
