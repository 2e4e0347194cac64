"""A slurm.conf as values: nodes, partitions, and the parameters that decide what Slurm does.

`parameters` has the tables of all parameters: which are followed by the simulated scheduler, which have no effect in a
simulation, and which are not followed. `Configuration.not_followed` names the last ones that a file has.
"""

from batprotocol.sites.slurm.configuration.reading import configuration_of, machine_of, read_configuration
from batprotocol.sites.slurm.configuration.topology import switches_of
from batprotocol.sites.slurm.configuration.values import (
    Configuration,
    Jobs,
    Node,
    NotFollowed,
    Partition,
    Preemption,
    Priority,
    Scheduler,
    Select,
    Switch,
)

__all__ = [
    "Configuration",
    "Jobs",
    "Node",
    "NotFollowed",
    "Partition",
    "Preemption",
    "Priority",
    "Scheduler",
    "Select",
    "Switch",
    "configuration_of",
    "machine_of",
    "read_configuration",
    "switches_of",
]
