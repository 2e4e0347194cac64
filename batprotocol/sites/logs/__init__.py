"""Logs of resource managers: what jobs asked for, and when and where they ran, read from the files of a site.

The data take this way: `lines` has the lines of a file, and `elements` the long arrays of its JSON, piece by piece. A
format (a module or package of its own, listed in `formats`) makes `LoggedJob` values of them (`jobs`), and counts what
it leaves out (`left_out`). Everything else works on these values and does not know where they come from. The package
must not know schedulers.

- `opening` finds the format of a file, and reads its jobs as often as they are needed. `choosing` limits logs to a
  period.
- `slurm` reads Slurm's accounting, `pbs` that of PBS. `columns` reads tables of published logs, by files that name
  their columns.
- `managers` reads the logs of LSF, OAR, CiGri and Flux.
- `elastisim` reads workloads of the simulator ElastiSim.
- `tables` writes logged jobs as Parquet or CSV, and reads them again. `anonymous` replaces names.
- `runs`: the attempts of jobs that started and ended, with their shares of hosts. `surveys`: a first look at a whole
  log: its period, and the use of each host.
- `asking`: the request of a job, in the vocabulary of `batprotocol.workloads.requests`. `workloads`: the workload of a
  log, in memory or as Batsim's JSON. `sorting` sorts more jobs than fit into memory.
- `platforms`: the machine, as the site describes it, or the smallest one that the log fits on.
- `checking`: a simulation of the log against its own numbers. `windows`: when the log shows hosts down or lent.
  `host_events`: these windows as events of hosts.
- `outages`: published traces of failures, as events of hosts.
- `imports`: all of this together, for `batproto import`.
"""

from __future__ import annotations

from batprotocol._util.tables import LeftOut, Reason
from batprotocol.sites.logs.jobs import Attempt, JobState, LoggedJob

__all__ = ["Attempt", "JobState", "LeftOut", "LoggedJob", "Reason"]
