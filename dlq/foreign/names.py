"""How a failed job of another installation is called among our own. Imports nothing of the models."""

PREFIX = "rq:"
"""How the ``job_id`` of a letter begins whose job is not our own."""


def job_id_of(source: str, rq_id: str) -> str:
    """What its letter's ``job_id`` is made of: two sources may have the same ids."""
    return f"{PREFIX}{source}:{rq_id}"


def may_be_foreign(job_id: str) -> bool:
    """Whether a letter with this ``job_id`` may be of another installation; its ``ForeignJob`` says whether it is."""
    return job_id.startswith(PREFIX)
