# Made while the server works: nobody waits for them, however many games there are.

import django.contrib.postgres.indexes
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('games', '0005_growth_scores'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='game',
            index=models.Index(fields=['run', '-id'], name='game_of_run'),
        ),
        AddIndexConcurrently(
            model_name='game',
            index=models.Index(fields=['kind', '-id'], name='game_of_kind'),
        ),
        AddIndexConcurrently(
            model_name='game',
            index=models.Index(condition=models.Q(('state', 'refused')), fields=['-id'], name='game_refused'),
        ),
        AddIndexConcurrently(
            model_name='game',
            index=models.Index(condition=models.Q(('moderation__isnull', False)), fields=['run', 'moderation'], name='game_moderated'),
        ),
        AddIndexConcurrently(
            model_name='game',
            index=models.Index(condition=models.Q(('exclusion__isnull', False)), fields=['exclusion', 'id'], name='game_excluded'),
        ),
        AddIndexConcurrently(
            model_name='game',
            index=django.contrib.postgres.indexes.BrinIndex(autosummarize=True, fields=['received_at'], name='game_by_time'),
        ),
    ]
