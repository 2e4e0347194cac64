"""Campaigns out of texts.

`campaigns` reads either system's JDL: `cigri3` JSON, `cigri2` blocks; `admission` rules may rewrite or refuse it; what
it asks of a cluster, `resources` reads, and its `tasks`; what of it is `idle` is told; `environment` is what jobs find.
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
