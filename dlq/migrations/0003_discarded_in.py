"""Of each discarded letter, the bulk action that discarded it: so its undo opens nothing that was discarded anew."""

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import OuterRef, Q, Subquery


def fill(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """For letters discarded before: the newest discard with this letter that was at work when it was discarded."""
    members = apps.get_model("dlq", "BulkMember").objects.using(schema_editor.connection.alias)
    letters = apps.get_model("dlq", "DeadLetter").objects.using(schema_editor.connection.alias)
    at_work = Q(bulk__ended_at__isnull=True) | Q(bulk__ended_at__gte=OuterRef("drained_at"))
    discards = members.filter(
        at_work, letter=OuterRef("pk"), state="done", bulk__kind="discard", bulk__started_at__lte=OuterRef("drained_at")
    )
    # By whom, and why: two actions may have been at work at once.
    same = discards.filter(bulk__reason=OuterRef("discard_reason"), bulk__by=OuterRef("drained_by"))
    newest = Subquery(same.order_by("-bulk_id").values("bulk_id")[:1])
    letters.filter(state="discarded", drained_at__isnull=False).update(discarded_in=newest)


class Migration(migrations.Migration):
    dependencies = [("dlq", "0002_replay_and_audit")]

    operations = [
        migrations.AddField(
            model_name="deadletter",
            name="discarded_in",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                db_index=False,
                help_text="The bulk action that discarded it, as long as that stands.",
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="dlq.bulkaction",
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=True),
    ]
