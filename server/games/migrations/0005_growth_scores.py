# The sums of what older versions counted from the games each time.

from django.db import migrations

SCORES = """
    INSERT INTO games_matchscore (run_id, black_network_id, white_network_id, games, black_half_points)
    SELECT run_id, black_network_id, white_network_id, count(*),
           sum(CASE winner WHEN 'B' THEN 2 WHEN 'W' THEN 0 ELSE 1 END)
    FROM games_game WHERE kind = 'rating' AND state = 'counted' AND is_decisive GROUP BY 1, 2, 3
"""
# Games that a maintainer has taken out: trainers that have not heard of it look for them by this number.
MODERATIONS = """
    UPDATE games_game AS game SET moderation = totals.moderations FROM runs_runtotals AS totals
    WHERE totals.run_id = game.run_id AND game.state = 'refused' AND game.number IS NOT NULL
"""


class Migration(migrations.Migration):

    dependencies = [
        ('games', '0004_growth'),
    ]

    operations = [
        migrations.RunSQL(SCORES, 'DELETE FROM games_matchscore'),
        migrations.RunSQL(MODERATIONS, migrations.RunSQL.noop),
    ]
