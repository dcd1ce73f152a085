"""``manage.py doctor``: proves the invariants on the living system, says what is wrong, and mends it if asked to."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from jobops.doctor.checks import CHECKS
from jobops.doctor.examination import examine
from jobops.doctor.findings import Finding
from jobops.doctor.report import Report
from jobops.doctor.site import Site
from jobops.management.base import Found, OperatorCommand, command_actor
from jobops.runtime import get_engine


class Command(OperatorCommand):
    """Exit codes: 0 nothing is wrong (any more), 1 something is, 2 wrong usage."""

    help = (
        "Walks Redis and the database, and says what is not as it must be: jobs in no list or in two, leases without "
        "jobs, caps, rings, policies, owners, replays, settings of Redis. It may run at any time. Exit code 1 if "
        "anything is wrong."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Options of the command."""
        super().add_arguments(parser)
        parser.add_argument("--repair", action="store_true", help="mend what can be mended; each is in the audit")

    def run(self, options: dict[str, Any]) -> None:
        """Examine and print. Raises ``Found`` if something is left."""
        report = examine(Site(get_engine()), CHECKS, repair=options["repair"], by=command_actor())
        if options["as_json"]:
            self.print_json(report.document())
        else:
            for line in _lines(report, repair=options["repair"]):
                self.stdout.write(line)
        if report.wrong:
            self.stdout.flush()
            raise Found(_verdict(report, repair=options["repair"]))


def _lines(report: Report, *, repair: bool) -> list[str]:
    lines = [line for finding in report.findings for line in _told(finding, repair=repair)]
    lines += [f"… and {count:,} more of {code}" for code, count in report.unlisted.items()]
    if not report.wrong:
        mended = report.repaired.total()
        looked_at = ", ".join(f"{count:,} {kind}" for kind, count in sorted(report.looked_at.items()))
        lines.append(f"nothing is wrong{f' any more: {mended:,} mended' if mended else ''} (looked at {looked_at})")
    return lines


def _told(finding: Finding, *, repair: bool) -> list[str]:
    mark = "note  " if finding.is_note else "mended" if finding.repaired else "WRONG "
    lines = [_printable(f"{mark} {finding.invariant:<6} {finding.code:<28} {finding.subject}: {finding.text}")]
    if finding.done:
        lines.append(_printable(f"{'':>6} {finding.done}"))
    elif finding.repairable and not repair:
        lines.append(f"{'':>6} --repair mends it")
    return lines


def _verdict(report: Report, *, repair: bool) -> str:
    things = "1 thing is" if report.wrong == 1 else f"{report.wrong:,} things are"
    mended = f", {report.repaired.total():,} mended" if report.repaired.total() else ""
    can = not repair and any(finding.repairable for finding in report.findings)
    return f"{things} wrong{mended}{'; --repair mends what it can' if can else ''}"


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "·" for char in text)
