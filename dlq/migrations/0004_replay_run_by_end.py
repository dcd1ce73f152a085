"""An index for what ended lately: replays that died again, and those that succeeded."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dlq", "0003_discarded_in")]

    operations = [
        migrations.AddIndex(
            model_name="replayrun",
            index=models.Index(
                condition=models.Q(("ended_at__isnull", False)),
                fields=["-ended_at", "-id"],
                name="replay_run_by_end",
            ),
        ),
    ]
