"""A cluster that PSI/J submits jobs to: PBS, LSF, Cobalt, and others that `psij-python` has a batch executor for.

PSI/J only submits, lists and cancels. It reports a job that it does not find as completed, and it gives an exit code
once. So the state of each job is in a folder that the nodes share. `description` reads the file that describes the
cluster, `asking` runs PSI/J as a process (`helper`), `folder` has the files of the jobs, and `manager` is the resource
manager.
"""

from batprotocol.campaigns.managers.psij.description import PsijDescription, read_description
from batprotocol.campaigns.managers.psij.manager import PsijCluster

__all__ = ["PsijCluster", "PsijDescription", "read_description"]
