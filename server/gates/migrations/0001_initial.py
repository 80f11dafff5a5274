"""Gates come from the app of jobs. Here the model is made and its permissions and history are taken over; the next
migration of jobs renames the table, which keeps its rows, constraints and indexes."""

import django.db.models.deletion
import django.db.models.expressions
from django.db import migrations, models


def move_content_type(apps, was, to):
    """What points to the kind of object (permissions, the admin's history) follows it."""
    apps.get_model('contenttypes', 'ContentType').objects.filter(app_label=was, model='gate').update(app_label=to)


def take_over(apps, schema_editor):
    move_content_type(apps, 'jobs', 'gates')


def give_back(apps, schema_editor):
    move_content_type(apps, 'gates', 'jobs')


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('contenttypes', '0002_remove_content_type_name'),
        ('jobs', '0002_texts'),
        ('networks', '0002_initial'),
        ('runs', '0001_initial'),
    ]

    operations = [
        migrations.RunPython(take_over, give_back),
        migrations.SeparateDatabaseAndState(state_operations=[
            migrations.CreateModel(
                name='Gate',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('state', models.CharField(choices=[('open', 'open'), ('passed', 'passed: the candidate became the current network'), ('failed', 'failed: the candidate was rejected'), ('superseded', 'superseded: another network came first')], default='open', max_length=10)),
                    ('games', models.PositiveIntegerField(help_text='Games of the whole match.')),
                    ('required', models.FloatField(help_text='Share of the points that the candidate needs.')),
                    ('played', models.PositiveIntegerField(default=0, help_text='Counted games.')),
                    ('half_points', models.PositiveIntegerField(default=0, help_text="The candidate's, twice over: a win 2, a draw 1.")),
                    ('handed_out', models.PositiveIntegerField(default=0, help_text='Jobs given so far; the parity decides the colours.')),
                    ('pending', models.PositiveIntegerField(default=0, help_text='Games that arrived and wait for their audit.')),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('decided_at', models.DateTimeField(blank=True, null=True)),
                    ('candidate', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='gates', to='networks.network')),
                    ('opponent', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='gates_as_opponent', to='networks.network')),
                    ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='gates', to='runs.run')),
                ],
                options={
                    'indexes': [models.Index(condition=models.Q(('state', 'open')), fields=['run'], name='gate_open')],
                    'constraints': [
                        models.CheckConstraint(condition=models.Q(('state__in', ['open', 'passed', 'failed', 'superseded'])), name='gate_state'),
                        models.CheckConstraint(condition=models.Q(('candidate', models.F('opponent')), _negated=True), name='gate_two_networks'),
                        models.CheckConstraint(condition=models.Q(('half_points__lte', django.db.models.expressions.CombinedExpression(models.Value(2), '*', models.F('played')))), name='gate_points'),
                        models.CheckConstraint(condition=models.Q(models.Q(('decided_at', None), ('state', 'open')), models.Q(models.Q(('state', 'open'), _negated=True), ('decided_at__isnull', False)), _connector='OR'), name='gate_decided_at'),
                        models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('candidate',), name='gate_one_open_per_candidate'),
                    ],
                },
            ),
        ]),
    ]
