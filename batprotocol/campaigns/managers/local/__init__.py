"""A cluster on this machine: a number of slots, and a process group for each job.

`manager` is the resource manager, `group` has the jobs that run one after the other, and their folder, `leader` is the
process that runs them, and `starter` starts leaders.
"""

from batprotocol.campaigns.managers.local.manager import LocalProcesses

__all__ = ["LocalProcesses"]
