"""Where the demo keeps things, and where its local servers listen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from jobops.demo.results import fresh_file


@dataclass(frozen=True, slots=True)
class Services:
    """The local servers of a running demo: the webhooks' receiver and file store, and the mail server."""

    receiver_url: str
    mail_host: str
    mail_port: int


@dataclass(frozen=True, slots=True)
class Places:
    """The demo's folder (``var/demo``) and what lies in it. Everything the demo writes is below it."""

    root: Path

    @property
    def sources(self) -> Path:
        """Photos and archives that jobs work on."""
        return self.root / "sources"

    def results(self, kind: str, shop: str) -> Path:
        """What jobs of one shop made."""
        return self.root / "results" / kind / shop

    @property
    def mail(self) -> Path:
        """The newest messages that the mail server took."""
        return self.root / "mail"

    @property
    def team_mail(self) -> Path:
        """Those of them that went to a team: alerts."""
        return self.mail / "teams"

    @property
    def alert_key(self) -> Path:
        """What alerts are signed with on their way to the demo's own receiver; readable by its owner only."""
        return self.root / "alert_key"

    @property
    def logs(self) -> Path:
        """One log for each process."""
        return self.root / "logs"

    @property
    def accounts(self) -> Path:
        """The accounts' passwords, made for this folder alone; readable by its owner only."""
        return self.root / "accounts.json"

    def write_services(self, services: Services) -> None:
        """Tell the jobs where the local servers listen."""
        with fresh_file(self._services) as file:
            file.write(json.dumps(asdict(services)).encode())

    def write_environment(self, variables: Mapping[str, str]) -> None:
        """Tell commands that join the demo how its processes are set up."""
        with fresh_file(self.environment) as file:
            file.write(json.dumps(dict(variables)).encode())

    def services(self) -> Services:
        """Where the local servers listen; `LookupError` when the demo does not run."""
        try:
            return Services(**json.loads(self._services.read_text()))
        except FileNotFoundError:
            raise LookupError("the demo's local servers do not run; start them with `make demo`") from None

    def forget_services(self) -> None:
        """The local servers have stopped."""
        self._services.unlink(missing_ok=True)
        self.environment.unlink(missing_ok=True)

    @property
    def environment(self) -> Path:
        """The settings that the running demo's processes have, for commands that join it."""
        return self.root / "environment.json"

    @property
    def _services(self) -> Path:
        return self.root / "services.json"
