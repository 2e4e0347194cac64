"""Logs of resource managers: what jobs asked for, and when and where they ran, read from the files of a site.

The data take this way: `lines` has the lines of a file, a format (a module or package of its own, listed in `formats`)
makes `LoggedJob` values of them (`jobs`), and counts what it leaves out (`left_out`). Everything else works on these
values and does not know where they come from. The package must not know schedulers.

- `runs`: the attempts of jobs that started and ended, with their shares of hosts.
- `surveys`: a first look at a whole log: its period, and the use of each host.
- `asking`: the request of a job, in the vocabulary of `batprotocol.requests`.
- `workloads`: the workload of a log, in memory or as Batsim's JSON. `sorting` sorts more jobs than fit into memory.
"""

from __future__ import annotations

from batprotocol.history.jobs import Attempt, JobState, LoggedJob
from batprotocol.history.left_out import LeftOut, Reason

__all__ = ["Attempt", "JobState", "LeftOut", "LoggedJob", "Reason"]
