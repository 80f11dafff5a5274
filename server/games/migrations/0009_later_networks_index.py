# Made while the server works: nobody waits for it, however many games there are.

import django.contrib.postgres.indexes
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ("games", "0008_later_networks"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="game",
            index=django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(("later_networks", []), _negated=True),
                fields=["later_networks"],
                name="game_of_later",
            ),
        ),
    ]
