"""Who people are, for filters and forms: their teams, and whom a login names."""

from django.contrib.auth.models import User

from tenants.models import TeamMember


def teams_of(user_id: int | None) -> list[str]:
    """The names of the teams that this person is in, in their order; none for nobody."""
    if user_id is None:
        return []
    return list(TeamMember.objects.filter(user_id=user_id).order_by("team__name").values_list("team__name", flat=True))


def person_named(login: str) -> int | None:
    """The id of the account of this login; None if there is none."""
    return User.objects.filter(username=login).values_list("pk", flat=True).first()
