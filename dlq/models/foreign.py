"""Failed jobs of a plain RQ installation, taken over as letters."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from dlq.models.letter import DeadLetter


class ForeignJob(models.Model):
    """What a letter was at home: its source, its queue, and its record, byte by byte. Nothing of it is ever unpickled.

    ``failed_at`` is as the source's registry tells it; with source and id it makes a second import of one failure a
    no-op.
    """

    letter = models.OneToOneField(DeadLetter, primary_key=True, on_delete=models.CASCADE, related_name="foreign")
    source = models.CharField(max_length=50)
    rq_id = models.CharField(max_length=255)
    queue = models.CharField(max_length=255)
    failed_at = models.DateTimeField()
    record = models.BinaryField(help_text="All fields of the job's hash.")
    imported_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["source", "rq_id", "failed_at"], name="foreign_job_once")
        ]

    def __str__(self) -> str:
        return f"{self.rq_id} of {self.source}"
