"""Reads campaigns.

`campaigns` reads the JDL of either system: `cigri3` JSON or `cigri2` blocks. `admission` rules may rewrite or refuse
it. `resources` reads the resources of a job, and `tasks` the tasks. `idle` finds keys without effect. `environment`
makes the variables of a job.
"""

from batprotocol.campaigns.jdl.admission import Rules, load_rules
from batprotocol.campaigns.jdl.campaigns import Submitted, properties_from, read_jdl, rows_of
from batprotocol.campaigns.jdl.environment import environment
from batprotocol.campaigns.jdl.resources import read_resources, seconds_of
from batprotocol.campaigns.jdl.tasks import names_of

__all__ = [
    "Rules",
    "Submitted",
    "environment",
    "load_rules",
    "names_of",
    "properties_from",
    "read_jdl",
    "read_resources",
    "rows_of",
    "seconds_of",
]
