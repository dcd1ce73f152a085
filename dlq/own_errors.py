"""Errors of letters that no job wrote: what we say where there is nothing of it to read. They hold no secret."""

RECORD_GONE = "The job's record was gone from Redis before it could be taken in; only its id and attempt are known."
ARGUMENTS_GONE = "The job's arguments were gone from Redis before it could be taken in."
DEATH_UNKNOWN = "What it died of is not known: this database has no record of its death, only of its replay."

OWN_ERRORS = frozenset({RECORD_GONE, ARGUMENTS_GONE, DEATH_UNKNOWN})
