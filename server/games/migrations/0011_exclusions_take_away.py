"""What an exclusion took away is what lifting it gives back: those that stand took all that there is to be allowed."""

from django.db import migrations, models


def took_all(apps, schema_editor):
    Exclusion = apps.get_model("games", "Exclusion")
    standing = Exclusion.objects.filter(lifted_at=None)
    standing.filter(kind="user").update(took_away=["may_contribute"])
    networks = standing.filter(kind="network")
    networks.update(took_away=["rating_games_enabled"])
    passed = networks.filter(network__state__in=["seed", "accepted"])
    passed.update(took_away=["rating_games_enabled", "training_games_enabled"])


class Migration(migrations.Migration):
    dependencies = [
        ("games", "0010_replays"),
    ]

    operations = [
        migrations.AddField(
            model_name="exclusion",
            name="took_away",
            field=models.JSONField(
                blank=True,
                default=list,
                help_text="Fields of its contributor or network that were true before, and will be once it is lifted.",
            ),
        ),
        migrations.RunPython(took_all, migrations.RunPython.noop),
    ]
