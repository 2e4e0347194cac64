"""Sites as they are: partitions, hosts that jobs share by cores, memory and GPUs, limits, preemption, dependencies.

A `Policy` hands its jobs to a `Site` (in `site`) from the first job on that uses the vocabulary of
`batprotocol.workloads.requests`, or from the beginning if it has rules. The parts of a site share its `state`: hosts,
queue, timeline, running jobs.

`rules` has the rules of a file. By them, `admission` finds where a job can run, or why it never can, and a job is held
until its time has come, in `host_events`, which also has the effects of failures and of `windows` on jobs. `accounts`
has the limits and the fair share of users. `plan` chooses the jobs that start, and makes `reservations` for the first
ones. Under a cap of watts, `capped` is the plan, with the `watts` that are drawn and allowed over time. Hosts that are
`sleeping` are switched on for jobs. Jobs that give way, and those whose hosts fail, run again: see `reruns`. With
`steering`, somebody else chooses the jobs.
"""

from __future__ import annotations

from batprotocol.policies.site.rules import (
    Account,
    Limits,
    Partition,
    Priority,
    Qos,
    Reservation,
    SiteRules,
    read_site,
)
from batprotocol.policies.site.site import Site

__all__ = ["Account", "Limits", "Partition", "Priority", "Qos", "Reservation", "Site", "SiteRules", "read_site"]
