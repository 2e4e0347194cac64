"""The tables of the parameters of slurm.conf, from which files are read and the table of the handbook is made.

`rows` has the form of a row, `cluster` the parameters of the cluster, `options` those of SchedulerParameters, `others`
the parameters that are not followed, and `records` those of the lines of nodes and partitions.
"""

from batprotocol.slurm.configuration.parameters.cluster import CLUSTER
from batprotocol.slurm.configuration.parameters.options import OPTIONS
from batprotocol.slurm.configuration.parameters.records import RECORDS
from batprotocol.slurm.configuration.parameters.rows import Row, Standing

__all__ = ["CLUSTER", "OPTIONS", "RECORDS", "Row", "Standing"]
