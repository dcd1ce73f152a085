"""The staff roles, as groups, so that an installation can hand them out on its first day."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

NAMES = ("operator", "on call", "staff viewer")


def make_groups(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    group = apps.get_model("auth", "Group")
    for name in NAMES:
        group.objects.using(schema_editor.connection.alias).get_or_create(name=name)


class Migration(migrations.Migration):
    dependencies = [("tenants", "0001_initial"), ("auth", "0012_alter_user_first_name_max_length")]
    # Backwards keeps the groups: people are in them.
    operations = [migrations.RunPython(make_groups, migrations.RunPython.noop)]
