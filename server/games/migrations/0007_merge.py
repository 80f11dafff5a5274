"""Brings together what was begun side by side."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('games', '0004_net_changes'),
        ('games', '0004_trust'),
        ('games', '0005_jobs_identity'),
        ('games', '0006_growth_indexes'),
    ]
