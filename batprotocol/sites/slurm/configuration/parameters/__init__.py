"""The tables of the parameters of slurm.conf, from which files are read and the table of the handbook is made.

`rows` has the form of a row, `missed` the fields that are not followed, `cluster` the parameters of the cluster,
`options` those of SchedulerParameters, `others` the parameters that set no field, and `records` those of the lines of
nodes and partitions.
"""

from batprotocol.sites.slurm.configuration.parameters.cluster import CLUSTER
from batprotocol.sites.slurm.configuration.parameters.missed import MISSED, PARTS, standing_of
from batprotocol.sites.slurm.configuration.parameters.options import OPTIONS
from batprotocol.sites.slurm.configuration.parameters.records import RECORDS
from batprotocol.sites.slurm.configuration.parameters.rows import Row, Standing

__all__ = ["CLUSTER", "MISSED", "OPTIONS", "PARTS", "RECORDS", "Row", "Standing", "standing_of"]
