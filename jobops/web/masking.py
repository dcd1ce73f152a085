"""What a person may not see of a job: the rule that commands keep too, under one name for the pages."""

from dlq.payloads import secrets_in
from jobops.contracts.masking import DOTS, Argument, masked_text, masked_value, secrets_of, shown_arguments

__all__ = ["DOTS", "Argument", "masked_text", "masked_value", "secrets_in", "secrets_of", "shown_arguments"]
