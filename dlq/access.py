"""The only door to dead letters and bulk actions: those of the tenants that a person may see; for staff, all."""

from django.db.models import QuerySet
from django.http import Http404

from dlq.models import BulkAction, BulkMember, DeadLetter
from tenants.access import Allowed, AnyUser, can, sees_all, tenants_visible_to
from tenants.roles import Action

MAX_ID = 2**63 - 1

BULK_ACTIONS = {
    BulkAction.Kind.REPLAY: Action.REPLAY,
    BulkAction.Kind.DISCARD: Action.DISCARD,
    BulkAction.Kind.UNDO: Action.UNDO,
}


def letters_visible_to(user: AnyUser) -> QuerySet[DeadLetter]:
    """The letters that exist for this person. Those of a deleted tenant exist for staff only."""
    if sees_all(user):
        return DeadLetter.objects.all()
    return DeadLetter.objects.filter(tenant__in=tenants_visible_to(user))


def get_letter(user: AnyUser, letter_id: int) -> DeadLetter:
    """The letter of this id; raises ``Http404``, the same for a foreign one and for none at all."""
    letter = letters_visible_to(user).filter(pk=letter_id).first() if 0 < letter_id <= MAX_ID else None
    if letter is None:
        raise Http404("No such dead letter.")
    return letter


def tenants_where(user: AnyUser, action: Action) -> list[int] | None:
    """Ids of the tenants for whose letters this person may do it; None: for all, those of deleted tenants too."""
    if can(user, action):
        return None
    return [tenant.pk for tenant in tenants_visible_to(user) if can(user, action, tenant)]


def bulks_visible_to(user: AnyUser) -> QuerySet[BulkAction]:
    """The bulk actions that exist for this person: all for staff, for others their own."""
    if sees_all(user):
        return BulkAction.objects.all()
    return BulkAction.objects.filter(by_user=user.pk) if user.pk is not None else BulkAction.objects.none()


def get_bulk(user: AnyUser, bulk_id: int) -> BulkAction:
    """The bulk action of this id; raises ``Http404``, the same for a foreign one and for none at all.

    One that holds a letter which this person does not see (any more) is a foreign one.
    """
    bulk = bulks_visible_to(user).filter(pk=bulk_id).first() if 0 < bulk_id <= MAX_ID else None
    if bulk is None or (not sees_all(user) and _holds_foreign(user, bulk)):
        raise Http404("No such bulk action.")
    return bulk


def can_run(user: AnyUser, bulk: BulkAction) -> Allowed:
    """Whether this person may do with all its waiting letters what the bulk action is for."""
    action = BULK_ACTIONS[BulkAction.Kind(bulk.kind)]
    tenants = tenants_where(user, action)
    if tenants is None:
        return Allowed(True)
    waiting = bulk.members.filter(state=BulkMember.State.WAITING)
    if not waiting.exclude(letter__tenant__in=tenants).exists():
        return Allowed(True)
    return Allowed(False, f"You may not {action} of all these tenants.")


def _holds_foreign(user: AnyUser, bulk: BulkAction) -> bool:
    return bulk.members.exclude(letter__tenant__in=tenants_visible_to(user)).exists()
