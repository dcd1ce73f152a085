"""The only door to tenants: what a person may see, and what they may do.

A tenant that is foreign and one that does not exist answer alike, so that nobody learns who else is a customer.
"""

from dataclasses import dataclass
from typing import TypeAlias

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet
from django.http import Http404

from tenants.models import Membership, Tenant
from tenants.roles import GRANTS, MEMBER_ROLES, STAFF_GROUPS, TABLE, WHO_MAY, Action, Role, Rule

AnyUser: TypeAlias = User | AnonymousUser

# Where a user object remembers what was read of its roles.
_STAFF, _MEMBER = "_tenants_staff_roles", "_tenants_memberships"


@dataclass(frozen=True, slots=True)
class Allowed:
    """An answer that is true or false and, when false, says why; the reason stands beside a disabled button."""

    allowed: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.allowed


def staff_roles(user: AnyUser) -> frozenset[Role]:
    """The roles that hold for every tenant; read once per user object (so: once per request)."""
    if not user.is_authenticated or not user.is_active:
        return frozenset()
    known: frozenset[Role] | None = vars(user).get(_STAFF)
    if known is None:
        names = user.groups.filter(name__in=STAFF_GROUPS).values_list("name", flat=True)
        known = frozenset(Role(name) for name in names) | ({Role.SUPERUSER} if user.is_superuser else frozenset())
        vars(user)[_STAFF] = known
    return known


def sees_all(user: AnyUser) -> bool:
    """Whether this person sees every tenant, also jobs whose tenant is no longer there."""
    return bool(staff_roles(user))


def tenants_visible_to(user: AnyUser) -> QuerySet[Tenant]:
    """The tenants that exist for this person: all for staff, their own for members, none for a stranger."""
    if sees_all(user):
        return Tenant.objects.all()
    if not user.is_authenticated or not user.is_active:
        return Tenant.objects.none()
    return Tenant.objects.filter(pk__in=Membership.objects.filter(user_id=user.pk).values("tenant_id"))


def get_tenant(user: AnyUser, slug: str) -> Tenant:
    """The tenant of this slug; raises ``Http404``, the same for a foreign one and for none at all."""
    # A NUL is a plain "not found" too; PostgreSQL would refuse to look for it.
    tenant = None if "\0" in slug else tenants_visible_to(user).filter(slug=slug).first()
    if tenant is None:
        raise Http404("No such tenant.")
    return tenant


def can(user: AnyUser, action: Action, tenant: Tenant | None = None) -> Allowed:
    """Whether this person may do this to this tenant, or, with None, to all of them at once."""
    roles = roles_in(user, tenant)
    if not roles:
        # Says nothing about the tenant: for this person it does not exist.
        is_member = tenant is None and user.is_authenticated and user.is_active and bool(_memberships(user))
        return Allowed(False, "This is for our team only." if is_member else "You have no role here.")
    refusals = []
    for role in roles:
        rule = TABLE[action][role]
        if _holds(rule, user, action, tenant):
            return Allowed(True)
        refusals.append(_refusal(role, rule, action))
    return Allowed(False, refusals[0])


def acts_as_staff(user: AnyUser) -> bool:
    """Whether a pause that this person sets is the operators', which a tenant's own people cannot lift."""
    return bool(can(user, Action.PAUSE_ANY))


def can_resume(user: AnyUser, tenant: Tenant) -> Allowed:
    """Whether this person may lift the pause of this tenant: who set it counts too."""
    allowed = can(user, Action.PAUSE, tenant)
    if allowed and tenant.paused and tenant.paused_by_staff and not acts_as_staff(user):
        return Allowed(False, "Our team paused this, so only our team can resume it.")
    return allowed


def masked(user: AnyUser, tenant: Tenant | None) -> bool:
    """Whether this person sees payloads only with what the contract says to ``redact`` masked."""
    return not can(user, Action.SEE_PAYLOAD, tenant)


def roles_in(user: AnyUser, tenant: Tenant | None) -> list[Role]:
    """A person's roles towards one tenant (None: towards all of them), the most powerful first."""
    roles = set(staff_roles(user))
    if tenant is not None and user.is_authenticated and user.is_active:
        role = _memberships(user).get(tenant.pk)
        if role is not None:
            roles.add(MEMBER_ROLES[role])
    return [role for role in Role if role in roles]


def _memberships(user: User) -> dict[int, str]:
    """Tenant id → role, read once per user object: a page asks for each of its rows."""
    known: dict[int, str] | None = vars(user).get(_MEMBER)
    if known is None:
        known = dict(Membership.objects.filter(user_id=user.pk).values_list("tenant_id", "role"))
        vars(user)[_MEMBER] = known
    return known


def _holds(rule: Rule, user: AnyUser, action: Action, tenant: Tenant | None) -> bool:
    if rule is Rule.GRANTED:
        return user.has_perm(GRANTS[action])
    if rule is Rule.IF_MAY_PAUSE:
        return tenant is not None and tenant.may_pause
    if rule is Rule.IF_MAY_REPLAY:
        return tenant is not None and tenant.may_replay
    return rule is Rule.YES


def _refusal(role: Role, rule: Rule, action: Action) -> str:
    if rule is Rule.GRANTED:
        return f"You may not {action} unless a superuser grants it ({GRANTS[action]})."
    if rule in (Rule.IF_MAY_PAUSE, Rule.IF_MAY_REPLAY):
        return f"As {role} you may {action} only {rule}."
    who = WHO_MAY.get(action)
    return f"As {role} you may not {action}{f': only {who} may' if who else ''}."
