"""Brings together what was begun side by side."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0006_growth'),
        ('runs', '0006_trust'),
        ('runs', '0008_jobs_pairing'),
    ]
