"""Jobs, as workloads and registrations describe them. A job is named `workload!job`."""

from __future__ import annotations

from batprotocol.model.value import Value

__all__ = ["Job"]


class Job(Value, frozen=True, kw_only=True):
    """What a job asks for and how it is simulated.

    Args:
        resource_request: how many hosts the job asks for, which is also its number of executors; uint32.
        walltime: seconds after which Batsim kills the job, or None: never. A job registered with 0 is killed at once;
            Batsim forwards no walltime <= 0.
        extra_data: free text for decision components, which Batsim only carries; None if absent, and `""` from Batsim
            when the job has none.
        profile_id: the profile, `workload!name` or the bare name of one of the job's own workload.

    >>> Job(profile_id="w0!delay10", resource_request=4).walltime is None
    True
    """

    resource_request: int
    walltime: float | None = None
    extra_data: str | None = None
    profile_id: str
