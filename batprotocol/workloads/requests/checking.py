"""The requests of whole workloads, checked before a simulation.

A policy rejects a job whose request it cannot read, or which waits for itself. Here, the first such job of a file is an
error with its place, so that nobody waits for a simulation that cannot be meant.
"""

from __future__ import annotations

from collections.abc import Iterable

from batprotocol.errors import InputError, shown
from batprotocol.workloads.requests.request import NOTHING, read_request
from batprotocol.workloads.requests.waiting import Dependencies

__all__ = ["check_requests"]


def check_requests(jobs: Iterable[tuple[str, str | None, str]]) -> None:
    """Check what the jobs of workloads ask for.

    Args:
        jobs: the full id of each job, its extra data, and the file that it is from ("" if there is none).

    Raises:
        InputError: a value cannot be read, or a job waits for itself, directly or through others. The error names the
            file, the job and the key.

    >>> check_requests([("w0!1", '{"dependency": "afterok:2"}', ""), ("w0!2", '{"dependency": "afterok:1"}', "")])
    Traceback (most recent call last):
    ...
    batprotocol.errors.InputError: job 'w0!1': dependency: it waits for itself: w0!1 -> w0!2 -> w0!1
    """
    waiting = Dependencies()
    dependent = []
    for job_id, extra_data, file in jobs:
        try:
            request = read_request(extra_data)
        except InputError as error:
            raise InputError(error.reason, f"job {shown(job_id)}: {error.path}", file=file) from None
        if request is NOTHING:
            continue
        waiting.submitted(job_id, request, 0.0)
        if request.dependency is not None:
            dependent.append((job_id, file))
    waiting.stuck()
    for job_id, file in dependent:
        never = waiting.verdict(job_id).never
        if never is not None:
            raise InputError(never, f"job {shown(job_id)}: dependency", file=file)
