"""Who may do what: one table of action and role, for pages, fragments, commands and the API alike."""

from enum import StrEnum

from tenants.models import Membership


class Role(StrEnum):
    """The six roles. Staff roles are Django groups of the same name; tenant roles are memberships."""

    SUPERUSER = "superuser"
    OPERATOR = "operator"
    ON_CALL = "on call"
    STAFF_VIEWER = "staff viewer"
    TENANT_ADMIN = "tenant admin"
    TENANT_VIEWER = "tenant viewer"


# The groups that a migration makes.
STAFF_GROUPS = (Role.OPERATOR, Role.ON_CALL, Role.STAFF_VIEWER)
MEMBER_ROLES = {Membership.Role.ADMIN.value: Role.TENANT_ADMIN, Membership.Role.VIEWER.value: Role.TENANT_VIEWER}


class Action(StrEnum):
    """What a person can want to do; the value reads well after "may not"."""

    SEE = "see this"
    SEE_FLEET = "see workers and the catalog"
    SEE_PAYLOAD = "see payloads unmasked"
    EDIT_PAYLOAD = "edit a payload"
    REPLAY = "replay dead letters"
    DISCARD = "discard dead letters"
    UNDO = "undo a discard"
    ASSIGN = "assign dead letters"
    ACKNOWLEDGE = "acknowledge"
    PAUSE = "pause or resume a tenant"
    PAUSE_ANY = "pause or resume a job type, a resource or everything"
    CANCEL = "cancel jobs"
    STOP = "stop running jobs"
    RUN_NOW = "run a job now"
    SET_LIMITS = "change weights, caps and limits"
    MANAGE_TENANTS = "create and delete tenants"
    MANAGE_WORKERS = "drain workers"
    CONFIGURE = "change settings"
    SILENCE = "silence alerts"
    SEE_AUDIT = "read the audit"
    SEE_AUDIT_OF_PEOPLE = "read the audit of users and grants"
    EXPORT_AUDIT = "export the audit"
    MANAGE_USERS = "manage users and grants"
    SEE_RQ = "see RQ's own pages"


class Rule(StrEnum):
    """One cell of the table."""

    YES = "yes"
    NO = "no"
    GRANTED = "if granted"  # a Django permission of the same name as the action, see GRANTS
    IF_MAY_PAUSE = "where the tenant's settings let its admins pause"
    IF_MAY_REPLAY = "where the tenant's settings let its admins replay"


# The permission behind each "if granted".
GRANTS = {Action.SEE_PAYLOAD: "tenants.see_payload", Action.EDIT_PAYLOAD: "tenants.edit_payload"}

_Y, _N, _G, _P, _R = Rule.YES, Rule.NO, Rule.GRANTED, Rule.IF_MAY_PAUSE, Rule.IF_MAY_REPLAY

# Who may, for those who read on a page for everybody that they may not.
WHO_MAY = {Action.CONFIGURE: "an operator"}

# The tenant columns speak of the tenants the person belongs to; all other tenants do not exist for them.
_ROWS: dict[Action, tuple[Rule, Rule, Rule, Rule, Rule, Rule]] = {
    #                     superuser, operator, on call, staff viewer, tenant admin, tenant viewer
    Action.SEE: (_Y, _Y, _Y, _Y, _Y, _Y),
    Action.SEE_FLEET: (_Y, _Y, _Y, _Y, _N, _N),
    Action.SEE_PAYLOAD: (_Y, _G, _G, _N, _N, _N),
    Action.EDIT_PAYLOAD: (_Y, _G, _G, _N, _N, _N),
    Action.REPLAY: (_Y, _Y, _Y, _N, _R, _N),
    Action.DISCARD: (_Y, _Y, _Y, _N, _R, _N),
    Action.UNDO: (_Y, _Y, _Y, _N, _R, _N),
    Action.ASSIGN: (_Y, _Y, _Y, _N, _R, _N),
    Action.ACKNOWLEDGE: (_Y, _Y, _Y, _N, _R, _N),
    Action.PAUSE: (_Y, _Y, _Y, _N, _P, _N),
    Action.PAUSE_ANY: (_Y, _Y, _Y, _N, _N, _N),
    Action.CANCEL: (_Y, _Y, _Y, _N, _N, _N),
    Action.STOP: (_Y, _Y, _Y, _N, _N, _N),
    Action.RUN_NOW: (_Y, _Y, _Y, _N, _N, _N),
    Action.SET_LIMITS: (_Y, _Y, _N, _N, _N, _N),
    Action.MANAGE_TENANTS: (_Y, _Y, _N, _N, _N, _N),
    Action.MANAGE_WORKERS: (_Y, _Y, _N, _N, _N, _N),
    Action.CONFIGURE: (_Y, _Y, _N, _N, _N, _N),
    Action.SILENCE: (_Y, _Y, _Y, _N, _N, _N),
    Action.SEE_AUDIT: (_Y, _Y, _Y, _N, _Y, _N),
    # Of their own tenant's people only, as with all that its columns say.
    Action.SEE_AUDIT_OF_PEOPLE: (_Y, _Y, _N, _N, _Y, _N),
    Action.EXPORT_AUDIT: (_Y, _N, _N, _N, _N, _N),
    Action.MANAGE_USERS: (_Y, _N, _N, _N, _N, _N),
    Action.SEE_RQ: (_Y, _N, _N, _N, _N, _N),
}

TABLE: dict[Action, dict[Role, Rule]] = {action: dict(zip(Role, rules, strict=True)) for action, rules in _ROWS.items()}
