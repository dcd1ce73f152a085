"""The only door to dead letters, their groups and bulk actions: those of the tenants that a person may see; for staff,
all."""

from collections.abc import Collection, Iterable

from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404

from dlq.models import BulkAction, BulkMember, DeadLetter, DeadLetterGroup, GroupTenant
from tenants.access import Allowed, AnyUser, can, sees_all, tenants_visible_to
from tenants.roles import Action

MAX_ID = 2**63 - 1
COMMAND = "command:"
"""How an actor's name begins that is a command; no person's does, as logins have no colon."""

BULK_ACTIONS = {
    BulkAction.Kind.REPLAY: Action.REPLAY,
    BulkAction.Kind.DISCARD: Action.DISCARD,
    BulkAction.Kind.UNDO: Action.UNDO,
}


def letters_visible_to(user: AnyUser) -> QuerySet[DeadLetter]:
    """The letters that exist for this person. Those of a deleted tenant exist for staff only."""
    if sees_all(user):
        return DeadLetter.objects.all()
    # Their ids: of a query within the query a database may make a join, and sort all their letters for a page of them.
    return DeadLetter.objects.filter(tenant__in=list(tenants_visible_to(user).values_list("pk", flat=True)))


def get_letter(user: AnyUser, letter_id: int) -> DeadLetter:
    """The letter of this id; raises ``Http404``, the same for a foreign one and for none at all."""
    letter = letters_visible_to(user).filter(pk=letter_id).first() if 0 < letter_id <= MAX_ID else None
    if letter is None:
        raise Http404("No such dead letter.")
    return letter


def groups_visible_to(user: AnyUser) -> QuerySet[DeadLetterGroup]:
    """The groups that exist for this person: for others than staff, those that ever hit a tenant of theirs.

    The numbers in their rows are of all tenants, and nothing that others than staff may see.
    """
    if sees_all(user):
        return DeadLetterGroup.objects.all()
    own = GroupTenant.objects.filter(group=OuterRef("pk"), tenant__in=tenants_visible_to(user))
    return DeadLetterGroup.objects.filter(Exists(own))


def get_group(user: AnyUser, group_id: int) -> DeadLetterGroup:
    """The group of this id; raises ``Http404``, the same for a foreign one and for none at all."""
    group = groups_visible_to(user).filter(pk=group_id).first() if 0 < group_id <= MAX_ID else None
    if group is None:
        raise Http404("No such group of dead letters.")
    return group


def tenants_where(user: AnyUser, action: Action) -> list[int] | None:
    """Ids of the tenants for whose letters this person may do it; None: for all, those of deleted tenants too."""
    if can(user, action):
        return None
    return [tenant.pk for tenant in tenants_visible_to(user) if can(user, action, tenant)]


def bulks_visible_to(user: AnyUser) -> QuerySet[BulkAction]:
    """The bulk actions that exist for this person: all for staff, for others their own. One that holds a letter which
    they do not see (any more) is a foreign one."""
    if sees_all(user):
        return BulkAction.objects.all()
    if user.pk is None:
        return BulkAction.objects.none()
    foreign = BulkMember.objects.filter(bulk=OuterRef("pk")).exclude(letter__tenant__in=tenants_visible_to(user))
    return BulkAction.objects.filter(~Exists(foreign), by_user=user.pk)


def get_bulk(user: AnyUser, bulk_id: int) -> BulkAction:
    """The bulk action of this id; raises ``Http404``, the same for a foreign one and for none at all."""
    bulk = bulks_visible_to(user).filter(pk=bulk_id).first() if 0 < bulk_id <= MAX_ID else None
    if bulk is None:
        raise Http404("No such bulk action.")
    return bulk


def get_bulks(user: AnyUser, ids: Collection[int]) -> QuerySet[BulkAction]:
    """Those of these bulk actions that ``get_bulk`` answers to this person."""
    return bulks_visible_to(user).filter(pk__in=ids)


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


def may_go_on(bulk: BulkAction, letters: Iterable[DeadLetter]) -> Allowed:
    """Whether who confirmed it may still do it to these letters: a role may end while it runs, or the account.

    Not of all that wait, as ``can_run``: this is asked once a batch. What a command confirmed goes on.
    """
    if bulk.by.startswith(COMMAND):
        return Allowed(True)
    action = BULK_ACTIONS[BulkAction.Kind(bulk.kind)]
    tenants = tenants_where(bulk.by_user, action) if bulk.by_user is not None else []
    if tenants is None or {letter.tenant_id for letter in letters} <= set(tenants):
        return Allowed(True)
    return Allowed(False, f"{bulk.by} may not {action} of all these tenants any more")
