"""Names of jobs, and the jobs that the scheduler registers, as each Batsim reads them.

This module must not know any event.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from batprotocol.errors import shown
from batprotocol.legacy.conversation.json.profiles import too_large
from batprotocol.legacy.cpp import integer, is_int, printed

__all__ = ["Unnamed", "fault_of_job", "name_of"]


class Unnamed(Exception):
    """The text is not the name of a job."""


def name_of(text: str, major: int) -> str:
    """The name WORKLOAD!JOB, written as Batsim writes it: it reads "w!!1" as "w!1", and Batsim 1 "w!01x", too.

    Raises:
        Unnamed: Batsim aborts on this.
    """
    parts = re.split("!+", text)
    if len(parts) != 2:
        raise Unnamed(f"{shown(text)} is not WORKLOAD!JOB")
    if major != 1:
        return "!".join(parts)
    number = integer(parts[1])
    if number is None:
        raise Unnamed(f"{shown(parts[1])} in {shown(text)} is not a number, and this Batsim requires one")
    return f"{parts[0]}!{number}"


def _inner_name(given: str | int, workload: str, major: int) -> str:
    """The full name of a job, from its name in its workload."""
    text = str(given)
    if type(given) is int if major == 1 else workload not in text:
        if "!" in text:
            raise Unnamed(f"its id {shown(text)} is not in the workload {shown(workload)}")
        return name_of(f"{workload}!{text}", major)
    return name_of(text, major)


def fault_of_job(job: Mapping[str, Any], job_id: str, major: int) -> tuple[str, str] | None:
    """The member and the reason for which that Batsim refuses this job under this name, None if it accepts the job."""
    given: Any = job.get("id")
    if not (isinstance(given, str) or is_int(given)):
        return "id", f"expected a name, found {shown(given)}" if "id" in job else "it is missing"
    try:
        name = _inner_name(given, job_id.partition("!")[0], major)
    except Unnamed as error:
        return "id", str(error)
    if name != job_id:
        return "id", f"it is {shown(name)}, and not the {shown(job_id)} that is registered"
    if type(job.get("subtime")) not in (int, float):
        return "subtime", f"expected a number, found {shown(job['subtime'])}" if "subtime" in job else "it is missing"
    walltime = job.get("walltime", -1)
    if type(walltime) not in (int, float) or not (printed(walltime) > 0 or printed(walltime) == -1):
        return "walltime", f"expected a number > 0, or -1, found {shown(walltime)}"
    res: Any = job.get("res")
    if not is_int(res) or (res < 0 and major >= 3):
        return "res", f"expected an integer >= 0, found {shown(res)}" if "res" in job else "it is missing"
    if not isinstance(job.get("profile"), str):
        return "profile", f"expected a name, found {shown(job['profile'])}" if "profile" in job else "it is missing"
    if too_large(job):
        return "", "Batsim cannot print a number that large"
    return None
