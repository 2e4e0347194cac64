"""Sites as they are: partitions, hosts that jobs share by cores, memory and GPUs, limits, preemption, dependencies.

A `Policy` hands its jobs to a `Site` (in `core`) from the first job on that uses the vocabulary of
`batprotocol.workloads.requests`, or from the beginning if it has rules; `driver` connects the two through `actions`.
The data take this way: `rules` reads the rules of a file with `tables`, and `membership` finds the hosts and jobs of
partitions; by them, `admission` finds where a job can run, or why it never can, and `holding` keeps it until its time
has come. `away` has the hosts that have failed. `jobs` has the jobs with their amounts, `pool` the free amounts of each
host, `timeline` the future ones. `queue` has the jobs that wait, in order and by kind: `ranking` keeps the order,
`sieve` finds the kinds for which an amount suffices, and `priorities` has the fair share of users. `limits` counts what
users and accounts have. `planning` chooses the jobs that start, by the `settings` of a kind of backfilling and along
`lines` of jobs that are alike, with the `gaps` that there are for each kind, and `choosing` their hosts; `reserving`
makes the reservations of single jobs, and `keeping` finds those that need not be made anew. `windows` closes hosts for
a time, and promises them to jobs: a reservation is one of the `lanes`, with hosts of its own. `fates` does what that
means for jobs, and what failures do. `occupancy` has the hosts of running jobs, and `sleeping` the hosts that sleep.
Under a cap of watts, `capped` is the plan: a `budget` has what jobs draw, beside the `allowance` of each time, and
`scarcity` passes over entries for which that surely does not suffice. With `pacing`, jobs run in slower power states,
and `idling` has the watts of hosts without jobs; these three are the `power` of a plan. `lead` has the jobs that lack
the time to switch their hosts on. `preempting` finds jobs that give way. Such jobs and those whose hosts fail run
again: `rerunning` registers their next `runs`, which `lives` makes, and `pieces` divides their work by checkpoints.
With `steering`, somebody else chooses the jobs.
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
