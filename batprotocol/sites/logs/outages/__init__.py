"""Published traces of failures: which nodes were away, and when, read as outages and made events of hosts.

`values` has an outage. `archive` reads the tables of the Failure Trace Archive, `lanl` the table of Los Alamos National
Laboratory. `formats` lists both. `mapping` gives each node a host of a platform, and makes events of hosts of outages.
All that is left out is counted by reason. The package must not know schedulers.
"""

from __future__ import annotations

from batprotocol.sites.logs.outages.formats import OUTAGE_FORMATS, read_outages
from batprotocol.sites.logs.outages.mapping import outage_events
from batprotocol.sites.logs.outages.values import Outage

__all__ = ["OUTAGE_FORMATS", "Outage", "outage_events", "read_outages"]
