"""A letter's arguments as the data of a job that runs them again, by today's contract."""

from dlq.errors import NotReplayable
from dlq.payloads import stored_arguments
from jobops.contracts.config import config
from jobops.contracts.job_type import JobType
from jobops.engine.errors import InvalidJob
from jobops.engine.payload import encode


def job_data(letter_id: int, payload: str, job_type: JobType) -> bytes:
    """The data. ``payload``: the arguments as letters store them. Raises ``NotReplayable``."""
    stored = stored_arguments(payload)
    if stored is None:
        raise NotReplayable(letter_id, "its arguments cannot be read, so that its job cannot be made again")
    try:
        args, kwargs = job_type.bind(*stored)
        names = job_type.argument_names(len(args))
        return encode(job_type.name, args, kwargs, limit=config().payload_limit, arg_names=names)
    except InvalidJob as error:
        raise NotReplayable(letter_id, f"its arguments do not fit the job type of today: {error}") from error
