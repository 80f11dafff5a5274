"""Brings together what was begun side by side."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('networks', '0003_growth'),
        ('networks', '0004_jobs_canary'),
    ]
