"""Games count for each network that played in them, also for those with which they went on."""

import django.contrib.postgres.fields
from django.db import migrations, models

_FILL = """
    UPDATE games_game AS game SET later_networks = known.keys
    FROM (
        SELECT each.id, array_agg(network.id ORDER BY told.place) AS keys
        FROM games_game AS each, jsonb_array_elements(each.net_changes) WITH ORDINALITY AS told (change, place)
        JOIN networks_network AS network ON network.name = told.change ->> 1
        WHERE each.net_changes <> '[]' GROUP BY each.id
    ) AS known
    WHERE known.id = game.id
"""
_COUNT = """
    UPDATE networks_network AS network SET training_games = network.training_games + played.games
    FROM (
        SELECT later.id, count(*) AS games FROM games_game, unnest(later_networks) AS later (id)
        WHERE state = 'counted' AND later_networks <> '{}' GROUP BY later.id
    ) AS played
    WHERE played.id = network.id
"""
"""Which of their rows they made, their next audit says; until then these are the first network's, as before."""


class Migration(migrations.Migration):

    dependencies = [
        ("games", "0007_merge"),
        ("networks", "0005_merge"),
    ]

    operations = [
        migrations.AddField(
            model_name="game",
            name="later_networks",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.BigIntegerField(),
                blank=True,
                db_default=[],
                default=list,
                help_text="Keys of the networks of net_changes, in their order.",
                size=None,
            ),
        ),
        migrations.AddField(
            model_name="game",
            name="later_rows",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.PositiveIntegerField(),
                blank=True,
                db_default=[],
                default=list,
                help_text="Rows that each of them made, as the audit found; the others are the first network's.",
                size=None,
            ),
        ),
        migrations.RunSQL(_FILL, migrations.RunSQL.noop),
        migrations.RunSQL(_COUNT, migrations.RunSQL.noop),
    ]
