"""What can go wrong with a tenant: one named error for each refusal, all with one clear line of text."""

from datetime import datetime

from django.utils import timezone


class TenantError(Exception):
    """Base of every refusal in this app; ``str()`` of it is fit for a person."""


class InvalidTenant(TenantError):
    """A value that no tenant may have; ``field`` is its name, ``problem`` what would be right."""

    def __init__(self, field: str, message: str) -> None:
        self.field, self.problem = field, message
        super().__init__(f"{field}: {message}")


class TenantExists(InvalidTenant):
    """Another tenant has this slug already."""

    def __init__(self, slug: str) -> None:
        self.slug = slug
        super().__init__("slug", f"a tenant {slug!r} exists already; choose another, or change that one with 'set'")


class TenantBusy(TenantError):
    """A tenant that still has work cannot be deleted; ``obstacles`` says how much of what."""

    def __init__(self, slug: str, obstacles: dict[str, int]) -> None:
        self.slug = slug
        self.obstacles = obstacles
        what = ", ".join(f"{count} {name}" for name, count in obstacles.items())
        super().__init__(
            f"tenant {slug!r} still has {what}; wait until its jobs have ended, and drain its dead letters (replay or "
            "discard them), or delete it with --force"
        )


class TenantGone(TenantError):
    """Somebody else deleted the tenant in the meantime."""

    def __init__(self, slug: str) -> None:
        self.slug = slug
        super().__init__(f"tenant {slug!r} was deleted in the meantime; nothing was changed")


class AlreadyPaused(TenantError):
    """Somebody paused the tenant before; who and why stay as they said it."""

    def __init__(self, slug: str, *, by: str, since: datetime | None, reason: str, in_force: bool = True) -> None:
        self.slug, self.by, self.since, self.reason, self.in_force = slug, by, since, reason, in_force
        super().__init__(self.text(by))

    def text(self, by: str) -> str:
        """The refusal, with other words for who paused it; the instant in the active zone."""
        since = f" since {timezone.localtime(self.since):%Y-%m-%d %H:%M %Z}" if self.since else ""
        return f"{self.slug} is already paused by {by or 'somebody'}{since}: {self.reason}" + (
            "" if self.in_force else " (not in force yet; the scheduler sees to it)"
        )


class NotPaused(TenantError):
    """There is no pause to lift."""

    def __init__(self, slug: str) -> None:
        self.slug = slug
        super().__init__(f"{slug} is not paused")


class PausedByStaff(TenantError):
    """A pause that staff set is theirs to lift."""

    def __init__(self, slug: str) -> None:
        self.slug = slug
        super().__init__(f"{slug} was paused by the operators, and only they can resume it")


class EngineAway(TenantError):
    """Redis could not be reached for something that must not be done without it."""


class InvalidTeam(TenantError):
    """A value that no team may have; ``field`` is its name, ``problem`` what would be right."""

    def __init__(self, field: str, problem: str) -> None:
        self.field, self.problem = field, problem
        super().__init__(f"{field}: {problem}")


class TeamExists(InvalidTeam):
    """Another team has this name already."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__("name", f"a team {name!r} exists already; choose another name, or change that one")


class TeamGone(TenantError):
    """There is no team of this name, or not any more."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"there is no team {name!r}; nothing was changed")
