"""The only door to dead letters: those of the tenants that a person may see; for staff, all."""

from django.db.models import QuerySet
from django.http import Http404

from dlq.models import DeadLetter
from tenants.access import AnyUser, sees_all, tenants_visible_to

MAX_ID = 2**63 - 1


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
