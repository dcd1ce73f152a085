"""Fixing the members of a bulk action: one statement, however many letters it is about."""

from collections.abc import Collection

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Case, CharField, QuerySet, Value, When

from dlq.models import BulkAction, BulkMember, DeadLetter

TICKED = "ticked"
"""What ``BulkAction.chosen`` says of letters that were named one by one."""

WAITING, SKIPPED = BulkMember.State.WAITING, BulkMember.State.SKIPPED


def fix_members(bulk: BulkAction, letters: QuerySet[DeadLetter], only_tenants: Collection[int] | None = None) -> None:
    """Make these letters the members, in the order of their ids, and count them.

    ``letters`` must not be sliced. Those of tenants that are not among ``only_tenants`` (None: all are) are skipped
    from the start, and the action says why.
    """
    state, why = Value(WAITING.value, CharField()), Value("", CharField())
    refusal = f"you may not {bulk.kind} the dead letters of their tenant"
    allowed = None if only_tenants is None else list(only_tenants)
    rows = letters.order_by("pk").annotate(
        bulk_=Value(bulk.pk),
        state_=state if allowed is None else _where(allowed, state, Value(SKIPPED.value)),
        why_=why if allowed is None else _where(allowed, why, Value(refusal)),
    )
    bulk.matched = _insert(rows.values_list("pk", "bulk_", "state_", "why_"))
    if allowed is not None:
        bulk.skipped = bulk.members.filter(state=SKIPPED).count()
        bulk.skipped_for = {refusal: bulk.skipped} if bulk.skipped else {}


def fix_undone(bulk: BulkAction, discard: BulkAction) -> None:
    """Make those letters the members that the discard closed, and count them."""
    rows = discard.members.filter(state=BulkMember.State.DONE).order_by("letter_id")
    rows = rows.annotate(bulk_=Value(bulk.pk), state_=Value(WAITING.value, CharField()), why_=Value("", CharField()))
    bulk.matched = _insert(rows.values_list("letter_id", "bulk_", "state_", "why_"))


def _where(allowed: list[int], then: Value, otherwise: Value) -> Case:
    return Case(When(tenant_id__in=allowed, then=then), default=otherwise, output_field=CharField())


def _insert(rows: QuerySet[DeadLetter, tuple[object, ...]] | QuerySet[BulkMember, tuple[object, ...]]) -> int:
    """Insert (letter, bulk action, state, why) of each row; answers how many."""
    try:
        sql, params = rows.query.sql_with_params()
    except EmptyResultSet:
        return 0
    quote = connection.ops.quote_name
    table = quote(BulkMember._meta.db_table)
    columns = ", ".join(quote(name) for name in ("letter_id", "bulk_id", "state", "why"))
    with connection.cursor() as cursor:
        # Nothing in it comes from outside: the names are the model's, and Django has made the rest.
        cursor.execute(f"INSERT INTO {table} ({columns}) {sql}", params)
        return int(cursor.rowcount)
