from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0002_staff_roles"),
    ]

    operations = [
        migrations.AddField(
            model_name="tenant",
            name="paused_by_staff",
            field=models.BooleanField(default=False, help_text="Only staff may lift this pause."),
        ),
    ]
