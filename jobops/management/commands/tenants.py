"""``manage.py tenants``: look at tenants, take them on, set their limits, pause and delete them."""

from argparse import ArgumentTypeError
from typing import Any, NoReturn, cast

from django.core.management.base import CommandParser

from jobops.management.base import OperatorCommand, Refused, Usage, command_actor, iso, unknown_tenant
from jobops.runtime import get_engine
from tenants.deletion import tenant_delete
from tenants.errors import InvalidTenant, TenantError
from tenants.fields import TenantFields
from tenants.models import Tenant
from tenants.services import Change, tenant_create, tenant_pause, tenant_resume, tenant_set

OPTIONS = {
    "slug": "SLUG",
    "name": "--name",
    "weight": "--weight",
    "cap": "--cap",
    "rate": "--rate",
    "depth_limit": "--depth-limit",
    "lane_caps": "--lane-cap",
    "reason": "--reason",
}
"""Where a field was typed."""

COLUMNS = ("slug", "name", "weight", "cap", "rate", "depth_limit", "paused", "intake")


class Command(OperatorCommand):
    """Exit codes: 0 done, 1 refused or failed, 2 wrong usage; one line on stderr says why."""

    help = "List, create, change, pause, resume and delete tenants."

    def add_arguments(self, parser: CommandParser) -> None:
        """One sub-command for each thing that can be done."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        listing = actions.add_parser("list", help="all tenants and their limits")
        create = actions.add_parser("create", help="take on a tenant")
        create.add_argument("slug", metavar="SLUG", help="1 to 50 of a-z, 0-9 and -")
        _add_fields(create)
        change = actions.add_parser("set", help="change what is given, leave the rest")
        change.add_argument("slug", metavar="SLUG")
        _add_fields(change)
        change.add_argument("--intake", choices=["open", "closed"], help="whether it takes new jobs")
        pause = actions.add_parser("pause", help="start none of its jobs; what runs finishes, what comes in waits")
        pause.add_argument("slug", metavar="SLUG")
        pause.add_argument("--reason", required=True, help="for those who find it paused")
        pause.add_argument("--intake", action="store_true", help="refuse new jobs too")
        resume = actions.add_parser("resume", help="start its jobs again")
        resume.add_argument("slug", metavar="SLUG")
        resume.add_argument("--intake", action="store_true", help="take new jobs again too")
        delete = actions.add_parser("delete", help="delete a tenant that has nothing left")
        delete.add_argument("slug", metavar="SLUG")
        delete.add_argument("--force", action="store_true", help="cancel its jobs and delete it with letters open")
        for each in (listing, create, change, pause, resume):
            super().add_arguments(each)

    def run(self, options: dict[str, Any]) -> None:
        """Do what the sub-command says."""
        try:
            getattr(self, f"do_{options['action']}")(options)
        except InvalidTenant as error:
            option = OPTIONS.get(error.field.partition(".")[0], error.field)
            raise Refused(f"{option}: {error.problem}") from error
        except TenantError as error:
            raise Refused(str(error)) from error

    def do_list(self, options: dict[str, Any]) -> None:
        rows = [row_of(tenant) for tenant in Tenant.objects.all()]
        if options["as_json"]:
            self.print_json(rows)
        else:
            self.print_table(COLUMNS, rows, "no tenants yet: create one with `tenants create SLUG`")

    def do_create(self, options: dict[str, Any]) -> None:
        self._told(options, "created", tenant_create(slug=options["slug"], by=command_actor(), **_fields(options)))

    def do_set(self, options: dict[str, Any]) -> None:
        tenant = _tenant(options["slug"])
        fields = _fields(options, tenant)
        if options["intake"]:
            fields["intake_closed"] = options["intake"] == "closed"
        if not fields:
            raise Usage("give at least one thing to set, see `tenants set --help`")
        self._told(options, "changed", tenant_set(tenant=tenant, by=command_actor(), **fields))

    def do_pause(self, options: dict[str, Any]) -> None:
        tenant = _tenant(options["slug"])
        change = tenant_pause(
            tenant=tenant, by=command_actor(), reason=options["reason"], close_intake=options["intake"]
        )
        self._in_force(options, "paused", change)

    def do_resume(self, options: dict[str, Any]) -> None:
        change = tenant_resume(tenant=_tenant(options["slug"]), by=command_actor(), open_intake=options["intake"])
        self._in_force(options, "resumed", change)

    def do_delete(self, options: dict[str, Any]) -> None:
        tenant = _tenant(options["slug"])
        tenant_delete(tenant=tenant, by=command_actor(), engine=get_engine(), force=options["force"])
        self.stdout.write(f"deleted {options['slug']}")

    def _told(self, options: dict[str, Any], done: str, change: Change) -> None:
        if options["as_json"]:
            self.print_json(row_of(change.tenant))
        else:
            self.stdout.write(f"{done} {change.tenant.slug}")
        if not change.in_force:
            self.stderr.write(f"{change.tenant.slug} is {done}, but not in force yet: {change.problem}")

    def _in_force(self, options: dict[str, Any], done: str, change: Change) -> None:
        # Who pauses relies on it, so "saved but not in force" is a failure here.
        if not change.in_force:
            raise Refused(f"{change.tenant.slug} is marked {done}, but not in force yet: {change.problem}")
        self._told(options, done, change)


def row_of(tenant: Tenant) -> dict[str, Any]:
    """A tenant as ``list --json`` shows it."""
    return {
        "slug": tenant.slug,
        "name": tenant.name,
        "weight": tenant.weight,
        "cap": tenant.cap,
        "lane_caps": tenant.lane_caps,
        "rate": tenant.rate or None,
        "depth_limit": tenant.depth_limit,
        "paused": tenant.paused,
        "paused_by": tenant.paused_by,
        "paused_at": iso(tenant.paused_at),
        "paused_by_staff": tenant.paused_by_staff,
        "pause_reason": tenant.pause_reason,
        "intake": "closed" if tenant.intake_closed else "open",
        "in_force": not tenant.policy_is_stale,
    }


def _add_fields(parser: CommandParser) -> None:
    parser.add_argument("--name", help="what people call it; default: the slug")
    parser.add_argument("--weight", type=_number, help="share of worker time against the other tenants (1)")
    parser.add_argument("--cap", type=_count, help="most jobs in flight, or none (10)", metavar="N|none")
    parser.add_argument(
        "--lane-cap", type=_lane_cap, action="append", metavar="LANE=N|none", help="the same for a lane"
    )
    parser.add_argument("--rate", help="most starts, such as 50/s or 2/3s, or none (none)", metavar="N/TIME|none")
    parser.add_argument("--depth-limit", type=_count, help="most jobs waiting, or none (none)", metavar="N|none")
    for name, what in (("may-pause", "pause and resume it"), ("may-replay", "replay and discard its dead letters")):
        parser.add_argument(f"--{name}", choices=["yes", "no"], help=f"whether its own admins may {what} (no)")


def _fields(options: dict[str, Any], tenant: Tenant | None = None) -> TenantFields:
    """The options that were given. A lane's cap is changed beside those the tenant has."""
    fields: dict[str, Any] = {name: options[name] for name in ("name", "weight") if options[name] is not None}
    # "none" is 0 until here: None says that the option was not given.
    fields |= {name: options[name] or None for name in ("cap", "depth_limit") if options[name] is not None}
    if options["rate"] is not None:
        fields["rate"] = None if options["rate"] == "none" else options["rate"]
    fields |= {name: options[name] == "yes" for name in ("may_pause", "may_replay") if options[name]}
    if options["lane_cap"]:
        caps = (dict(tenant.lane_caps) if tenant else {}) | dict(options["lane_cap"])
        fields["lane_caps"] = {lane: cap for lane, cap in caps.items() if cap}
    return cast(TenantFields, fields)


def _tenant(slug: str) -> Tenant:
    tenant = Tenant.objects.filter(slug=slug).first()
    if tenant is None:
        raise unknown_tenant("SLUG", slug)
    return tenant


def _count(text: str) -> int:
    if text == "none":
        return 0
    if not (text.isascii() and text.isdigit() and 0 < int(text[:20]) < 2**31):
        _wrong(f"{text!r} must be a whole number from 1 to {2**31 - 1}, or none")
    return int(text)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        _wrong(f"{text!r} must be a number")


def _lane_cap(text: str) -> tuple[str, int]:
    lane, equals, count = text.partition("=")
    if not (lane and equals):
        _wrong(f"{text!r} must be LANE=N or LANE=none")
    return lane, _count(count)


def _wrong(message: str) -> NoReturn:
    raise ArgumentTypeError(message)
