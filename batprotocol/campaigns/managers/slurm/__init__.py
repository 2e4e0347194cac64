"""A cluster whose resource manager is Slurm: campaigns run as jobs of a partition, which other jobs may preempt.

`description` reads the file that describes the cluster. `batches` has the folder of the jobs on the cluster, `leader`
the script that runs there, `judging` finds the state of each job, and `manager` is the resource manager. The package
must not know why a job is run.
"""

from batprotocol.campaigns.managers.slurm.description import SlurmDescription, read_description
from batprotocol.campaigns.managers.slurm.manager import SlurmCluster

__all__ = ["SlurmCluster", "SlurmDescription", "read_description"]
