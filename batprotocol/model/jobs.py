"""Jobs, as workloads and registrations describe them. The id of a job is `workload!job`."""

from __future__ import annotations

from batprotocol.model.value import Value

__all__ = ["Job"]


class Job(Value, frozen=True, kw_only=True):
    """The resources that a job requests, and the profile that simulates it.

    Args:
        resource_request: the number of hosts that the job requests, which is also its number of executors; uint32.
        walltime: the maximum run time in simulated seconds, after which Batsim kills the job. None means no limit.
            Batsim kills a job that is registered with 0 as soon as it starts. It forwards a walltime <= 0 as None.
        extra_data: free text for decision components, which Batsim does not read. None if absent; Batsim sends `""` if
            the job has none.
        profile_id: the id of the profile, `workload!name`, or only the name for a profile of the job's own workload.

    >>> Job(profile_id="w0!delay10", resource_request=4).walltime is None
    True
    """

    resource_request: int
    walltime: float | None = None
    extra_data: str | None = None
    profile_id: str
