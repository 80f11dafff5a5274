from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('games', '0003_decisive_games'),
    ]

    operations = [
        migrations.AddField(
            model_name='game',
            name='net_changes',
            field=models.JSONField(blank=True, default=list, help_text='[turn, name of the network] for each change in mid-game; it began with black_network.'),
        ),
    ]
