"""A cluster that is this machine: so many slots, a process group for each job.

`manager` is the resource manager, `group` what it keeps of jobs that are run one after the other, `leader` the process
that runs them, and `starter` what starts leaders.
"""

from batprotocol.campaigns.managers.local.manager import LocalProcesses

__all__ = ["LocalProcesses"]
