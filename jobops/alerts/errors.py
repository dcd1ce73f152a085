"""Refusals of what people do about alerts: a named error each, with one clear line of text."""

from __future__ import annotations


class AlertError(Exception):
    """Base of every refusal here; ``str()`` of it is fit for a person."""


class InvalidAlertAction(AlertError):
    """A value that cannot be used; ``field`` is its name, ``problem`` what would be right."""

    def __init__(self, field: str, problem: str) -> None:
        self.field, self.problem = field, problem
        super().__init__(f"{field}: {problem}")


class NoSuchAlert(AlertError):
    """There is no alert, silence or rule of this number; ``what`` says which of them."""

    def __init__(self, what: str, number: int) -> None:
        self.what, self.number = what, number
        super().__init__(f"there is no {what} {number}")


class WrongAlertState(AlertError):
    """It is over already; ``why`` says so in words."""

    def __init__(self, what: str, number: int, why: str) -> None:
        self.what, self.number, self.why = what, number, why
        super().__init__(f"{what} {number}: {why}")
