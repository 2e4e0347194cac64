"""The vocabulary of events of hosts: they fail, come back or are drained, or are promised for a time.

Such events are external events of Batsim, and their data are a JSON object of a few keys. Names and meanings are
Slurm's where Slurm has one. `keys` lists the keys. `events` has the values, and reads and writes them. `states` follows
the hosts through a sequence of events, and refuses events that cannot be meant. `schema` writes the vocabulary as JSON
schema.

This package must not know schedulers, files, or how events are drawn.
"""

from __future__ import annotations

from batprotocol.workloads.host_events.events import MAINT, HostChange, HostEvent, Window, read_host_event
from batprotocol.workloads.host_events.schema import host_event_schema
from batprotocol.workloads.host_events.states import HostStates

__all__ = ["MAINT", "HostChange", "HostEvent", "HostStates", "Window", "host_event_schema", "read_host_event"]
