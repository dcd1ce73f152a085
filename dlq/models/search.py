"""What of a letter can be searched."""

from django.db import models

from dlq.models.letter import DeadLetter


class SearchText(models.Model):
    """A letter's error, arguments, job type and ids as one lower-case text, with what is secret masked.

    Masked, because whoever may search a secret for can find it out. In a table of its own, so that a search reads
    nothing else.
    """

    letter = models.OneToOneField(DeadLetter, primary_key=True, on_delete=models.CASCADE, related_name="search")
    text = models.TextField()

    def __str__(self) -> str:
        return f"search text of letter {self.letter_id}"
