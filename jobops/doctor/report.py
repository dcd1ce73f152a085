"""What an examination came to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from jobops.doctor.findings import Finding

LISTED = 200
"""So many findings of one code are kept; the others are counted. A hundred thousand lost jobs are one fault."""


@dataclass(slots=True)
class Report:
    """``findings``: the first ones of each code. ``found`` and ``repaired``: how many of each code, notes left out."""

    findings: list[Finding] = field(default_factory=list)
    found: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)
    looked_at: Counter[str] = field(default_factory=Counter)
    _listed: Counter[str] = field(default_factory=Counter)

    def add(self, finding: Finding) -> None:
        """Take one up."""
        if not finding.is_note:
            self.found[finding.code] += 1
            self.repaired[finding.code] += finding.repaired
        self._listed[finding.code] += 1
        if self._listed[finding.code] <= LISTED:
            self.findings.append(finding)

    @property
    def wrong(self) -> int:
        """How many faults are left."""
        return self.found.total() - self.repaired.total()

    @property
    def unlisted(self) -> dict[str, int]:
        """Code → findings that are counted only."""
        return {code: count - LISTED for code, count in self._listed.items() if count > LISTED}

    def document(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "healthy": not self.wrong,
            "found": self.found.total(),
            "repaired": self.repaired.total(),
            "by_code": {
                code: {"found": count, "repaired": self.repaired[code]} for code, count in sorted(self.found.items())
            },
            "looked_at": dict(sorted(self.looked_at.items())),
            "findings": [finding.row() for finding in self.findings],
            "unlisted": self.unlisted,
        }
