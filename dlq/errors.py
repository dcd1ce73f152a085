"""What can be wrong with an action on dead letters: named errors, one clear line each."""


class LetterError(Exception):
    """An action on a letter was refused; the letter is as it was."""


class WrongState(LetterError):
    """Somebody was faster, or the button was pressed twice: the letter is not in a state that allows this."""

    def __init__(self, letter_id: int, state: str, why: str) -> None:
        self.letter_id = letter_id
        self.state = state
        self.why = why
        super().__init__(f"dead letter {letter_id}: {why}")


class NotReplayable(LetterError):
    """Its job cannot be made again: the type is not registered, the arguments are unreadable or do not fit, the
    tenant is gone or takes no jobs, or a live job holds its key."""

    def __init__(self, letter_id: int, why: str) -> None:
        self.letter_id = letter_id
        self.why = why
        super().__init__(f"dead letter {letter_id}: {why}")


class WrongBulkState(LetterError):
    """A bulk action is not in a state that allows this: confirmed twice, already over, or undone before."""

    def __init__(self, bulk_id: int, state: str, why: str) -> None:
        self.bulk_id = bulk_id
        self.state = state
        self.why = why
        super().__init__(f"bulk action {bulk_id}: {why}")


class InvalidAction(LetterError):
    """What was asked for is not complete or not understandable; ``field`` names what, ``problem`` what would do."""

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        self.problem = problem
        super().__init__(f"{field}: {problem}")


class WrongGroupState(LetterError):
    """A group is not in a state that allows this: nothing of it is undrained, or somebody was faster."""

    def __init__(self, group_id: int, state: str, why: str) -> None:
        self.group_id = group_id
        self.state = state
        self.why = why
        super().__init__(f"group {group_id}: {why}")
