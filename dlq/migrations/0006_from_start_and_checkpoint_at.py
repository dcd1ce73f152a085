from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dlq", "0005_checkpoint_and_batch"),
    ]

    operations = [
        migrations.AddField(
            model_name="bulkaction",
            name="from_start",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Of a replay: its jobs begin anew, and not at their checkpoints.",
            ),
        ),
        migrations.AddField(
            model_name="deadletter",
            name="checkpoint_at",
            field=models.DateTimeField(blank=True, help_text="When it was saved, if that is known.", null=True),
        ),
    ]
