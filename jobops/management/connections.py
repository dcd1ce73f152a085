"""The worker's database connections: none is shared across a fork, and each job finds good ones.

A connection that two processes use answers each with the other's rows, or ends for one when the other closes it.
"""

from __future__ import annotations

from django.db import close_old_connections, connections, reset_queries

from jobops.engine.worker_options import Hooks


def leave_none_open() -> None:
    """Before a fork: closes every connection of this process, so that the child has none to inherit."""
    connections.close_all()


def forget_inherited() -> None:
    """After a fork: whatever wrapper came along is forgotten; the first query of this process makes a new one."""
    for connection in connections.all(initialized_only=True):
        del connections[connection.alias]


def begin_job() -> None:
    """Before a job: what went bad or grew old since the last one is closed."""
    reset_queries()
    close_old_connections()


def end_job() -> None:
    """After a job, as after a request; a transaction that the job left open is undone, its connection dropped."""
    for connection in connections.all(initialized_only=True):
        # `get_autocommit` would connect where nothing is open, and raise while the database is away.
        is_open = connection.connection is not None
        if connection.in_atomic_block or connection.needs_rollback or (is_open and not connection.get_autocommit()):
            # Closed in its transaction, the wrapper would refuse every later query.
            del connections[connection.alias]
            connection.close()
    close_old_connections()


HOOKS = Hooks(before_fork=leave_none_open, after_fork=forget_inherited, before_job=begin_job, after_job=end_job)
