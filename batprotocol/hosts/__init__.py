"""`Hosts`, the hosts that are free, for schedulers: to take from and to give back to.

It knows sets of hosts and nothing else: neither who runs on them, nor what Batsim is told.
"""

from __future__ import annotations

from batprotocol.hosts.hosts import MOST_HOSTS, Hosts
from batprotocol.model.hosts import FrozenHosts

__all__ = ["MOST_HOSTS", "FrozenHosts", "Hosts"]
