"""Brings together what was begun side by side."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_accounts'),
        ('accounts', '0003_jobs_trust'),
    ]
