from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobops", "0006_alerts"),
    ]

    operations = [
        migrations.CreateModel(
            name="RunTimeBaseline",
            fields=[
                ("job_type", models.CharField(max_length=255, primary_key=True, serialize=False)),
                ("p99_s", models.FloatField()),
                ("samples", models.PositiveIntegerField(default=1)),
                ("updated_at", models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name="alert",
            name="told_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
