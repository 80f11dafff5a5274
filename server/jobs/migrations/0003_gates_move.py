"""The table of gates gets the name that it has in its app; what points to it goes on to do so."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('gates', '0001_initial'),
        ('jobs', '0002_texts'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.AlterModelTable('gate', 'gates_gate')],
            state_operations=[
                migrations.AlterField(
                    model_name='job',
                    name='gate',
                    field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='jobs', to='gates.gate'),
                ),
                migrations.DeleteModel('Gate'),
            ],
        ),
    ]
